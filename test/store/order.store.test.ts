/** The order "changed last first" when the clock of the machine is set back. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { withoutCatalog } from '../catalog/without-catalog.ts'

const HOUR_MS = 3_600_000
const NOON = Date.UTC(2026, 0, 1, 12)

let directory: string
let now = NOON
const clock: Clock = { ...systemClock, now: () => now }

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-order-'))
  now = NOON
})

afterEach(() => rm(directory, { recursive: true }))

async function listed(store: Store): Promise<string[]> {
  return (await store.list()).sessions.map(({ id }) => id)
}

const say = (store: Store, id: string) => store.session(id).append({ role: 'user', content: id })

describe.each(['memory:', 'a directory'])('after the clock is set back, in %s', (where) => {
  const open = (): Promise<Store> => openStore(where === 'memory:' ? where : directory, { clock })

  test('the session that was changed last is listed first', async () => {
    await using store = await open()
    await say(store, 'a')
    now += 1000
    await say(store, 'b')
    now -= HOUR_MS
    await say(store, 'c')
    expect(await listed(store)).toEqual(['c', 'b', 'a'])
    await store.session('a').describe({ title: 'changed' })
    expect(await listed(store)).toEqual(['a', 'c', 'b'])
    now += HOUR_MS + 60_000
    await say(store, 'b')
    expect(await listed(store)).toEqual(['b', 'a', 'c'])
  })

  test('a session was never changed before it was created, and messages have the time of the clock', async () => {
    await using store = await open()
    await say(store, 'a')
    now -= HOUR_MS
    await say(store, 'a')
    const { createdAt, updatedAt } = await store.session('a').info()
    expect(updatedAt >= createdAt).toBe(true)
    expect((await store.session('a').messages()).messages.map(({ at }) => at)).toEqual([
      new Date(NOON).toISOString(),
      new Date(NOON - HOUR_MS).toISOString(),
    ])
  })

  test('pages follow one another without a gap', async () => {
    await using store = await open()
    for (const id of ['a', 'b', 'c', 'd']) {
      await say(store, id)
      now -= 1000
    }
    const first = await store.list({ limit: 2 })
    const second = await store.list({ limit: 2, cursor: first.cursor })
    expect([...first.sessions, ...second.sessions].map(({ id }) => id)).toEqual(['d', 'c', 'b', 'a'])
  })
})

test('a process that starts after the clock was set back knows the time of the last change', async () => {
  {
    await using store = await openStore(directory, { clock })
    await say(store, 'a')
  }
  now -= HOUR_MS
  await using store = await openStore(directory, { clock })
  await say(store, 'b')
  expect(await listed(store)).toEqual(['b', 'a'])
})

test('a process learns what another one changed while its own clock is behind', async () => {
  const behind: Clock = { ...systemClock, now: () => now - HOUR_MS }
  await using one = await openStore(directory, { clock })
  await using other = await openStore(directory, { clock: behind })
  await say(other, 'a')
  for (const id of ['b', 'c', 'd']) {
    await say(one, id)
    await say(other, 'a')
    expect((await listed(one)).slice(0, 2)).toEqual(['a', id])
  }
})

test('a list without a catalog has the same order', async () => {
  await using store = await openStore(withoutCatalog(openMemoryEngine({ keysOf: sessionReducer.keysOf })), { clock })
  await say(store, 'a')
  now -= HOUR_MS
  await say(store, 'b')
  expect(await listed(store)).toEqual(['b', 'a'])
})

test('the order survives a roll to the next segment, a rebuild of the catalog, and a list without one', async () => {
  await using store = await openStore(directory, { clock, limits: { segmentBytes: 2000 } })
  await say(store, 'a')
  await say(store, 'b')
  now -= HOUR_MS
  for (let i = 0; i < 30; i++) await say(store, 'a')
  expect(await listed(store)).toEqual(['a', 'b'])
  await store.rebuildCatalog()
  expect(await listed(store)).toEqual(['a', 'b'])
})
