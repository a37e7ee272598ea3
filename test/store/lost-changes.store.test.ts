/**
 * A record that is written once and rots takes a value with it: an entry has its former value or none, a message its former content. No read
 * returns that as if it were whole, here or over HTTP.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { makeApp } from '../../src/server/app.ts'
import { makeParts } from '../../src/server/server.ts'
import type { SessionApi } from '../../src/store/api/session-api.ts'
import { Handle } from '../../src/store/handle.ts'
import type { StoredEntry } from '../../src/store/messages/entries.ts'
import type { Store } from '../../src/store/store.ts'
import { useDirectory } from './directory.ts'
import { linesOf, rot, type WrittenLine } from './spoil.ts'

const directory = useDirectory()

const OLD = { role: 'user', content: 'old' }
const NEW = { role: 'user', content: 'new' }
const PLACE = [{ count: 0, reason: 'rotten' }]

beforeEach(async () => {
  const store = await directory().open()
  const session = store.session('s')
  await session.append([OLD, OLD], { ids: ['m1', 'm2'] })
  await session.putEntries([{ channel: 'ch', key: 'k', value: 'old' }])
  await session.putEntries([{ channel: 'ch', key: 'only', value: 1 }])
  await session.putEntries([{ channel: 'ch', key: 'k', value: 'new' }])
  await session.replace('m1', NEW)
  await session.append({ role: 'user', content: 'end' }, { ids: ['end'] })
  await session.replace('end', { role: 'user', content: 'the end' })
  await store.close()
})

/** Spoils records of the session, by their type and their number among those of that type, which begins with 0. */
async function spoil(...which: readonly (readonly [type: string, index: number])[]): Promise<WrittenLine[]> {
  const lines = await linesOf(directory().path, 's')
  const spoilt = which.map(([type, index]) => lines.filter((line) => line.type === type)[index] as WrittenLine)
  for (const line of spoilt) await rot(line)
  return spoilt
}

/** The same session in this process and at a server. */
async function both(store: Store): Promise<[string, SessionApi][]> {
  const parts = await makeParts(store, { worker: false })
  const { key } = await parts.keys.create({ space: 'default', scope: 'admin' })
  parts.keys.close()
  const app = makeApp(parts)
  const fetch = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(String(url))
    return Promise.resolve(app.request(`${pathname}${search}`, { ...init, headers: { host: 'localhost', ...(init.headers as object) } }))
  }
  const remote = connect('http://localhost', { key, retries: 0, fetch: fetch as typeof globalThis.fetch })
  return [
    ['the library', store.session('s')],
    ['the client', remote.session('s')],
  ]
}

async function listed(session: SessionApi, channel = 'ch'): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = []
  for await (const entry of session.entries(channel)) entries.push(entry)
  return entries
}

async function eachOf(work: (session: SessionApi) => Promise<void>): Promise<void> {
  const store = await directory().open()
  for (const [, session] of await both(store)) await work(session)
}

describe('a record of an entry that rotted', () => {
  test('is reported with the former value of the entry', async () => {
    const [{ position }] = (await spoil(['entry.put', 2])) as [WrittenLine]
    await eachOf(async (session) => {
      expect(await session.entry('ch', 'k')).toMatchObject({ value: 'old', damage: [{ position, reason: 'rotten' }] })
      expect(await listed(session)).toMatchObject([
        { key: 'only', damage: PLACE },
        { key: 'k', value: 'old' },
      ])
    })
  })

  test('keeps an entry that is not found from being absent', async () => {
    await spoil(['entry.put', 1])
    await eachOf(async (session) => {
      await expect(session.entry('ch', 'only')).rejects.toMatchObject({ code: 'DAMAGED' })
      // The record after it knew of it, so the list is known to lack one, and the newest value is certain.
      const list = await listed(session)
      expect(list).toMatchObject([{ key: 'k', value: 'new', damage: PLACE }])
      expect(await session.entry('ch', 'k')).toEqual({ channel: 'ch', key: 'k', value: 'new', at: list[0]?.at })
    })
  })

  test('keeps an empty list from being whole', async () => {
    await spoil(['entry.put', 0], ['entry.put', 1], ['entry.put', 2])
    await eachOf(async (session) => {
      await expect(listed(session)).rejects.toMatchObject({ code: 'DAMAGED' })
      await expect(session.entry('ch', 'k')).rejects.toMatchObject({ code: 'DAMAGED' })
    })
  })

  test('leaves a channel alone whose records all lie after it', async () => {
    await spoil(['entry.put', 0])
    const store = await directory().open()
    await store.session('s').putEntries([{ channel: 'late', key: 'k', value: 1 }])
    expect(await listed(store.session('s'), 'late')).toEqual([{ channel: 'late', key: 'k', value: 1, at: expect.any(String) }])
  })
})

describe('a replacement that rotted', () => {
  beforeEach(() => spoil(['message.replaced', 0]))

  test('is reported with the former content, and by the last revision', async () => {
    await eachOf(async (session) => {
      expect(await session.message('m1')).toMatchObject({ message: OLD, replaced: false, damage: PLACE })
      expect(await session.message('m2')).toMatchObject({ message: OLD, damage: PLACE })
      expect((await session.revisions('m1')).revisions).toMatchObject([{ message: OLD, damage: PLACE }])
    })
  })

  test('changes nothing of a message that was written or replaced after it', async () => {
    await eachOf(async (session) => {
      expect(await session.message('end')).not.toHaveProperty('damage')
      expect((await session.revisions('end')).revisions.some((one) => 'damage' in one)).toBe(false)
    })
  })

  test('makes a comparison with the former content impossible', async () => {
    await eachOf(async (session) => {
      const third = { role: 'user', content: 'third' }
      await expect(session.replace('m1', third, { old: OLD })).rejects.toMatchObject({ code: 'DAMAGED' })
      await expect(session.replace('m1', third, { old: NEW })).rejects.toMatchObject({ code: 'DAMAGED' })
      await session.replace('end', third, { old: (await session.message('end'))?.message as object as typeof third })
    })
  })

  test('is reported by a fork that inherited it', async () => {
    const store = await directory().open()
    await store.session('s').fork({ id: 'fork' })
    expect(await store.session('fork').message('m1')).toMatchObject({ message: OLD, damage: [{ ...PLACE[0], session: 's' }] })
    expect((await store.session('fork').revisions('m1')).revisions).toMatchObject([{ message: OLD, damage: [{ session: 's' }] }])
    const [third] = [{ role: 'user', content: 'third' }]
    await expect(store.session('fork').replace('m1', third, { old: OLD })).rejects.toMatchObject({ code: 'DAMAGED' })
    await store.session('fork').replace('m1', third)
    expect(await store.session('fork').message('m1')).toEqual(expect.not.objectContaining({ damage: expect.anything() }))
  })
})

test('a replacement that rotted is known in a segment that was sealed before', async () => {
  const store = await directory().open()
  await store.session('s').replace('m2', NEW)
  await new Handle(store.parts, 's').held.replica.beginSegment()
  await store.close()
  await spoil(['message.replaced', 2])
  const session = (await directory().open()).session('s')
  expect(await session.message('m2')).toMatchObject({ message: OLD, damage: PLACE })
  expect((await session.revisions('m2')).revisions).toMatchObject([{ message: OLD, damage: PLACE }])
  await expect(session.replace('m2', NEW, { old: OLD })).rejects.toMatchObject({ code: 'DAMAGED' })
})

test('replaceTail refuses to compare messages that may have other content', async () => {
  await spoil(['message.replaced', 1])
  await eachOf(async (session) => {
    const { messages } = await session.messages({ limit: 1 })
    const last = messages.map(({ message }) => message)
    expect(last).toEqual([{ role: 'user', content: 'end' }])
    await expect(session.replaceTail(last, [OLD])).rejects.toMatchObject({ code: 'DAMAGED' })
  })
})

test('after the damage was accepted, reads and comparisons are as usual', async () => {
  await spoil(['entry.put', 1], ['entry.put', 2], ['message.replaced', 0])
  const store = await directory().open()
  await store.session('s').acceptDamage()
  for (const [, session] of await both(store)) {
    expect(await session.entry('ch', 'k')).toEqual({ channel: 'ch', key: 'k', value: 'old', at: expect.any(String) })
    expect(await session.entry('ch', 'only')).toBeUndefined()
    expect(await listed(session)).toEqual([{ channel: 'ch', key: 'k', value: 'old', at: expect.any(String) }])
    expect(await session.message('m1')).not.toHaveProperty('damage')
    expect((await session.revisions('m1')).revisions).toHaveLength(1)
  }
  await store.session('s').replace('m1', NEW, { old: OLD })
})
