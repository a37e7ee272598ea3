/** Raw files of a Holdfast store given to an import: a segment, the directory of a session, a whole store, whole and damaged. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import type { Source } from '../../src/formats/item.ts'
import { tarOf } from '../../src/formats/tar.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesSource, bytesSources } from '../../src/transfer/bytes.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import type { ImportedSession, ImportOptions } from '../../src/transfer/import/report.ts'
import { sourcesAt } from '../../src/transfer/sources.ts'

const SMALL = { limits: { segmentBytes: 2048 } }

/** A directory with a store: a session of several segments, a fork of it, and one in another space. */
async function madeStore(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-journals-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const store = await openStore(join(directory, 'store'), { ...SMALL, brief: true })
  const session = store.session<object>('parent')
  for (let i = 1; i <= 30; i++) await session.append({ role: 'user', content: `message ${i} ${'x'.repeat(100)}` }, { ids: [`m${i}`] })
  await session.describe({ title: 'Raw', tags: ['kept'] })
  await session.snapshot('middle')
  await session.replace('m3', { role: 'user', content: 'edited' })
  const fork = await session.fork({ id: 'fork', at: 'm5' })
  await fork.append({ role: 'assistant', content: 'otherwise' }, { ids: ['f1'] })
  await session.commit({ keep: 4 })
  await store
    .in('other')
    .session<object>('parent')
    .append({ role: 'user', content: 'elsewhere' }, { ids: ['e1'] })
  await store.close()
  return join(directory, 'store')
}

async function importAll(store: Store, sources: AsyncIterable<Source> | Source[], options: ImportOptions = {}): Promise<ImportedSession[]> {
  const reports: ImportedSession[] = []
  for await (const report of importInto(store, sources, options)) reports.push(report)
  return reports
}

async function exported(store: Store): Promise<string> {
  let text = ''
  for await (const piece of exportFrom(store)) text += piece
  return text
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => path.endsWith('.jsonl'))
    .sort()
}

const segmentsOf = (store: string, session: string): string[] =>
  filesBelow(join(store, 'sessions')).filter((path) => dirname(path).includes(`/${session}-`))

/** The segments of the session with most of them. */
function longest(store: string): string[] {
  const all = segmentsOf(store, 'parent')
  const rows = all.map((path) => all.filter((other) => dirname(other) === dirname(path)))
  return rows.reduce((a, b) => (a.length > b.length ? a : b))
}

test('a store given as a path is imported with all that its own export has, once', async () => {
  const path = await madeStore()
  const store = await openStore('memory:')
  const reports = await importAll(store, sourcesAt([path]))
  expect(reports).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ session: 'parent', messages: 30, damaged: 0, format: 'holdfast', note: null }),
      expect.objectContaining({ session: 'fork', messages: 1, damaged: 0 }),
    ]),
  )
  expect(reports).toHaveLength(3)
  await using from = await openStore(path, { brief: true })
  const wanted = (await exported(from)).split('\n')
  // The session of the other space has the same id, and gets a longer one.
  const text = (await exported(store)).split('\n')
  expect(wanted.length).toBeGreaterThan(35)
  expect(text).toEqual(expect.arrayContaining(wanted))
  const before = await exported(store)
  expect((await importAll(store, sourcesAt([join(path, 'sessions')]))).map(({ messages }) => messages)).toEqual([0, 0, 0])
  expect(await exported(store)).toBe(before)
})

test('the directory of a session is one session, and so is each of its segments', async () => {
  const segments = longest(await madeStore())
  expect(segments.length).toBeGreaterThan(2)
  const store = await openStore('memory:')
  const [report, ...more] = await importAll(store, sourcesAt([dirname(segments[0] as string)]))
  expect({ report, more }).toMatchObject({ report: { session: 'parent', messages: 30, damaged: 0 }, more: [] })

  const first = await openStore('memory:')
  const [one, ...others] = await importAll(first, sourcesAt([segments[0] as string]))
  expect({ one, others }).toMatchObject({ one: { session: 'parent', format: 'holdfast', damaged: 0 }, others: [] })
  expect(one?.messages).toBeGreaterThan(3)
  expect((await first.session('parent').messages({ limit: 1000 })).messages).toHaveLength(one?.messages as number)
})

test('of a damaged journal everything else is imported, and the damaged bytes are in the quarantine', async () => {
  const path = await madeStore()
  const [segment = ''] = longest(path)
  const bytes = readFileSync(segment)
  const at = bytes.indexOf('message 2 ')
  bytes.set(Buffer.from('M'), at)
  const [from, to] = [bytes.lastIndexOf('\n', at) + 1, bytes.indexOf('\n', at)]
  writeFileSync(segment, bytes)
  const store = await openStore('memory:')
  const [report] = await importAll(store, sourcesAt([dirname(segment)]))
  const place = { file: relative(dirname(segment), segment), offset: from, length: to - from }
  expect(report).toMatchObject({ session: 'parent', messages: 29, damaged: 1, damage: [place] })
  const kept = []
  for await (const { value } of store.in('_store').session('quarantine:default').entries('import')) kept.push(value)
  expect(kept).toMatchObject([{ session: 'parent', base64: bytes.subarray(from, to).toString('base64') }])
})

test('a journal of which nothing can be read is reported, and its bytes are in the quarantine', async () => {
  const path = await madeStore()
  const [segment = ''] = segmentsOf(path, 'fork')
  writeFileSync(segment, Buffer.alloc(3000, 'garbage'))
  const store = await openStore('memory:')
  expect(await importAll(store, sourcesAt([dirname(segment)]))).toMatchObject([{ session: null, messages: 0, damaged: 1 }])
  const kept = []
  for await (const { value } of store.in('_store').session('quarantine:default').entries('import')) kept.push(value)
  expect(kept).toHaveLength(1)
})

test('a fork without its parent has its own messages, and the report names the parent', async () => {
  const [segment = ''] = segmentsOf(await madeStore(), 'fork')
  const store = await openStore('memory:')
  const [report] = await importAll(store, sourcesAt([dirname(segment)]))
  expect(report).toMatchObject({ session: 'fork', messages: 1, damage: [{ reason: expect.stringContaining('"parent"') }] })
})

test.each(['auto', 'holdfast'])('a segment is recognised by what is in it, whatever its name is: %s', async (from) => {
  const [segment = ''] = longest(await madeStore())
  const store = await openStore('memory:')
  const source = bytesSource('saved.jsonl.gz', gzipSync(readFileSync(segment)))
  expect(await importAll(store, [source], { from })).toMatchObject([{ session: 'parent', format: 'holdfast', damaged: 0 }])
})

test('an archive of a store has its sessions, as its directory has', async () => {
  const path = await madeStore()
  const files = filesBelow(path).map((file) => ({ path: relative(path, file), bytes: readFileSync(file) }))
  const identity = { path: 'holdfast.json', bytes: readFileSync(join(path, 'holdfast.json')) }
  const store = await openStore('memory:')
  const reports = await importAll(store, bytesSources('store.tar', tarOf([...files, identity])))
  expect(reports.map(({ messages, damaged }) => [messages, damaged]).sort()).toEqual([
    [1, 0],
    [1, 0],
    [30, 0],
  ])
})

test('encrypted journals are refused with the command that copies them, and hold up nothing else', async () => {
  const path = await madeStore()
  const sealed = `${path}-sealed`
  const store = await openStore(sealed, { encryption: { masterKey: Buffer.alloc(32, 7) }, brief: true })
  await store.session('secret').append({ role: 'user', content: 'hidden' })
  await store.close()
  const target = await openStore('memory:')
  cpSync(path, join(sealed, 'inner'), { recursive: true })
  const reports = await importAll(target, sourcesAt([join(sealed, 'sessions'), join(sealed, 'inner')]))
  expect(reports).toContainEqual(
    expect.objectContaining({ session: null, unreadable: true, note: expect.stringContaining('`holdfast copy') }),
  )
  expect(reports.find(({ session }) => session === 'parent')).toMatchObject({ messages: 30 })
})
