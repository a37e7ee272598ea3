/** Wrong arguments of the library: each is refused with INVALID_ARGUMENT, and the message says what is allowed. */
import { describe, expect, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { Worker } from '../../src/commit/worker.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import { backUp, restoreBackup } from '../../src/engines/files/backup.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesSource } from '../../src/transfer/bytes.ts'
import { copyStore } from '../../src/transfer/copy.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import { restoreSession } from '../../src/transfer/restore-session.ts'
import { sourcesAt } from '../../src/transfer/sources.ts'

async function opened(): Promise<{ store: Store; session: Session }> {
  const store = await openStore('memory:')
  const session = store.session('talk')
  for (const id of ['m1', 'm2', 'm3']) await session.append({ role: 'user', content: id }, { ids: [id] })
  return { store, session }
}

async function all(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const read = []
  for await (const item of items) read.push(item)
  return read
}

function refusal(...texts: string[]): object {
  return {
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')),
  }
}

/** Options as a caller without types may give them. */
const wrong = (value: unknown): never => value as never

describe('revert takes a field that is undefined for a missing one', () => {
  test.each([
    [{ message: 'm1', snapshot: undefined }, 1],
    [{ message: null, snapshot: undefined }, 0],
    [{ message: undefined, snapshot: 'two' }, 2],
  ])('%o leaves %i messages', async (to, left) => {
    const { session } = await opened()
    await session.snapshot('two', { at: 'm2' })
    await session.revert(wrong(to))
    expect((await session.info()).messageCount).toBe(left)
  })
})

describe('a text is no list', () => {
  test('of paths: it would be gone through by its characters', async () => {
    await expect(sourcesAt(wrong('./some/path')).next()).rejects.toMatchObject(refusal('Give a list of paths'))
    await expect(sourcesAt(['']).next()).rejects.toMatchObject(refusal('must be a text that is not empty'))
  })

  test('of sources, and a path is no source', async () => {
    const { store } = await opened()
    for (const given of ['./some/path', ['./some/path']])
      await expect(importInto(store, wrong(given)).next()).rejects.toMatchObject(refusal('`sourcesAt(paths)`'))
  })

  test('of ids, entries or kinds', async () => {
    const { store, session } = await opened()
    const message = { role: 'user', content: 'x' } as const
    await expect(session.append(message, { ids: wrong('i') })).rejects.toMatchObject(refusal('`ids` must be'))
    for (const entries of ['e', {}])
      await expect(session.putEntries(wrong(entries))).rejects.toMatchObject(refusal('Give a list of entries'))
    await expect(store.search('x', { kinds: wrong('message') })).rejects.toMatchObject(refusal('Give a list of `kinds`'))
  })
})

describe('a store at a server is refused by functions over a store', () => {
  const remote = wrong(connect('http://127.0.0.1:9', { key: 'hf_x' }))
  test.each<[string, string, () => Promise<unknown>]>([
    ['exportFrom', '`store.export()`', () => exportFrom(remote).next()],
    ['importInto', '`store.importFile()`', () => importInto(remote, [bytesSource('a', Buffer.from('x'))]).next()],
    ['doctor', '`store.doctor()`', () => doctor(remote).next()],
    ['copyStore', 'where the server runs', async () => copyStore(remote, (await opened()).store).next()],
    ['copyStore, as the second one', 'where the server runs', async () => copyStore((await opened()).store, remote).next()],
    ['Worker', 'where the server runs', async () => new Worker(remote)],
    ['backUp', 'the paths of two directories', () => backUp(remote, './backup')],
    ['restoreBackup', 'the paths of two directories', () => restoreBackup('./backup', remote)],
    ['restoreSession', 'the paths of two directories', () => restoreSession('./backup', remote, 'talk')],
  ])('%s says %s', async (_, hint, call) => {
    await expect(call()).rejects.toMatchObject(refusal(hint))
  })
})

test.each<[string, string[], (of: { store: Store; session: Session }) => Promise<unknown>]>([
  ['share until no time', ['`expiresAt`', 'valid Date'], ({ session }) => session.share({ expiresAt: new Date(Number.NaN) })],
  ['share with a token that is no text', ['`token`'], ({ session }) => session.share({ token: wrong(5) })],
  ['shared of no text', ['token', 'text'], ({ store }) => store.shared(wrong(5))],
  [
    'a shared page of less than nothing',
    ['0 to 1000'],
    async ({ store, session }) => store.shared((await session.share()).token, { limit: -1 }),
  ],
  ['purge without a period', ['`olderThanMs`'], ({ store }) => all(store.purge({ olderThanMs: Number.NaN }))],
  ['list by metadata that is no JSON', ['metadata'], ({ store }) => store.list({ metadata: { a: wrong(1n) } })],
  ['list by an unknown status', ['ok, damaged, unreadable, deleted'], ({ store }) => store.list({ status: wrong('x') })],
  ['list in an unknown order', ['updated, created, title'], ({ store }) => store.list({ order: wrong('x') })],
  ['list by a number', ['`query`', 'text'], ({ store }) => store.list({ query: wrong(5) })],
  ['list of less than nothing', ['0 to 1000', 'got -1'], ({ store }) => store.list({ limit: -1 })],
  ['entries that are null', ['`channel`'], ({ session }) => session.putEntries([wrong(null)])],
  [
    'entries of an append that are null',
    ['`channel`'],
    ({ session }) => session.append({ role: 'user', content: 'x' }, { entries: [wrong(null)] }),
  ],
  ['search for a number', ['text'], ({ store }) => store.search(wrong(5))],
  ['search for half a hit', ['0 to 200'], ({ store }) => store.search('x', { limit: 0.5 })],
  ['tasks of an unknown status', ['pending, running'], ({ store }) => store.tasks({ status: wrong('x') })],
  ['tasks since no time', ['`since`'], ({ store }) => all(store.retryTasks({ since: new Date(Number.NaN) }))],
  ['export of a number', ['id of a session'], ({ store }) => all(exportFrom(store, { session: wrong(5) }))],
  ['export in an unknown format', ['jsonl, markdown'], ({ store }) => all(exportFrom(store, { format: wrong('x') }))],
  ['messages of a negative depth', ['`depth`'], ({ session }) => session.messages({ depth: -1 })],
  ['messages of a depth in words', ['`depth`'], ({ session }) => session.messages({ depth: wrong('x') })],
  ['messages from the middle', ['start, end', '"middle"'], ({ session }) => session.messages({ from: wrong('middle') })],
  ['messages before a number', ['`before`'], ({ session }) => session.messages({ before: wrong(5) })],
  ['messages of less than nothing', ['0 to 1000'], ({ session }) => session.messages({ limit: -1 })],
  ['records before a word', ['`before`'], ({ session }) => session.recordPage({ before: wrong('x') })],
  ['records of less than nothing', ['0 to 1000'], ({ session }) => session.recordPage({ limit: -1 })],
  ['a window counted as NaN', ['`countTokens`', 'NaN'], ({ session }) => session.window({ countTokens: () => Number.NaN })],
  ['a window counted later', ['`countTokens`', 'promise'], ({ session }) => session.window({ countTokens: wrong(async () => 1) })],
  ['a store in memory with a name', ['"memory:"', './memory:x'], () => openStore('memory:x')],
  ['a store at an address', ['https address'], () => openStore('https://127.0.0.1')],
])('INVALID_ARGUMENT: %s', async (_, texts, call) => {
  await expect(call(await opened())).rejects.toMatchObject(refusal(...texts))
})

test('a page of no items reports whether there are more', async () => {
  const { store, session } = await opened()
  await session.append({ role: 'user', content: 'x' })
  expect(await session.messages({ limit: 0 })).toMatchObject({ messages: [], more: true })
  expect((await store.list({ limit: 0, count: true })).sessions).toEqual([])
})

test('a purge may go back further than time can be written', async () => {
  const { store } = await opened()
  expect(await all(store.purge({ olderThanMs: 1e20 }))).toEqual([])
})
