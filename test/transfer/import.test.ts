/** Sources into a store: what is there afterwards, once, again, grown, interrupted. */
import { expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { HoldfastError } from '../../src/errors.ts'
import type { Importer, Source } from '../../src/formats/item.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import type { ImportedSession, ImportOptions } from '../../src/transfer/import/report.ts'
import { StubModel } from '../commit/stub-model.ts'
import { dyingAt } from '../store/dying.ts'
import * as fixtures from './fixtures.ts'
import { FIXTURES, jsonl, sourceOf } from './fixtures.ts'

async function importAll(store: Store, sources: readonly Source[], options: ImportOptions = {}): Promise<ImportedSession[]> {
  const reports: ImportedSession[] = []
  for await (const report of importInto(store, sources, options)) reports.push(report)
  return reports
}

async function contents(session: Session): Promise<unknown[]> {
  return (await session.messages({ archived: true, limit: 1000 })).messages.map(({ message }) => message.content)
}

const chat = (...texts: string[]): Source =>
  sourceOf({ name: '/a/chat.jsonl', files: { 'chat.jsonl': jsonl(...texts.map((content) => ({ role: 'user', content }))) } })

test.each(FIXTURES)('$format, $name: every message is there, and a second import changes nothing', async (fixture) => {
  const store = await openStore('memory:')
  const first = await importAll(store, [sourceOf(fixture)])
  for (const [session, count] of Object.entries(fixture.sessions)) {
    const report = first.find((one) => one.session === session)
    expect(report).toMatchObject({ messages: count, skipped: 0, damaged: 0, recovered: 0, note: null })
  }
  const versions = async (): Promise<unknown> => (await store.list()).sessions.map(({ id, version }) => [id, version])
  const before = await versions()
  // Another name, and a byte more: neither its name nor its digest tells that it was imported.
  const again = await importAll(store, [sourceOf(fixture, (bytes) => Buffer.concat([bytes, Buffer.from('\n')]))])
  expect(again.map(({ messages }) => messages)).toEqual(again.map(() => 0))
  expect(await versions()).toEqual(before)
  expect(await importAll(store, [sourceOf(fixture)])).toMatchObject(first.map(({ session }) => ({ session, messages: 0 })))
  expect(await versions()).toEqual(before)
})

test.each(FIXTURES)('$format, $name: a dry run tells the same and writes nothing', async (fixture) => {
  const store = await openStore('memory:')
  const told = await importAll(store, [sourceOf(fixture)], { dryRun: true })
  expect((await store.list()).sessions).toEqual([])
  expect(await importAll(store, [sourceOf(fixture)])).toEqual(told)
})

test('a grown source adds only its new messages', async () => {
  const store = await openStore('memory:')
  await importAll(store, [chat('one', 'two')])
  const [report] = await importAll(store, [chat('one', 'two', 'two', 'three')])
  expect(report).toMatchObject({ messages: 2, skipped: 2 })
  expect(await contents(store.session(report?.session as string))).toEqual(['one', 'two', 'two', 'three'])
})

test('OpenViking: an archive is completed, has its summary, and is never taken by a worker', async () => {
  const store = await openStore('memory:')
  await importAll(store, [sourceOf(fixtures.openViking)])
  const session = store.session('s-1')
  expect(await session.archives()).toMatchObject([
    {
      number: 1,
      status: 'completed',
      messageCount: 2,
      overview: '# Overview\nTwo things were said.',
      abstract: 'Two things.',
      memories: [],
    },
  ])
  expect(await session.info()).toMatchObject({ messageCount: 2, totalMessageCount: 4 })
  expect(await store.tasks({ status: 'pending' })).toEqual([])
  expect((await session.window({})).overview).toContain('Two things were said.')
})

test('messages keep the time at which they were said', async () => {
  const store = await openStore('memory:')
  await importAll(store, [sourceOf(fixtures.claudeCode)])
  const session = store.session('cc-1')
  expect((await session.message('u2'))?.at).toBe('2026-03-01T10:00:02.000Z')
  expect((await session.info()).createdAt).toBe('2026-03-01T10:00:01.000Z')
})

test('PraisonAI: a fork shares the past of its parent, whichever comes first', async () => {
  for (const order of [
    [fixtures.praisonAi, fixtures.praisonFork],
    [fixtures.praisonFork, fixtures.praisonAi],
  ]) {
    const store = await openStore('memory:')
    await importAll(
      store,
      order.map((fixture) => sourceOf(fixture)),
    )
    const fork = store.session('p-2')
    expect((await fork.info()).parent).toMatchObject({ session: 'p-1', kind: 'fork' })
    expect(await contents(fork)).toEqual(['long ago', 'so it was', 'one', 'two', 'otherwise'])
    const parent = store.session('p-1')
    expect((await parent.info()).snapshots).toMatchObject([{ name: 'before three', messageCount: 4 }])
    expect((await parent.tree()).children).toMatchObject([{ session: 'p-2', kind: 'fork' }])
  }
})

test('Claude Code: a prompt that was taken back stays on a branch of its own; sub-agents are children', async () => {
  const store = await openStore('memory:')
  await importAll(store, [sourceOf(fixtures.claudeCode)])
  const session = store.session('cc-1')
  expect((await session.messages()).messages.map(({ id }) => id)).toEqual(['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', 'u10'])
  expect((await session.message('u9'))?.id).toBe('u9')
  expect(await session.info()).toMatchObject({ title: 'Reading files', workspace: '/home/a/project' })
  expect(await session.usage()).toMatchObject([{ model: 'claude-x', calls: 3, inputTokens: 30, outputTokens: 15 }])
  expect((await store.session('cc-1/agent-s1').info()).parent).toMatchObject({ session: 'cc-1', kind: 'child' })
})

/** A log of Claude Code: questions, and replies that took 10 and 5 tokens. */
function replies(count: number, model = (_: number) => 'claude-x'): Source {
  const lines = Array.from({ length: 2 * count }, (_, i) => {
    const usage = { input_tokens: 10, output_tokens: 5 }
    const reply = { role: 'assistant', id: `m${i}`, model: model(i), content: `answer ${i}`, usage }
    const said = i % 2 === 0 ? { type: 'user', message: { role: 'user', content: `question ${i}` } } : { type: 'assistant', message: reply }
    return {
      uuid: `u${i}`,
      parentUuid: i === 0 ? null : `u${i - 1}`,
      sessionId: 'c',
      cwd: '/a',
      timestamp: '2026-03-01T10:00:00.000Z',
      ...said,
    }
  })
  return sourceOf({ name: '/a/c.jsonl', files: { 'c.jsonl': jsonl(...lines) } })
}

test('what calls took counts once, with the messages that are new', async () => {
  const store = await openStore('memory:')
  const usage = async () => store.session('c').usage()
  await importAll(store, [replies(300)])
  expect(await usage()).toMatchObject([{ calls: 300, inputTokens: 3000, outputTokens: 1500 }])
  await importAll(store, [replies(310)])
  expect(await usage()).toMatchObject([{ calls: 310, inputTokens: 3100, outputTokens: 1550 }])
})

/** A conversation whose reply took so many tokens, none as long as it is not finished. */
function exported(output: number, text: string, more: object[] = []): Source {
  const said = (id: string, info: object, words: string) => ({
    info: { id, sessionID: 'oc-9', ...info },
    parts: [{ id: `p${id}`, type: 'text', text: words }],
  })
  const reply = { role: 'assistant', modelID: 'm', time: { created: 1772359201000 }, tokens: { input: output * 2, output } }
  const messages = [said('m1', { role: 'user', time: { created: 1772359200000 } }, 'go'), said('m2', reply, text), ...more]
  const file = JSON.stringify({ info: { id: 'oc-9', directory: '/w', time: { created: 1772359200000 } }, messages })
  return sourceOf({ name: '/a/oc-9.json', files: { 'oc-9.json': file } })
}

test('what a call took counts once, although its message was imported before its reply was finished', async () => {
  const store = await openStore('memory:')
  const usage = async () => store.session('oc-9').usage()
  const whole = [{ model: 'm', calls: 1, inputTokens: 10, outputTokens: 5 }]
  await importAll(store, [exported(0, 'He')])
  expect(await usage()).toEqual([])
  await importAll(store, [exported(5, 'Hello')])
  expect(await usage()).toEqual(whole)
  const next = { info: { id: 'm3', sessionID: 'oc-9', role: 'user' }, parts: [] }
  await importAll(store, [exported(5, 'Hello', [next])])
  expect(await usage()).toEqual(whole)
  // One that told what it took keeps to that.
  await importAll(store, [exported(6, 'Hello!', [next])])
  expect(await usage()).toEqual(whole)
})

test('whoever dies at any write of such an import leaves what the call took to the next one, which counts it once', async () => {
  for (let count = 1, dies = true; dies; count++) {
    const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
    await importAll(await openStore(engine), [exported(0, 'He')])
    const { wrap, hasDied } = dyingAt(count)
    await importAll(await openStore(engine, { wrap }), [exported(5, 'Hello')]).catch(() => undefined)
    dies = hasDied()
    const store = await openStore(engine)
    await importAll(store, [exported(5, 'Hello')])
    const session = store.session('oc-9')
    expect(await session.usage()).toEqual([{ model: 'm', calls: 1, inputTokens: 10, outputTokens: 5 }])
    expect((await session.messages()).messages.map(({ replaced }) => replaced)).toEqual([false, true])
    // The message, what its call took, and what the store notes of the source.
    if (!dies) expect(count).toBeGreaterThan(3)
  }
})

test('gemini-cli: what a call took counts once, although the log tells it only when its message comes again', async () => {
  const store = await openStore('memory:')
  const log = (...records: object[]): Source =>
    sourceOf({
      name: '/a/g-9.jsonl',
      files: { 'g-9.jsonl': jsonl({ sessionId: 'g-9', projectHash: 'h', startTime: '2026-03-01T10:00:00.000Z' }, ...records) },
    })
  const reply = (id: string, content: string, tokens?: object) => ({ id, type: 'gemini', model: 'm', content, ...(tokens && { tokens }) })
  const [late, early] = [
    { input: 10, output: 5 },
    { input: 1, output: 1 },
  ]
  const records = [reply('a', 'He'), reply('a', 'Hello', late), reply('b', 'x', early), reply('b', 'y', late)]
  const usage = async () => store.session('g-9').usage()
  await importAll(store, [log(...records)])
  expect(await usage()).toEqual([{ model: 'm', calls: 2, inputTokens: 11, outputTokens: 6 }])
  await importAll(store, [log(...records, reply('c', 'z'))])
  expect(await usage()).toEqual([{ model: 'm', calls: 2, inputTokens: 11, outputTokens: 6 }])
})

test('what calls took is not counted for a message that the store refuses, and stays with the others', async () => {
  const store = await openStore('memory:', {
    beforeAppend: (value) => {
      if (JSON.stringify(value).includes('answer 3"')) throw new HoldfastError('INVALID_ARGUMENT', 'not this one')
      return value
    },
  })
  const [report] = await importAll(store, [replies(4, (i) => `model ${i}`)])
  expect(report).toMatchObject({ messages: 7, damaged: 1 })
  expect((await store.session('c').usage()).map(({ model }) => model)).toEqual(['model 1', 'model 5', 'model 7'])
})

test('of more models than a session counts, the messages are there, and it is told what is not counted', async () => {
  const store = await openStore('memory:')
  const [report] = await importAll(store, [replies(1010, (i) => `model ${i}`)])
  expect(report?.messages).toBe(2020)
  expect(report?.damage.at(-1)?.reason).toContain('a session counts 1000 models')
  expect(await store.session('c').usage()).toHaveLength(1000)
  // The next part of the same log finds them counted.
  const [grown] = await importAll(store, [replies(1011, (i) => `model ${i}`)])
  expect(grown?.messages).toBe(2)
  expect(await store.session('c').usage()).toHaveLength(1000)
})

test('gemini-cli: what was replaced and what was rewound stay readable', async () => {
  const store = await openStore('memory:')
  await importAll(store, [sourceOf(fixtures.geminiCli)])
  const session = store.session('g-1')
  expect((await session.messages()).messages.map(({ id }) => id)).toEqual(['g1', 'g2', 'g4'])
  expect((await session.revisions('g2')).revisions).toHaveLength(2)
  expect((await session.info()).title).toBe('Numbers')
})

test('pi: the tree and its compaction survive', async () => {
  const store = await openStore('memory:')
  await importAll(store, [sourceOf(fixtures.pi)])
  const session = store.session('pi-1')
  expect((await session.messages({ archived: true })).messages.map(({ id }) => id)).toEqual(['a1', 'a2', 'a3', 'b1'])
  expect((await session.archives())[0]).toMatchObject({ status: 'completed', overview: 'One and two.', messageCount: 3 })
})

test('what was changed here since stays, although the source is imported again', async () => {
  const store = await openStore('memory:')
  const grown = {
    ...fixtures.claudeCode,
    files: { f: `${fixtures.claudeCode.files['cc-1.jsonl']}${JSON.stringify({ type: 'mode', sessionId: 'cc-1' })}\n` },
  }
  await importAll(store, [sourceOf(fixtures.claudeCode)])
  const session = store.session('cc-1')
  await session.describe({ title: 'Mine' })
  await session.replace('u1', { role: 'user', content: 'edited' })
  await importAll(store, [sourceOf(grown)])
  expect((await session.info()).title).toBe('Mine')
  expect((await session.message('u1'))?.message.content).toBe('edited')
})

test('a session of the same id that is another one is left alone', async () => {
  const store = await openStore('memory:')
  const own = store.session('telegram:42')
  await own.append({ role: 'user', content: 'my own' })
  const [report] = await importAll(store, [sourceOf(fixtures.nanobot)])
  expect(report?.session).toMatch(/^telegram:42-[0-9a-f]{8}$/)
  expect(await contents(own)).toEqual(['my own'])
  expect(await importAll(store, [sourceOf(fixtures.nanobot, (bytes) => Buffer.concat([bytes, Buffer.from('\n')]))])).toMatchObject([
    { session: report?.session, messages: 0, skipped: 6 },
  ])
})

test('a session that was deleted here is not brought back', async () => {
  const store = await openStore('memory:')
  const [report] = await importAll(store, [chat('one')])
  await store.session(report?.session as string).delete()
  expect(await importAll(store, [chat('one', 'two')])).toMatchObject([{ messages: 0, note: expect.stringContaining('deleted') }])
})

test('an interrupted import goes on where it stopped', async () => {
  const store = await openStore('memory:')
  const texts = Array.from({ length: 3000 }, (_, index) => `message ${index}`)
  const stop = new AbortController()
  for await (const _ of importInto(store, [chat(...texts)], { signal: stop.signal, onProgress: () => stop.abort() }));
  const [report] = await importAll(store, [chat(...texts)])
  expect((report?.messages ?? 0) + (report?.skipped ?? 0)).toBe(3000)
  expect(report?.skipped).toBeGreaterThan(0)
  const session = store.session(report?.session as string)
  expect((await session.info()).totalMessageCount).toBe(3000)
  expect((await session.messages({ from: 'start', limit: 1000 })).messages.map(({ message }) => message.content)).toEqual(
    texts.slice(0, 1000),
  )
})

test('doubles that a retry left are told, and both are kept', async () => {
  const store = await openStore('memory:')
  const line = (id: string, at: string) => ({ id, role: 'user', parts: [{ type: 'text', text: 'pay' }], created_at: at })
  const files = {
    'messages.jsonl': jsonl(line('a', '2026-03-01T10:00:00Z'), line('b', '2026-03-01T10:00:02Z'), line('c', '2026-03-01T11:00:00Z')),
  }
  const [report] = await importAll(store, [sourceOf({ name: '/v/s', files: { ...files, '.meta.json': '{}' } })])
  expect(report).toMatchObject({ messages: 3, suspects: [{ first: 'a', second: 'b' }] })
})

test('what could not be read is in the quarantine of the store, once', async () => {
  const store = await openStore('memory:')
  const spoil = (more: string) =>
    sourceOf({ name: '/a/chat.jsonl', files: { f: `{"role":"user","content":"tor\n${jsonl({ role: 'user', content: more })}` } })
  const [report] = await importAll(store, [spoil('x')])
  await importAll(store, [spoil('y')])
  expect(report).toMatchObject({ messages: 1, damaged: 0 })
  const kept = []
  for await (const entry of store.in('_store').session('quarantine:default').entries('import')) kept.push(entry.value)
  expect(kept).toMatchObject([
    { source: '/a/chat.jsonl', place: { line: 1, offset: 0 }, base64: Buffer.from('{"role":"user","content":"tor').toString('base64') },
  ])
})

async function quarantined(store: Store): Promise<Buffer> {
  const kept: { readonly place: { readonly offset: number }; readonly base64: string }[] = []
  const quarantine = store.in('_store').session('quarantine:default')
  if ((await store.in('_store').list()).sessions.every(({ id }) => id !== quarantine.id)) return Buffer.of()
  for await (const { value } of quarantine.entries('import')) kept.push(value as never)
  kept.sort((a, b) => a.place.offset - b.place.offset)
  return Buffer.concat(kept.map(({ base64 }) => Buffer.from(base64, 'base64')))
}

const garbageOf = (bytes: Buffer): Source => sourceOf({ name: '/a/chat.jsonl', files: { f: '' } }, () => bytes)
const noise = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251))

test.each([
  ['bytes that are no text', noise],
  ['zeros of a page that never reached the disk', Buffer.alloc(4096)],
  ['text that is no JSON', Buffer.from('nothing of the kind\nnor this')],
  ['the first half of a document', Buffer.from('{"a": [1, 2')],
])('a file that is all garbage is reported as unreadable, and its bytes are in the quarantine once: %s', async (_, bytes) => {
  const store = await openStore('memory:')
  const place = { file: 'chat.jsonl', line: null, offset: 0, length: bytes.length }
  const report = { source: '/a/chat.jsonl', format: null, session: null, messages: 0, damaged: 1, unreadable: true, damage: [place] }
  expect(await importAll(store, [garbageOf(bytes)], { dryRun: true })).toMatchObject([report])
  expect((await quarantined(store)).length).toBe(0)
  expect(await importAll(store, [garbageOf(bytes), chat('one')])).toMatchObject([report, { messages: 1, damaged: 0 }])
  await importAll(store, [garbageOf(bytes)])
  expect((await quarantined(store)).equals(bytes)).toBe(true)
})

test('garbage of more than a megabyte is in the quarantine byte for byte', async () => {
  const store = await openStore('memory:')
  const bytes = Buffer.concat(Array.from({ length: 500 }, () => noise))
  await importAll(store, [garbageOf(bytes)])
  expect((await quarantined(store)).equals(bytes)).toBe(true)
})

test.each([
  ['JSON of another kind', '{\n  "theme": "dark"\n}\n'],
  ['lines of another kind', '{"theme":"dark"}\n{"torn'],
  ['an empty file', ' \n'],
])('a file of no known format is not called unreadable: %s', async (_, text) => {
  const store = await openStore('memory:')
  const [report] = await importAll(store, [garbageOf(Buffer.from(text))])
  expect(report).toMatchObject({ session: null, damaged: 0, note: expect.stringContaining('No known format') })
  expect(report).not.toHaveProperty('unreadable')
})

test('a message that repeats its id in a field of its own is the message that was appended without that field', async () => {
  const store = await openStore('memory:')
  const session = store.session<object>('s')
  const parts = [{ type: 'text', text: 'one' }]
  await session.append({ role: 'user', parts }, { ids: ['m1'] })
  await session.append({ id: 'm2', role: 'user', parts })
  const files = { 'messages.jsonl': jsonl({ id: 'm1', role: 'user', parts }, { role: 'user', parts, id: 'm2' }) }
  const [report] = await importAll(store, [sourceOf({ name: '/v/s', files: { ...files, '.meta.json': '{}' } })])
  expect(report).toMatchObject({ session: 's', messages: 0, skipped: 2, healed: [] })
  expect((await session.messages()).messages.map(({ replaced }) => replaced)).toEqual([false, false])
})

test('a fork that has no title in its source has none here, and takes none of its parent', async () => {
  const store = await openStore('memory:')
  await importAll(store, [sourceOf(fixtures.praisonAi), sourceOf(fixtures.praisonFork)])
  const [parent, fork] = [await store.session('p-1').info(), await store.session('p-2').info()]
  expect({ parent: parent.title, fork: fork.title, of: fork.parent?.session }).toEqual({ parent: 'Counting', fork: null, of: 'p-1' })
})

test('an OpenViking archive without `.done` is finished by a worker, once, although the source finishes it later', async () => {
  const store = await openStore('memory:')
  const { 'history/archive_001/.done': done = '', ...unfinished } = fixtures.openViking.files
  await importAll(store, [sourceOf({ ...fixtures.openViking, files: unfinished })])
  const session = store.session('s-1')
  expect(await session.archives()).toMatchObject([{ number: 1, status: 'pending', messageCount: 2 }])
  // Its messages stay in the window until there is a summary.
  expect((await session.window({})).messages).toHaveLength(4)
  const model = new StubModel()
  await new Worker(store, { model }).drain()
  expect(await session.archives()).toMatchObject([{ number: 1, status: 'completed', overview: '[v1 v2]' }])
  await importAll(store, [sourceOf({ ...fixtures.openViking, files: { ...unfinished, 'history/archive_001/.done': done } })])
  await new Worker(store, { model }).drain()
  expect(model.extracted).toEqual(['v1', 'v2'])
  expect(await session.archives()).toHaveLength(1)
})

test('what an importer of one’s own says that calls took counts, if it can be', async () => {
  const store = await openStore('memory:')
  const call = (inputTokens: number, outputTokens: number, model = 'm') => ({ model, inputTokens, outputTokens })
  const told = [call(1, 2), call(-1, Number.NaN), call(3, 0.5), call(1, 1, 'x'.repeat(201))]
  const mine: Importer = {
    name: 'mine',
    recognises: () => true,
    read: async function* () {
      yield { kind: 'session', session: 'm', description: {} }
      yield { kind: 'usage', session: 'm', key: 'alone', ...call(10, 20) }
      for (const [i, usage] of told.entries()) yield { kind: 'message', session: 'm', id: String(i), message: { role: 'assistant' }, usage }
    },
  }
  const source = sourceOf({ name: 'x.mine', files: { 'x.mine': 'anything' } })
  expect(await importAll(store, [source], { importers: [mine] })).toMatchObject([{ session: 'm', messages: 4 }])
  expect(await store.session('m').usage()).toEqual([{ model: 'm', calls: 3, inputTokens: 14, outputTokens: 22 }])
})

test('an importer of one’s own is asked first', async () => {
  const store = await openStore('memory:')
  const mine: Importer = {
    name: 'mine',
    recognises: ({ name }) => name.endsWith('.mine'),
    read: async function* () {
      yield { kind: 'session', session: 'm', description: { title: 'Mine' } }
      yield { kind: 'message', session: 'm', id: '1', message: { role: 'user', content: 'hi' } }
    },
  }
  const source = sourceOf({ name: 'x.mine', files: { 'x.mine': 'anything' } })
  expect(await importAll(store, [source], { importers: [mine] })).toMatchObject([{ session: 'm', messages: 1, format: 'mine' }])
  expect(await importAll(store, [source])).toMatchObject([{ session: null, note: expect.stringContaining('No known format') }])
})

test('what an interrupted save left is used if it is whole, and only then', async () => {
  const files = fixtures.praisonAi.files['p-1.json'] as string
  const newer = JSON.parse(files)
  newer.messages.push({ role: 'user', content: 'four', timestamp: 1772359209 })
  const orphan = (text: string): Source => ({ ...sourceOf({ name: '/a/p-1.json.tmp', files: { f: text } }), orphan: true })
  const store = await openStore('memory:')
  await importAll(store, [sourceOf(fixtures.praisonAi)])
  const text = JSON.stringify(newer)
  expect(await importAll(store, [orphan(text.slice(0, -3))])).toMatchObject([{ messages: 0, note: expect.stringContaining('not whole') }])
  expect(await importAll(store, [orphan(text)])).toMatchObject([
    { session: 'p-1', messages: 1, healed: [expect.stringContaining('newer version')] },
  ])
})
