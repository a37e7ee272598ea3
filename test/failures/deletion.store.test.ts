import { expect, test } from 'vitest'
import { systemClock } from '../../src/engine/clock.ts'
import type { JsonObject } from '../../src/record/record.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()
const DAY_MS = 24 * 60 * 60 * 1000

async function purge(store: Store, options: Parameters<Store['purge']>[0] = {}): Promise<string[]> {
  const told: string[] = []
  for await (const { session, action } of store.purge(options)) told.push(`${session} ${action}`)
  return told.sort()
}

async function ids(store: Store, deleted = false): Promise<string[]> {
  return (await store.list(deleted ? { status: 'deleted' } : {})).sessions.map(({ id }) => id).sort()
}

const LATE: [string, (session: Session<JsonObject>) => Promise<unknown>][] = [
  ['append', (session) => session.append({ content: 'late' })],
  ['append under a message', (session) => session.append({ content: 'late' }, { parent: 'first' })],
  ['putEntries', (session) => session.putEntries([{ channel: 'c', key: 'k', value: 1 }])],
  ['describe', (session) => session.describe({ title: 'late' })],
  ['replace', (session) => session.replace('first', { content: 'late' })],
  ['snapshot', (session) => session.snapshot('late')],
  ['revert', (session) => session.revert({ message: 'first' })],
  ['undo', (session) => session.undo()],
  ['fork', (session) => session.fork()],
  ['child', (session) => session.child()],
  ['recordUsage', (session) => session.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 1 })],
  ['share', (session) => session.share()],
]

test.each(LATE)('F28 a deleted session comes back: not by a late %s, before and after it was purged, in any process', async (_, work) => {
  const [here, there] = [await directory().open(), await directory().open()]
  const worker = there.session<JsonObject>('s')
  await worker.append({ content: 'first' }, { ids: ['first'] })
  await here.session<JsonObject>('s').delete()
  const refused = { code: expect.stringMatching(/^(CONFLICT|NOT_FOUND)$/) as string, outcome: 'none' }
  await expect(work(worker)).rejects.toMatchObject(refused)
  await expect(work((await directory().open()).session<JsonObject>('s'))).rejects.toMatchObject(refused)
  expect(await ids(here)).toEqual([])
  expect(await ids(there, true)).toEqual(['s'])
  expect(await purge(here, { olderThanMs: -DAY_MS })).toEqual(['s purged'])
  for (const store of [here, there, await directory().open()]) {
    await expect(work(store.session<JsonObject>('s'))).rejects.toMatchObject(refused)
    await expect(store.session<JsonObject>('s').restore()).rejects.toMatchObject({ code: 'NOT_FOUND', details: { reason: 'purged' } })
    expect(await ids(store)).toEqual([])
    expect(await ids(store, true)).toEqual([])
  }
})

test('F28 a deleted session comes back: one that is created anew on purpose has nothing of what it was', async () => {
  const store = await directory().open()
  const first = await store.create<JsonObject>({ id: 's', title: 'old', tags: ['old'] })
  await first.append({ content: 'old' }, { ids: ['m'], key: 'k' })
  await first.putEntries([{ channel: 'c', key: 'k', value: 'old' }])
  await first.snapshot('old')
  await first.delete()
  const second = await store.create<JsonObject>({ id: 's' })
  expect(await second.info()).toMatchObject({ title: null, tags: [], messageCount: 0, snapshots: [], canUndo: false })
  expect(await second.message('m')).toBeUndefined()
  expect(await second.entry('c', 'k')).toBeUndefined()
  await expect(second.revert({ snapshot: 'old' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await second.append({ content: 'new' }, { ids: ['m'], key: 'k' })).toMatchObject({ duplicate: false })
  expect(await purge(store, { olderThanMs: -DAY_MS })).toEqual(['s purged'])
  expect((await second.messages()).messages).toMatchObject([{ id: 'm', depth: 1, message: { content: 'new' } }])
  expect(await purge(store, { olderThanMs: -DAY_MS })).toEqual([])
})

test('F29 cleanup deletes live data: nothing goes by itself, and of what was deleted only what was told, long enough ago', async () => {
  let now = Date.UTC(2026, 0, 1)
  const store = await directory().open({ clock: { ...systemClock, now: () => now } })
  for (const id of ['a', 'ab', 'a-b', 'A', 'b']) await store.session<JsonObject>(id).append({ content: id })
  now += 1000 * DAY_MS
  expect(await purge(store)).toEqual([])
  expect(await ids(store)).toEqual(['A', 'a', 'a-b', 'ab', 'b'])
  await store.session<JsonObject>('a').delete()
  now += 29 * DAY_MS
  await store.session<JsonObject>('b').delete()
  expect(await purge(store)).toEqual([])
  now += 2 * DAY_MS
  expect(await purge(store, { dryRun: true })).toEqual(['a purged'])
  expect(await ids(store, true)).toEqual(['a', 'b'])
  await store.session<JsonObject>('a').restore()
  expect(await purge(store)).toEqual([])
  await store.session<JsonObject>('a').delete()
  now += 31 * DAY_MS
  expect(await purge(store)).toEqual(['a purged', 'b purged'])
  for (const id of ['ab', 'a-b', 'A']) {
    expect((await store.session<JsonObject>(id).messages()).messages).toMatchObject([{ message: { content: id } }])
  }
  expect(await ids(store)).toEqual(['A', 'a-b', 'ab'])
  expect(await purge(store)).toEqual([])
})

test('a dry run of a purge tells how much would go', async () => {
  const store = await directory().open()
  const session = store.session<JsonObject>('s')
  for (let i = 0; i < 5; i++) await session.append({ role: 'user', content: 'x'.repeat(300_000) })
  await session.delete()
  const freed = async (dryRun: boolean): Promise<number> => {
    for await (const { freedBytes } of store.purge({ olderThanMs: -DAY_MS, dryRun })) return freedBytes
    return 0
  }
  const told = await freed(true)
  const done = await freed(false)
  expect(told).toBeGreaterThan(1_500_000)
  // The seal that a purge begins with is freed too.
  expect(done - told).toBeGreaterThanOrEqual(0)
  expect(done - told).toBeLessThan(1000)
})

test('F29 cleanup deletes live data: a session restored while a purge looks at it stays whole', async () => {
  const [here, there] = [await directory().open(), await directory().open()]
  const session = there.session<JsonObject>('s')
  await session.append({ content: 'first' }, { ids: ['first'] })
  await session.delete()
  const [told, restored] = await Promise.all([
    purge(here, { olderThanMs: -DAY_MS }),
    session.restore().then(
      () => true,
      () => false,
    ),
  ])
  expect(told).toEqual(restored ? [] : ['s purged'])
  if (restored) expect(await session.message('first')).toMatchObject({ message: { content: 'first' } })
  else await expect(session.messages()).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
