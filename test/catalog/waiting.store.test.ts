/** How long a search waits for what is not in the catalog yet, and what it tells then. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import type { Disk } from '../../src/engines/files/disk.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { unsynced } from '../damage/on-disk.ts'
import { searched } from './answers.ts'

const SESSIONS = 300
let directory = ''
let stores: Store[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  stores = []
})

afterEach(async () => {
  for (const store of stores) await store.close()
  rmSync(directory, { recursive: true })
})

interface Slow {
  /** Journals are not opened before it resolves. */
  readonly gate?: Promise<void>
  readonly clock?: Clock
}

async function open({ gate = Promise.resolve(), clock = systemClock }: Slow = {}): Promise<Store> {
  const disk: Disk = {
    ...unsynced,
    open: async (path, mode) => {
      if (path.includes('/sessions/')) await gate
      return unsynced.open(path, mode)
    },
  }
  const store = await openStore(await openFilesEngine({ directory, keysOf: sessionReducer.keysOf, disk }), { clock })
  stores.push(store)
  return store
}

async function fill(): Promise<void> {
  const store = await open()
  for (let i = 0; i < SESSIONS; i++) await store.session(`s${i}`).append({ role: 'user', content: `needle ${i}` })
}

/** Waiting is over as soon as it begins. */
const impatient: Clock = { ...systemClock, sleep: () => new Promise((resolve) => setImmediate(resolve)) }

test('a search of a store without a catalog answers after its time with what there is, tells what is not, and all of it follows', async () => {
  await fill()
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let endWait = (): void => undefined
  const waiting = new Promise<void>((resolve) => {
    endWait = resolve
  })
  const store = await open({ gate, clock: { ...systemClock, sleep: () => waiting } })
  const searching = store.search('needle')
  await vi.waitFor(async () => expect(await store.catalogStatus()).toMatchObject({ state: 'sweeping', sessions: 0, of: SESSIONS }), {
    timeout: 30_000,
  })
  endWait()
  expect(await searching).toMatchObject({ hits: [], lag: { sessions: SESSIONS, bytes: 0 } })
  release()
  // Nobody asks for anything else: rows and text follow by themselves.
  await vi.waitFor(async () => expect(await store.catalogStatus()).toMatchObject({ state: 'ready', of: null }), { timeout: 30_000 })
  expect(await searched(await open(), '"needle 299"')).toMatchObject({ hits: [{ session: 's299' }], lag: null })
})

test('a list waits for every session, however long that takes', async () => {
  await fill()
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const store = await open({ gate, clock: impatient })
  let isListed = false
  const listing = store.list({ limit: 1, count: true }).finally(() => {
    isListed = true
  })
  expect((await store.search('needle')).lag).not.toBeNull()
  expect(isListed).toBe(false)
  release()
  expect((await listing).total).toBe(SESSIONS)
})

test('a store that is closed while every session is looked at does not wait for the rest', async () => {
  await fill()
  const store = await open({ clock: impatient })
  expect((await store.search('needle')).lag).not.toBeNull()
  await store.close()
  const again = await open()
  expect((await again.list({ limit: 1, count: true })).total).toBe(SESSIONS)
})

test('a memory that was found is held against what the catalog has, without waiting for anything newer', async () => {
  const writer = await open()
  const session = await writer.create({ id: 'trip' })
  await session.append([
    { role: 'user', content: 'I prefer trains. My name is Kim.' },
    { role: 'assistant', content: 'Noted.' },
  ])
  await session.commit()
  await new Worker(writer).drain()
  expect((await searched(writer, 'trains', { kinds: ['memory'] })).lag).toBeNull()
  await writer.session('other').append({ role: 'user', content: 'something new' })
  const store = await open({ gate: new Promise(() => undefined), clock: impatient })
  const asked = store.search('trains', { kinds: ['memory'] })
  expect((await Promise.race([asked, systemClock.sleep(20_000)])) ?? 'still waiting').toMatchObject({ lag: { sessions: 1 } })
  stores.pop()
})
