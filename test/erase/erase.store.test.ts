import { expect, test } from 'vitest'
import type { Model } from '../../src/commit/model.ts'
import { Worker } from '../../src/commit/worker.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import type { JsonObject } from '../../src/record/record.ts'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { useDirectory } from '../store/directory.ts'
import { tracesOf } from './traces.ts'

const directory = useDirectory()
/** Of what is encrypted, nothing was there before either. */
const IN_CLEAR = process.env.HOLDFAST_TEST_ENCRYPTED === undefined

/** No line of any file but those about it would have these words. */
const SECRET = 'Zwölfkämpfer "Quagmire" \\ lives in Xanadu-4711'
const LATER = 'corrected: Ypsilanti-Quagmire moved to Zanzibar-4712'
const FORKED = 'the fork says: Wolpertinger-4713'
const WORDS = ['Quagmire', 'Xanadu', 'xanadu', 'Ypsilanti', 'ypsilanti', 'Zanzibar', 'Wolpertinger', 'wolpertinger', 'zwolfkampfer']

/** Says everything that it was told again. */
const parrot: Model = {
  name: 'parrot',
  inputTokens: 1_000_000,
  summarise: async ({ previous, messages }) => ({
    abstract: messages.map(({ text }) => text).join(' / '),
    overview: `${previous ?? ''} ${messages.map(({ text }) => text).join(' / ')}`,
    memories: messages.map(({ id, text }, i) => ({ key: `k${i}`, category: 'fact', text: `remember ${text}`, sources: [id] })),
  }),
} as Model

async function drain(store: Store): Promise<void> {
  await new Worker(store, { model: parrot }).drain()
}

async function findings(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const { kind, session } of doctor(store)) found.push(`${kind} ${session}`)
  return found
}

/** A session in which a message was said among others, replaced, summarised, remembered, inherited, replaced there again, and indexed. */
async function richStore(options: OpenOptions = {}, where = directory().path): Promise<{ store: Store; session: Session<JsonObject> }> {
  const store = await openStore(where, { limits: { segmentBytes: 3000 }, ...options })
  const session = await store.create<JsonObject>({ id: 's', owner: 'o' })
  for (let i = 0; i < 5; i++) await session.append({ role: 'user', content: `before ${i} ${'x'.repeat(300)}` })
  await session.append(
    [
      { id: 'a', role: 'user', content: 'first of the batch' },
      { id: 'm', role: 'user', content: SECRET },
      { id: 'z', role: 'assistant', content: 'last of the batch' },
    ],
    { key: 'batch' },
  )
  await session.fork({ id: 'early' })
  await session.replace('m', { role: 'user', content: LATER })
  await session.commit()
  await drain(store)
  await session.append({ role: 'user', content: 'and then' })
  await session.commit()
  await drain(store)
  const fork = await session.fork({ id: 'f' })
  await fork.replace('m', { role: 'user', content: FORKED })
  await fork.append({ role: 'user', content: 'in the fork' })
  await fork.commit()
  await fork.fork({ id: 'ff' })
  for (let i = 0; i < 10; i++) await session.append({ role: 'user', content: `after ${i} ${'y'.repeat(400)}` })
  await drain(store)
  await store.search('batch')
  return { store, session }
}

const TOMBSTONE = { role: 'user', content: '[erased]' }

test('nothing of an erased message is left in any file, and everything else is as it was', async () => {
  const { store, session } = await richStore()
  if (IN_CLEAR) expect(tracesOf(directory().path, SECRET, LATER, FORKED).length).toBeGreaterThan(5)
  if (IN_CLEAR) expect(tracesOf(directory().path, 'ypsilanti').some((trace) => trace.startsWith('catalog.db'))).toBe(true)
  const before = await session.messages({ archived: true, limit: 100 })
  const erased = await session.erase('m')
  expect(erased).toMatchObject({ duplicate: false, version: await session.version() })
  expect(tracesOf(directory().path, SECRET, LATER, FORKED, ...WORDS)).toEqual([])
  const after = await session.messages({ archived: true, limit: 100 })
  expect(after.messages.map(({ id, message }) => ({ id, message }))).toEqual(
    before.messages.map(({ id, message }) => ({ id, message: id === 'm' ? TOMBSTONE : message })),
  )
  expect((await session.revisions('m')).revisions).toMatchObject([{ id: 'm', erased: true, message: TOMBSTONE }])
  for (const id of ['early', 'f', 'ff']) {
    const fork = store.session<JsonObject>(id)
    expect(await fork.message('m')).toMatchObject({ erased: true, message: TOMBSTONE })
    expect((await fork.message('z'))?.message).toEqual({ id: 'z', role: 'assistant', content: 'last of the batch' })
  }
  expect((await store.search('quagmire')).hits).toEqual([])
  expect((await store.search('batch')).hits.length).toBeGreaterThan(0)
  expect(await findings(store)).toEqual([])
  await store.close()
  expect(tracesOf(directory().path, SECRET, LATER, FORKED, ...WORDS)).toEqual([])
})

test('summaries and memories that were made from it are made anew, without it', async () => {
  const { store, session } = await richStore()
  expect((await store.memories({ owner: 'o' })).some(({ text }) => text.includes('Quagmire'))).toBe(true)
  await session.erase('m')
  expect((await session.archives()).map(({ status, overview }) => [status, overview])).toEqual([
    ['pending', null],
    ['pending', null],
  ])
  expect(await store.memories({ owner: 'o' })).toEqual([])
  await drain(store)
  const archives = await session.archives()
  expect(archives.map(({ status }) => status)).toEqual(['completed', 'completed'])
  expect(archives[0]?.overview).toContain('first of the batch / [erased] / last of the batch')
  expect((await store.memories({ owner: 'o' })).length).toBeGreaterThan(0)
  const { messages } = await store.session<JsonObject>('f').window({ budget: 100_000 })
  expect(JSON.stringify(messages)).not.toMatch(/Quagmire|Wolpertinger/)
  await store.search('batch')
  await store.close()
  expect(tracesOf(directory().path, SECRET, LATER, FORKED, ...WORDS)).toEqual([])
})

test('a window that was read before does not go on telling what another process has erased', async () => {
  const { store, session } = await richStore()
  const other = await openStore(directory().path)
  const windows = async (): Promise<string> => {
    const all = ['s', 'f', 'ff'].map(async (id) => other.session<JsonObject>(id).window({ budget: 100_000 }))
    return JSON.stringify(await Promise.all(all))
  }
  expect(await windows()).toContain('Ypsilanti')
  await session.erase('m')
  expect(await windows()).not.toMatch(/Quagmire|Ypsilanti|Wolpertinger/)
  await other.close()
  await store.close()
})

test('in memory it is the same', async () => {
  const { store, session } = await richStore({}, 'memory:')
  await session.erase('m')
  let text = ''
  for await (const piece of exportFrom(store)) text += piece
  for (const change of [session, store.session<JsonObject>('f')]) {
    for await (const { record } of change.follow({ fromStart: true, signal: AbortSignal.timeout(200) })) text += JSON.stringify(record)
  }
  expect(text).toContain('last of the batch')
  expect(text).not.toMatch(/Quagmire|Xanadu|Wolpertinger/)
  expect(await findings(store)).toEqual([])
})

test('erased twice it is erased once; nothing gives it content again', async () => {
  const { store, session } = await richStore()
  await session.erase('m')
  const version = await session.version()
  expect(await session.erase('m')).toEqual({ version, duplicate: true })
  await expect(session.replace('m', { role: 'user', content: 'again' })).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(session.append({ id: 'm', role: 'user', content: SECRET })).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(session.erase('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await session.version()).toBe(version)
  await store.close()
})

test('a fork that is asked erases it where it was said', async () => {
  const { store, session } = await richStore()
  await store.session<JsonObject>('ff').erase('m')
  expect(await session.message('m')).toMatchObject({ erased: true })
  expect(tracesOf(directory().path, SECRET, LATER, FORKED)).toEqual([])
  await store.close()
})

test('messages of one record are erased one after the other, and the doctor follows', async () => {
  const { store, session } = await richStore()
  for (const id of ['z', 'm', 'a']) await session.erase(id)
  expect((await session.messages({ archived: true })).messages.filter(({ erased }) => erased === true).length).toBe(3)
  expect(await findings(store)).toEqual([])
  await store.close()
})

test('at once from several processes it is erased once, beside appends, forks and commits', async () => {
  const { store, session } = await richStore()
  const others = await Promise.all([1, 2].map(() => openStore(directory().path, { limits: { segmentBytes: 3000 } })))
  const sessions = [session, ...(await Promise.all(others.map((other) => other.session<JsonObject>('s'))))]
  await Promise.all([
    ...sessions.map((one) => one.erase('m')),
    ...sessions.map((one) => one.erase('z')),
    ...sessions.map((one, i) => one.append({ role: 'user', content: `meanwhile ${i}` })),
    ...sessions.map((one, i) => one.fork({ id: `racing ${i}` })),
    ...sessions.map((one) => one.commit()),
    drain(store),
  ])
  await drain(store)
  for (const id of ['s', 'f', 'racing 0', 'racing 1', 'racing 2']) {
    expect(await store.session<JsonObject>(id).message('m')).toMatchObject({ erased: true, message: TOMBSTONE })
  }
  await store.search('batch')
  expect(await findings(store)).toEqual([])
  await Promise.all([store, ...others].map((one) => one.close()))
  expect(tracesOf(directory().path, SECRET, LATER, FORKED, ...WORDS)).toEqual([])
})

test('a message that is erased while its archive is summarised is not in the summary', async () => {
  const store = await openStore(directory().path)
  const session = await store.create<JsonObject>({ id: 's' })
  await session.append({ id: 'm', role: 'user', content: SECRET })
  await session.commit()
  let asked = 0
  const slow: Model = {
    ...parrot,
    summarise: async (request) => {
      if (asked++ === 0) await session.erase('m')
      return parrot.summarise(request)
    },
  }
  await new Worker(store, { model: slow }).drain()
  expect((await session.archives())[0]).toMatchObject({ status: 'completed', overview: expect.stringMatching(/^\s*\[erased\]$/) })
  await store.close()
  expect(tracesOf(directory().path, SECRET, 'Quagmire')).toEqual([])
})

test('copies that lost a race go too', async () => {
  const stores = await Promise.all([1, 2, 3].map(() => openStore(directory().path)))
  const sessions = await Promise.all(stores.map((store) => store.session<JsonObject>('s')))
  const long = `${SECRET} ${'w'.repeat(300_000)}`
  await Promise.all(sessions.map((session, i) => session.append({ id: `m${i}`, role: 'user', content: long })))
  for (const i of [0, 1, 2]) await (sessions[0] as Session).erase(`m${i}`)
  await Promise.all(stores.map((store) => store.close()))
  expect(tracesOf(directory().path, SECRET, 'wwwwwwwwww')).toEqual([])
})

test('a message smaller than its marker is erased too', async () => {
  const store = await openStore(directory().path)
  const session = store.session<JsonObject>('s')
  await session.append({ id: 'm', x: 'tiny-4711' }, { key: 'k' })
  await session.append({ y: 1 })
  await session.erase('m')
  expect(await session.message('m')).toMatchObject({ erased: true, message: { content: '[erased]' } })
  expect(await findings(store)).toEqual([])
  await store.close()
  expect(tracesOf(directory().path, 'tiny-4711')).toEqual([])
})

test('of an owner every session goes, deleted or not; what somebody else reaches is erased message by message', async () => {
  const { store, session } = await richStore()
  const mine = await store.create<JsonObject>({
    id: 'mine',
    owner: 'o',
    title: 'Title-4714',
    tags: ['Tag-4715'],
    metadata: { note: 'Note-4716' },
  })
  await mine.append({ role: 'user', content: 'Mine-4717' })
  await mine.delete()
  const other = await store.create<JsonObject>({ id: 'other', owner: 'p' })
  await other.append({ role: 'user', content: 'stays' })
  const theirs = await session.fork({ id: 'theirs', owner: 'p' })
  await theirs.append({ role: 'user', content: 'stays too' })
  const told: unknown[] = []
  for await (const one of store.erase({ owner: 'o', dryRun: true })) told.push(`${one.session} ${one.action}`)
  expect(told.sort()).toEqual(['early purged', 'f purged', 'ff purged', 'mine purged', 's erased'])
  expect(await session.message('m')).toMatchObject({ message: { content: LATER } })

  const done: unknown[] = []
  for await (const one of store.erase({ owner: 'o' })) done.push(`${one.session} ${one.action}`)
  expect(done.sort()).toEqual(told.sort())
  expect(await store.memories({ owner: 'o' })).toEqual([])
  expect((await store.list({ owner: 'o' })).sessions).toEqual([])
  await expect(session.restore()).resolves.toBeDefined()
  expect(
    (await store.session<JsonObject>('theirs').messages({ archived: true, limit: 100 })).messages.map(({ message }) => message.content),
  ).toEqual([...Array.from({ length: 19 }, () => '[erased]'), 'stays too'])
  expect((await other.messages()).messages[0]?.message.content).toBe('stays')
  expect(await findings(store)).toEqual([])
  await store.close()
  const gone = ['Title-4714', 'Tag-4715', 'Note-4716', 'Mine-4717', 'first of the batch', 'before 1', 'in the fork']
  expect(tracesOf(directory().path, SECRET, LATER, FORKED, ...WORDS, ...gone)).toEqual([])
})

test('nothing of a session that was purged is left in any file, be it by a purge or when its time is over', async () => {
  const { store, session } = await richStore()
  for (const id of ['ff', 'f', 'early']) await store.session<JsonObject>(id).delete()
  await session.describe({ title: 'Title-4714', addTags: ['Tag-4715'], metadata: { note: 'Note-4716' } })
  await session.delete()
  const late = await store.create<JsonObject>({ id: 'late', title: 'Title-4718' })
  await late.append({ role: 'user', content: 'Late-4719' })
  await store.search('late')
  await (await store.create<JsonObject>({ id: 'other' })).append({ role: 'user', content: 'stays-4720' })
  const gone = ['Title-4714', 'Tag-4715', 'Note-4716', 'first of the batch', 'before 1', 'in the fork']
  const purged: string[] = []
  // What comes from another goes first, then that one.
  for (let i = 0; i < 3; i++) for await (const one of store.purge({ olderThanMs: 0 })) if (one.action === 'purged') purged.push(one.session)
  expect(purged.sort()).toEqual(['early', 'f', 'ff', 's'])
  expect(tracesOf(directory().path, SECRET, LATER, FORKED, ...WORDS, ...gone)).toEqual([])
  await late.delete()
  for await (const _ of store.expire({ purgeDeletedAfterMs: 0 }));
  expect(tracesOf(directory().path, 'Title-4718', 'Late-4719')).toEqual([])
  expect((await store.search('stays')).hits).toHaveLength(1)
  expect(await findings(store)).toEqual([])
  await store.close()
})
