/** No page holds more than its budget of bytes, one item always fits, and reading page by page gives everything once. */
import { expect, test } from 'vitest'
import { CALLER_LIMITS } from '../../src/record/limits.ts'
import { type Answered, Application } from './application.ts'

const MEBIBYTE = 1024 * 1024
const COUNT = 7
const textOf = (i: number, bytes = 1.5 * MEBIBYTE): string => `${i} ${'x'.repeat(bytes)}`
const numberIn = (text: string): number => Number.parseInt(text, 10)

interface Listing {
  readonly path: string
  /** The numbers of the items of one page. */
  readonly numbers: (page: Answered) => number[]
  readonly next: (page: Answered) => Record<string, string | number> | undefined
  /** Pages come from the newest on; their items, too, unless `oldestFirst`. */
  readonly order: 'oldest first' | 'newest first' | 'newest page first'
}

const byHeader = ({ headers }: Answered): { cursor: string } | undefined => {
  const cursor = headers.get('x-next-cursor')
  return cursor === null ? undefined : { cursor }
}

const contentsOf = ({ result }: Answered): number[] =>
  result.messages.map(({ message }: { message: { content: string } }) => numberIn(message.content))

const LISTINGS: Record<string, Listing> = {
  'messages from the end': {
    path: '/sessions/s/messages?limit=1000',
    numbers: contentsOf,
    next: ({ result }) => (result.more ? { before: result.messages[0].id } : undefined),
    order: 'newest page first',
  },
  'messages from the start': {
    path: '/sessions/s/messages?limit=1000&from=start',
    numbers: contentsOf,
    next: ({ result }) => (result.more ? { after: result.messages.at(-1).id } : undefined),
    order: 'oldest first',
  },
  'messages with large replacements': {
    path: '/sessions/replaced/messages?limit=1000&from=start',
    numbers: contentsOf,
    next: ({ result }) => (result.more ? { after: result.messages.at(-1).id } : undefined),
    order: 'oldest first',
  },
  'messages with large replacements from the end': {
    path: '/sessions/replaced/messages?limit=1000',
    numbers: contentsOf,
    next: ({ result }) => (result.more ? { before: result.messages[0].id } : undefined),
    order: 'newest page first',
  },
  'messages of a fork, replaced by its parent and by the fork': {
    path: '/sessions/fork/messages?limit=1000&from=start',
    numbers: contentsOf,
    next: ({ result }) => (result.more ? { after: result.messages.at(-1).id } : undefined),
    order: 'oldest first',
  },
  'messages of an archive': {
    path: '/sessions/archived/archives/archive_001?format=stored',
    numbers: contentsOf,
    next: byHeader,
    order: 'oldest first',
  },
  records: {
    path: '/sessions/s/records?limit=1000',
    numbers: ({ result }) =>
      result.records.flatMap(({ record }: { record: { messages?: { content: string }[] } }) =>
        (record.messages ?? []).map(({ content }) => numberIn(content)),
      ),
    next: ({ result }) => (result.before === null ? undefined : { before: result.before }),
    order: 'newest first',
  },
  entries: {
    path: '/sessions/e/entries?channel=c',
    numbers: ({ result }) => result.map(({ value }: { value: string }) => numberIn(value)),
    next: byHeader,
    order: 'newest first',
  },
  revisions: {
    path: '/sessions/r/messages/m/revisions',
    numbers: ({ result }) => result.map(({ message }: { message: { content: string } }) => numberIn(message.content)),
    next: byHeader,
    order: 'newest page first',
  },
}

async function filled(): Promise<Application> {
  const app = await Application.open()
  const range = Array.from({ length: COUNT }, (_, i) => i)
  const say = (session: string, i: number, content: string) =>
    app.store.session(session).append({ role: 'user', content }, { ids: [`m${i}`] })
  for (const i of range) {
    for (const session of ['s', 'archived']) await say(session, i, textOf(i))
    await say('replaced', i, 'small')
    await app.store.session('replaced').replace(`m${i}`, { role: 'user', content: textOf(i) })
    await app.store.session('e').putEntries([{ channel: 'c', key: `k${i}`, value: textOf(i) }])
    if (i === 0) await app.store.session('r').append({ role: 'user', content: textOf(0) }, { ids: ['m'] })
    else await app.store.session('r').replace('m', { role: 'user', content: textOf(i) })
  }
  await app.store.session('archived').commit()
  const fork = await app.store.session('replaced').fork({ id: 'fork' })
  for (const i of range) if (i % 2 === 0) await fork.replace(`m${i}`, { role: 'user', content: textOf(i) })
  return app
}

test('every listing has a budget of bytes, and continues where a page ends', async () => {
  const app = await filled()
  for (const [name, { path, numbers, next, order }] of Object.entries(LISTINGS)) {
    const pages: number[][] = []
    for (let at: Record<string, string | number> | undefined = {}; at !== undefined; ) {
      const query = Object.entries(at).map(([key, value]) => `&${key}=${encodeURIComponent(value)}`)
      const page: Answered = await app.get(`${path}${path.includes('?') ? '' : '?'}${query.join('')}`)
      expect(page.status, name).toBe(200)
      expect(JSON.stringify(page.result).length, name).toBeLessThan(CALLER_LIMITS.pageBytes + 10_000)
      pages.push(numbers(page))
      at = next(page)
    }
    expect(pages.length, name).toBe(Math.ceil(COUNT / 2))
    const inOrder = order === 'newest page first' ? pages.reverse().flat() : pages.flat()
    const range = Array.from({ length: COUNT }, (_, i) => i)
    expect(inOrder, name).toEqual(order === 'newest first' ? range.reverse() : range)
  }
}, 120_000)

test('one item always fits', async () => {
  const app = await Application.open()
  for (const i of [0, 1]) await app.store.session('s').append({ role: 'user', content: textOf(i, 7 * MEBIBYTE) })
  const { result } = await app.get('/sessions/s/messages')
  expect(contentsOf({ result } as Answered)).toEqual([1])
  expect(result.more).toBe(true)
})

test('a tool result on another page than its call has the name of the call', async () => {
  const app = await Application.open()
  const session = app.store.session('s')
  const call = { id: 'c', type: 'function', function: { name: 'read_file', arguments: '{}' } }
  await session.append({ role: 'assistant', content: null, tool_calls: [call] })
  for (const id of ['c', 'd']) await session.append({ role: 'tool', tool_call_id: id, content: textOf(0, 5 * MEBIBYTE) })
  const { result } = await app.get('/sessions/s/tool-results')
  expect(result.tool_results.map(({ tool_name }: { tool_name: string }) => tool_name)).toEqual(['tool', 'read_file'])
  expect((await app.get('/sessions/s/tool-results/c?limit=10')).result.metadata.tool_name).toBe('read_file')
})

test('a list of sessions with much metadata continues where a page ends', async () => {
  const app = await Application.open()
  for (let i = 0; i < 150; i++) await app.store.create({ id: `s${i}`, metadata: { text: 'x'.repeat(60_000) } })
  const ids = new Set<string>()
  let pages = 0
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const page: Answered = await app.get(`/sessions?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expect(JSON.stringify(page.result).length).toBeLessThan(CALLER_LIMITS.pageBytes + 100_000)
    for (const { session_id } of page.result) ids.add(session_id)
    cursor = page.headers.get('x-next-cursor')
  }
  expect(ids.size).toBe(150)
  expect(pages).toBe(3)
})

test('an entry that is put again between two pages is not missed, and one that was removed is not shown again', async () => {
  const app = await Application.open()
  const session = app.store.session('e')
  for (let i = 0; i < 6; i++) await session.putEntries([{ channel: 'c', key: `k${i}`, value: i }])
  const first = await session.entryPage('c', { limit: 2 })
  expect(first.entries.map(({ key }) => key)).toEqual(['k5', 'k4'])
  await session.putEntries([{ channel: 'c', key: 'k2', value: 'again' }])
  await session.putEntries([{ channel: 'c', key: 'k1' }])
  const rest = await session.entryPage('c', { cursor: first.cursor })
  expect(rest.entries.map(({ key }) => key)).toContain('k2')
  expect(rest.entries.map(({ key }) => key)).not.toContain('k5')
  // An older value of an entry that the first page had.
  await session.putEntries([{ channel: 'd', key: 'a', value: 1 }])
  await session.putEntries([{ channel: 'd', key: 'b', value: 1 }])
  await session.putEntries([{ channel: 'd', key: 'a', value: 2 }])
  const newest = await session.entryPage('d', { limit: 1 })
  expect(newest.entries).toMatchObject([{ key: 'a', value: 2 }])
  expect((await session.entryPage('d', { cursor: newest.cursor })).entries).toMatchObject([{ key: 'b' }])
})

test('a forged cursor is refused, and shows no other message', async () => {
  const app = await Application.open()
  const session = app.store.session('s')
  await session.append({ role: 'user', content: 'a' }, { ids: ['a'] })
  await session.append({ role: 'user', content: 'b' }, { ids: ['b'] })
  await session.replace('a', { role: 'user', content: 'secret of a' })
  await session.replace('b', { role: 'user', content: 'b2' })
  await session.putEntries([{ channel: 'c', key: 'k', value: 1 }])
  const cursor = (of: unknown, place: unknown): string => Buffer.from(JSON.stringify([of, place])).toString('base64url')
  const { records } = await session.recordPage()
  for (const { position } of records) {
    for (const path of [
      `/sessions/s/messages/b/revisions?cursor=${cursor(['revisions', 'b'], ['s', position])}`,
      `/sessions/s/entries?channel=c&cursor=${cursor(['entries', 'c'], [position, 0, position])}`,
    ]) {
      const { status, result } = await app.get(path)
      expect([200, 410], path).toContain(status)
      expect(JSON.stringify(result ?? '')).not.toContain('secret')
    }
  }
  for (const bad of ['x', cursor(['revisions', 'a'], []), cursor(['entries', 'c'], ['a', 0, 0]), cursor(['entries', 'c'], [1e9, 0, 0])]) {
    expect((await app.get(`/sessions/s/entries?channel=c&cursor=${bad}`)).status).toBeOneOf([200, 410])
    expect((await app.get(`/sessions/s/messages/b/revisions?cursor=${bad}`)).status).toBe(410)
  }
})
