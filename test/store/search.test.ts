import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { SearchHit, SearchOptions } from '../../src/store/search.ts'
import type { Store } from '../../src/store/store.ts'

let store: Store
let now = Date.UTC(2026, 0, 1)
const clock: Clock = { ...systemClock, now: () => now++ }

beforeEach(async () => {
  store = await openStore('memory:', { clock })
})

afterEach(() => store.close())

async function append(session: string, ...messages: object[]): Promise<void> {
  await store.session<object>(session).append(messages)
}

async function hits(words: string, options: SearchOptions = {}): Promise<readonly SearchHit[]> {
  const { hits: found, lag } = await store.search(words, options)
  expect(lag).toBeNull()
  return found
}

/** Which messages were found. */
async function found(words: string, options: SearchOptions = {}): Promise<(string | null)[]> {
  return (await hits(words, options)).map(({ message }) => message)
}

function marked({ snippet, marks }: SearchHit): string[] {
  return marks.map(([from, to]) => snippet.slice(from, to))
}

describe('a word is found in every shape of message', () => {
  test.each([
    ['plain', { role: 'user', content: 'a zebra here' }],
    ['text', { role: 'user', text: 'a zebra here' }],
    ['OpenAI parts', { role: 'user', content: [{ type: 'text', text: 'a zebra here' }] }],
    ['an OpenAI tool result', { role: 'tool', tool_call_id: 'c', content: 'a zebra here' }],
    ['an OpenAI call', { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'find', arguments: '{"what":"zebra"}' } }] }],
    [
      'Anthropic',
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a zebra' },
          { type: 'tool_use', id: 't', name: 'f', input: {} },
        ],
      },
    ],
    ['an Anthropic result', { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'a zebra' }] }],
    ['the AI SDK', { role: 'user', parts: [{ type: 'text', text: 'a zebra here' }] }],
    ['OpenViking', { role: 'user', parts: [{ type: 'context', uri: 'x', abstract: 'a zebra' }] }],
  ])('%s', async (_, message) => {
    await append('s', { ...message, id: 'm' }, { role: 'user', content: 'something else' })
    const [hit, ...more] = await hits('zebra')
    expect(more).toEqual([])
    expect(hit).toMatchObject({ kind: 'message', session: 's', message: 'm' })
    expect(marked(hit as SearchHit)).toEqual(['zebra'])
  })
})

test('all words must be there, in any form; a phrase stands in a row; a star stands for the rest of a word', async () => {
  await append(
    's',
    { id: 'a', content: 'The parcels were delivered yesterday' },
    { id: 'b', content: 'Yesterday was fine' },
    { id: 'c', content: 'A parcel, delivered late' },
  )
  expect((await found('parcel delivering')).sort()).toEqual(['a', 'c'])
  expect(await found('parcel yesterday')).toEqual(['a'])
  expect(await found('"delivered yesterday"')).toEqual(['a'])
  expect(await found('"yesterday delivered"')).toEqual([])
  expect((await found('yest*')).sort()).toEqual(['a', 'b'])
  expect(await found('nothing')).toEqual([])
})

test.each([
  ['绿', '我喜欢喝绿茶', '我喜欢咖啡'],
  ['绿茶', '我喜欢喝绿茶', '绿色的红茶'],
  ['データ', 'データベースを移行する', '今日は天気がいい'],
  ['커피', '저는 커피를 좋아해요', '저는 차를 마셔요'],
  ['react', '我用React写页面', '我用Vue写页面'],
  ['cafe', 'Wir treffen uns im Café.', 'Wir treffen uns nie.'],
  ['ПРИВЕТ', 'привет, мир', 'пока'],
  ['src/store/list.ts', 'look into src/store/list.ts', 'look into src/list/store.ts'],
  ['get_user_by_id', 'call get_user_by_id now', 'get the user'],
  ['C++ 17', 'written in C++ 17', 'written in C'],
])('%s finds %s, not %s', async (words, match, other) => {
  await append('s', { id: 'match', content: match }, { id: 'other', content: other })
  const all = await hits(words)
  expect(all.map(({ message }) => message)).toEqual(['match'])
  expect(all[0]?.marks.length).toBeGreaterThan(0)
  expect(all[0]?.snippet).toBe(match)
})

test('what a query could mean to SQLite is just text', async () => {
  await append('s', { id: 'a', content: 'text AND marks OR NEAR' }, { id: 'b', content: 'it\'s a "quoted" (word) * - ^ : { }' })
  expect(await found('AND')).toEqual(['a'])
  expect(await found('NEAR( OR')).toEqual(['a'])
  expect(await found('"quoted" (word)')).toEqual(['b'])
  expect(await found("it's")).toEqual(['b'])
  expect(await found('marks:s1')).toEqual([])
  await expect(store.search('* -')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('filters: session, role, tag, owner, time, kind, archived', async () => {
  await store.create<object>({ id: 'one', tags: ['t'], owner: 'ann' })
  await append('one', { id: 'u', role: 'user', content: 'apple' }, { id: 'a', role: 'assistant', content: 'apple' })
  const between = new Date(now)
  await append('two', { id: 'x', role: 'user', content: 'apple' })
  await store.session<object>('two').describe({ title: 'apple pie', addTags: ['apple'] })
  const messages = { kinds: ['message'] } as const
  expect((await found('apple', { ...messages, session: 'one' })).sort()).toEqual(['a', 'u'])
  expect((await found('apple', { role: 'user' })).sort()).toEqual(['u', 'x'])
  expect((await found('apple', { tag: 't' })).sort()).toEqual(['a', 'u'])
  expect((await found('apple', { owner: 'ann', role: 'assistant' })).sort()).toEqual(['a'])
  expect(await found('apple', { ...messages, from: between })).toEqual(['x'])
  expect((await found('apple', { ...messages, to: between })).sort()).toEqual(['a', 'u'])
  expect(await hits('apple', { kinds: ['session'] })).toMatchObject([
    { kind: 'session', session: 'two', title: 'apple pie', message: null },
  ])
  expect(await found('apple', { session: 'nowhere' })).toEqual([])
  expect(await found('apple', { limit: 1 })).toHaveLength(1)
  await store.session<object>('one').commit({ keep: 1 })
  expect(await found('apple', { archived: true })).toEqual(['u'])
  expect((await found('apple', { archived: false })).sort()).toEqual(['a', 'x'])
  await expect(store.search('a', { kinds: ['songs' as 'message'] })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('what is not on the branch is not found; it comes back with an undo', async () => {
  const session = store.session<object>('s')
  await session.append({ content: 'first' }, { ids: ['first'] })
  await session.append({ content: 'wrong turn' }, { ids: ['wrong'] })
  expect(await found('wrong')).toEqual(['wrong'])
  await session.revert({ message: 'first' })
  expect(await found('wrong')).toEqual([])
  await session.append({ content: 'right turn' }, { ids: ['right'] })
  expect(await found('turn')).toEqual(['right'])
  await session.undo()
  expect(await found('turn')).toEqual(['wrong'])
})

test('a message with other content is found by that, and shown with it', async () => {
  const session = store.session<object>('s')
  await session.append([{ content: 'old words' }, { content: 'more' }], { ids: ['m', 'n'] })
  expect(await found('old')).toEqual(['m'])
  await session.replace('m', { content: 'new sentence' })
  expect(await found('old')).toEqual([])
  const [hit] = await hits('sentence')
  expect(hit).toMatchObject({ message: 'm', snippet: 'new sentence' })
})

test('a deleted session is not found; restored it is; begun anew, nothing of what it was', async () => {
  const session = store.session<object>('s')
  await session.append({ content: 'needle' }, { ids: ['m'] })
  await session.delete()
  expect(await found('needle')).toEqual([])
  await session.restore()
  expect(await found('needle')).toEqual(['m'])
  await session.delete()
  await store.create<object>({ id: 's' })
  await session.append({ content: 'other' }, { ids: ['m'] })
  expect(await found('needle')).toEqual([])
  expect(await found('other')).toEqual(['m'])
})

test('in a fork, what it inherited is found too, and nothing that came later in its parent', async () => {
  const parent = store.session<object>('parent')
  await parent.append({ content: 'shared needle' }, { ids: ['a'] })
  const fork = await parent.fork({ id: 'fork' })
  await parent.append({ content: 'needle of the parent' }, { ids: ['b'] })
  await fork.append({ content: 'needle of the fork' }, { ids: ['c'] })
  expect((await found('needle', { session: 'fork' })).sort()).toEqual(['a', 'c'])
  expect((await found('needle', { session: 'parent' })).sort()).toEqual(['a', 'b'])
  expect((await found('needle')).sort()).toEqual(['a', 'b', 'c'])
  await parent.delete()
  expect((await found('needle', { session: 'fork' })).sort()).toEqual(['a', 'c'])
  expect(await found('needle')).toEqual(['c'])
})

test('spaces do not find each other', async () => {
  await append('s', { id: 'a', content: 'needle' })
  await store.in('other').session<object>('s').append({ id: 'b', content: 'needle' })
  expect(await found('needle')).toEqual(['a'])
  expect((await store.in('other').search('needle')).hits.map(({ message }) => message)).toEqual(['b'])
})

test('summaries and memories are found, until they are retracted or others take their place', async () => {
  const session = await store.create<object>({ id: 'trip', owner: 'kim' })
  await session.append([
    { role: 'user', content: 'Please plan a trip to Oslo. I prefer trains.' },
    { role: 'assistant', content: 'Booked the night train.' },
  ])
  await session.commit()
  await new Worker(store).drain()
  expect(await hits('Oslo', { kinds: ['summary'] })).toMatchObject([{ kind: 'summary', session: 'trip', archive: 1 }])
  expect(await hits('prefer', { kinds: ['memory'] })).toMatchObject([{ kind: 'memory', session: 'trip', archive: 1, message: null }])
  expect(await store.memories({ owner: 'kim', query: 'train' })).toMatchObject([{ text: 'I prefer trains' }])
  await session.retractMemories(1)
  expect(await hits('prefer', { kinds: ['memory'] })).toEqual([])
  expect(await hits('Oslo', { kinds: ['summary'] })).toHaveLength(1)
})

test('of texts that match alike, the newer one is better; rare words count more than common ones', async () => {
  now = Date.UTC(2025, 0, 1)
  await append('s', { id: 'old', content: 'lost parcel' })
  now = Date.UTC(2026, 0, 1)
  await append('s', { id: 'new', content: 'lost parcel' })
  expect(await found('parcel')).toEqual(['new', 'old'])
  const scores = (await hits('parcel')).map(({ score }) => score)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
})

test('a snippet is cut around the hits, on one line', async () => {
  await append('s', { id: 'm', content: `${'before '.repeat(100)}\nthe needle\nand ${'after '.repeat(100)}` })
  const [hit] = await hits('needle')
  expect(hit?.snippet.length).toBeLessThan(220)
  expect(hit?.snippet).toMatch(/^….* the needle and .*…$/)
  expect(marked(hit as SearchHit)).toEqual(['needle'])
})

test('tool output is found up to a limit', async () => {
  await append('s', { id: 'm', role: 'tool', tool_call_id: 'c', content: `early ${'x '.repeat(5000)} late` })
  expect(await found('early')).toEqual(['m'])
  expect(await found('late')).toEqual([])
})

test('stats count sessions, messages, tokens, tasks, usage and days', async () => {
  now = Date.UTC(2026, 2, 1)
  await append('a', { content: 'one' }, { content: 'two' })
  await store.session<object>('a').recordUsage({ model: 'm', inputTokens: 3, outputTokens: 4 })
  await store.session<object>('a').commit({ keep: 1 })
  now = Date.UTC(2026, 2, 2)
  await append('b', { content: 'three' })
  await append('gone', { content: 'four' })
  await store.session<object>('gone').delete()
  const { bytes, tokens, ...stats } = await store.stats()
  expect(bytes).toBeGreaterThan(500)
  expect(tokens).toBeGreaterThan(10)
  expect(stats).toMatchObject({
    sessions: { ok: 2, damaged: 0, unreadable: 0, deleted: 1 },
    messages: { live: 2, archived: 1 },
    tasks: { pending: 1, running: 0, completed: 0, failed: 0, cancelled: 0 },
    usage: [{ model: 'm', calls: 1, inputTokens: 3, outputTokens: 4 }],
    days: [
      { day: '2026-03-01', sessions: 1, messages: 2 },
      { day: '2026-03-02', sessions: 1, messages: 1 },
    ],
    lag: null,
  })
})

test('between two hits whatever else waits has its turn', async () => {
  await append('s', ...Array.from({ length: 50 }, (_, i) => ({ role: 'user', content: `zebra ${i}` })))
  await found('zebra')
  let [turns, over] = [0, false]
  const count = (): void => {
    turns++
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  expect(await found('zebra', { limit: 50 })).toHaveLength(50)
  over = true
  expect(turns).toBeGreaterThanOrEqual(50)
})
