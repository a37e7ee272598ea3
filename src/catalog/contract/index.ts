/**
 * The contract of the catalog port, as cases that run on every implementation of it.
 *
 *     catalogContract(test, async () => ({ catalog: await openMine(), second: () => openMineOnceMore() }))
 */
import assert from 'node:assert/strict'
import type { Catalog, ListQuery, SearchQuery, SessionPut } from '../../engine/catalog.ts'
import { parseQuery } from '../../message/words.ts'
import { message, next, row, SPACE, text } from './rows.ts'

export interface OpenedCatalog {
  readonly catalog: Catalog
  /** The same catalog, as another process would have it. */
  second(): Promise<Catalog>
}

type TestFunction = (name: string, run: () => Promise<void>) => unknown

export function catalogContract(test: TestFunction, open: () => Promise<OpenedCatalog>): void {
  for (const [name, run] of Object.entries(CASES)) test(name, async () => run(await open()))
}

const LIST: ListQuery = { space: SPACE, words: [], metadata: {}, times: 'updated', order: 'updated', limit: 100 }

async function ids(catalog: Catalog, query: Partial<ListQuery> = {}): Promise<string[]> {
  return (await catalog.list({ ...LIST, ...query })).map(({ id }) => id)
}

async function found(catalog: Catalog, words: string, query: Partial<SearchQuery> = {}): Promise<string[]> {
  const kinds = ['message', 'session', 'summary', 'memory'] as const
  const documents = await catalog.search({ space: SPACE, text: parseQuery(words), kinds, now: Date.UTC(2026, 0, 2), limit: 100, ...query })
  return documents.map(({ session, kind, position }) => `${session} ${kind} ${position}`).sort()
}

const CASES: Readonly<Record<string, (opened: OpenedCatalog) => Promise<void>>> = {
  'a catalog begins empty': async ({ catalog }) => {
    assert.equal(await catalog.cursor(), null)
    assert.deepEqual(await ids(catalog), [])
    assert.deepEqual(await found(catalog, 'apple'), [])
    assert.equal(await catalog.lag(), null)
    assert.deepEqual(await catalog.known(['x']), [undefined])
  },

  'what is put is seen by others at once': async ({ catalog, second }) => {
    const other = await second()
    assert.deepEqual(await catalog.put([row('a')]), [])
    assert.deepEqual(await ids(other), ['a'])
    await other.close()
  },

  'a row is taken only if what it was made for still holds': async ({ catalog }) => {
    const first = row('a', { title: 'first' })
    const [second, rival] = [next(first, { title: 'second' }), next(first, { title: 'rival' })]
    assert.deepEqual(await catalog.put([first]), [])
    assert.deepEqual(await catalog.put([row('a', { title: 'as if new' })]), ['name of a'])
    assert.deepEqual(await catalog.put([second]), [])
    assert.deepEqual(await catalog.put([rival]), ['name of a'])
    assert.deepEqual(await catalog.put([first]), ['name of a'])
    assert.deepEqual(await catalog.put([next(row('unknown'))]), ['name of unknown'])
    assert.deepEqual(await ids(catalog, { words: ['second'] }), ['a'])
    const [known] = await catalog.known(['name of a'])
    assert.deepEqual(known?.mark, second.mark)
  },

  'one row that is refused keeps no other from being put': async ({ catalog }) => {
    await catalog.put([row('a')])
    assert.deepEqual(await catalog.put([row('a'), row('b')]), ['name of a'])
    assert.deepEqual(await ids(catalog), ['a', 'b'])
  },

  'the cursor moves on only from where it was thought to be': async ({ catalog }) => {
    await catalog.advance(null, 'one')
    await catalog.advance(null, 'other')
    assert.equal(await catalog.cursor(), 'one')
    await catalog.advance('zero', 'two')
    assert.equal(await catalog.cursor(), 'one')
    await catalog.advance('one', 'two')
    assert.equal(await catalog.cursor(), 'two')
  },

  'what is forgotten is gone, rows and texts': async ({ catalog }) => {
    const a = row('a', { tags: ['t'], usage: [{ model: 'm', calls: 1, inputTokens: 1, outputTokens: 1 }] })
    await catalog.put([a, row('b')])
    await catalog.putText([text(a, [message(10, 'apple')])])
    await catalog.forget(['name of a', 'name of nobody'])
    assert.deepEqual(await ids(catalog), ['b'])
    assert.deepEqual(await found(catalog, 'apple'), [])
    assert.deepEqual((await catalog.stats(SPACE)).usage, [])
    assert.deepEqual(await catalog.names(), ['name of b'])
  },

  'lists: orders, pages, counts': async ({ catalog }) => {
    const at = (day: number): string => `2026-01-0${day}T00:00:00.000Z`
    await catalog.put([
      row('a', { createdAt: at(1), updatedAt: at(4), title: 'Zebra' }),
      row('b', { createdAt: at(2), updatedAt: at(3), title: 'apple' }),
      row('c', { createdAt: at(3), updatedAt: at(3), title: null }),
      row('elsewhere', { space: 'other' }),
    ])
    assert.deepEqual(await ids(catalog), ['a', 'b', 'c'])
    assert.deepEqual(await ids(catalog, { order: 'created' }), ['c', 'b', 'a'])
    assert.deepEqual(await ids(catalog, { order: 'title' }), ['c', 'b', 'a'])
    for (const order of ['updated', 'created', 'title'] as const) {
      const whole = await catalog.list({ ...LIST, order })
      for (const [index, place] of whole.entries()) {
        const rest = await ids(catalog, { order, after: { by: place.by, id: place.id } })
        assert.deepEqual(
          rest,
          whole.slice(index + 1).map(({ id }) => id),
        )
      }
    }
    assert.deepEqual(await ids(catalog, { from: at(4) }), ['a'])
    assert.deepEqual(await ids(catalog, { to: at(4) }), ['b', 'c'])
    assert.deepEqual(await ids(catalog, { times: 'created', from: at(2), to: at(3) }), ['b'])
    assert.equal(await catalog.count(LIST), 3)
  },

  'lists: filters': async ({ catalog }) => {
    const usage = [{ model: 'm', calls: 1, inputTokens: 2, outputTokens: 3 }]
    await catalog.put([
      row('a', { title: 'Lost Parcel', tags: ['x', 'y'], owner: 'ann', workspace: '/w', usage }),
      row('b', { parent: 'a', metadata: { plan: { q: [1], p: 'long '.repeat(100) }, n: 1 } }),
      row('c', { status: 'deleted', tags: ['x'] }),
      row('d', { status: 'damaged' }),
    ])
    assert.deepEqual(await ids(catalog), ['a', 'b', 'd'])
    assert.deepEqual(await ids(catalog, { tag: 'x' }), ['a'])
    assert.deepEqual(await ids(catalog, { tag: 'x', status: 'deleted' }), ['c'])
    assert.deepEqual(await ids(catalog, { status: 'damaged' }), ['d'])
    assert.deepEqual(await ids(catalog, { owner: 'ann', workspace: '/w' }), ['a'])
    assert.deepEqual(await ids(catalog, { parent: 'a' }), ['b'])
    assert.deepEqual(await ids(catalog, { model: 'm' }), ['a'])
    assert.deepEqual(await ids(catalog, { words: ['parc', 'y'] }), ['a'])
    assert.deepEqual(await ids(catalog, { metadata: { n: 1, plan: { p: 'long '.repeat(100), q: [1] } } }), ['b'])
    assert.deepEqual(await ids(catalog, { metadata: { n: '1' } }), [])
  },

  'any text comes back as it was': async ({ catalog }) => {
    const odd = 'NUL \0, escapes \ue000 \ue0000, emoji 🦊, "quotes" and %_'
    await catalog.put([row(odd, { owner: odd, tags: [odd], title: odd, info: { id: odd, tags: [odd] } })])
    const [listed] = await catalog.list({ ...LIST, owner: odd, tag: odd, words: [odd.toLowerCase()] })
    assert.equal(listed?.id, odd)
    assert.deepEqual(listed?.info, { id: odd, tags: [odd] })
  },

  'text is behind until it is put, and is put once': async ({ catalog }) => {
    const a = row('a')
    await catalog.put([a])
    assert.deepEqual(await catalog.backlog(10), ['name of a'])
    assert.deepEqual(await catalog.lag(SPACE), { sessions: 1, bytes: 100 })
    const put = text(a, [message(10, 'apple'), message(20, 'pear')], { days: [{ day: '2026-01-01', messages: 2, tokens: 5 }] })
    await catalog.putText([put])
    await catalog.putText([put])
    assert.deepEqual(await catalog.backlog(10), [])
    assert.equal(await catalog.lag(), null)
    assert.deepEqual(await found(catalog, 'apple'), ['a message 10'])
    assert.deepEqual((await catalog.stats(SPACE)).days, [{ day: '2026-01-01', sessions: 1, messages: 2, tokens: 5 }])
  },

  'text of what was forgotten meanwhile is not put': async ({ catalog }) => {
    const a = row('a')
    await catalog.put([a])
    await catalog.put([next(a, { rebuilt: true, born: 50 })])
    await catalog.putText([text(a, [message(10, 'apple')])])
    assert.deepEqual(await found(catalog, 'apple'), [])
    const [known] = await catalog.known(['name of a'])
    await catalog.putText([text(a, [message(60, 'apple')], { basedOn: { generation: known?.generation ?? 0, end: 0 } })])
    assert.deepEqual(await found(catalog, 'apple'), ['a message 60'])
  },

  'messages leave the branch and come back, enter archives, and get other content': async ({ catalog }) => {
    const a = row('a')
    await catalog.put([a])
    await catalog.putText([text(a, [message(10, 'apple'), message(20, 'apple'), message(30, 'apple')])])
    const later = (from: number, given: object): Parameters<Catalog['putText']>[0] => [
      text(a, [], { basedOn: { generation: 0, end: from }, text: { end: from + 100, at: 0, crc: '' }, ...given }),
    ]
    const stretch = { run: 0, from: 2, to: 4, first: 0, last: 100 }
    await catalog.putText(later(100, { left: [stretch] }))
    assert.deepEqual(await found(catalog, 'apple'), ['a message 10'])
    await catalog.putText(later(200, { back: [stretch] }))
    await catalog.putText(later(300, { archives: [{ archive: 1, stretches: [{ ...stretch, from: 0, to: 2 }] }] }))
    assert.deepEqual(await found(catalog, 'apple', { archived: true }), ['a message 10'])
    assert.deepEqual(await found(catalog, 'apple', { archived: false }), ['a message 20', 'a message 30'])
    await catalog.putText(later(400, { messages: [message(20, 'pear', { source: 450 })] }))
    assert.deepEqual(await found(catalog, 'apple'), ['a message 10', 'a message 30'])
    assert.deepEqual(await found(catalog, 'pear'), ['a message 20'])
  },

  'search: sessions, roles, kinds, tags, owners, times, spaces': async ({ catalog }) => {
    const rows: SessionPut[] = [
      row('a', { tags: ['t'], owner: 'ann', title: 'apple cake' }),
      row('b'),
      row('gone', { status: 'deleted' }),
      row('x', { space: 'other' }),
    ]
    await catalog.put(rows)
    await catalog.putText(rows.map((one) => text(one, [message(10, 'apple'), message(20, 'apple', { role: 'assistant' })])))
    assert.deepEqual(await found(catalog, 'apple', { session: 'b' }), ['b message 10', 'b message 20'])
    assert.deepEqual(await found(catalog, 'apple', { role: 'assistant' }), ['a message 20', 'b message 20'])
    assert.deepEqual(await found(catalog, 'apple', { kinds: ['session'] }), ['a session 0'])
    assert.deepEqual(await found(catalog, 'apple', { tag: 't', kinds: ['message'] }), ['a message 10', 'a message 20'])
    assert.deepEqual(await found(catalog, 'apple', { owner: 'ann', role: 'user' }), ['a message 10'])
    assert.deepEqual(await found(catalog, 'apple', { to: Date.UTC(2026, 0, 1) + 15, kinds: ['message'] }), ['a message 10', 'b message 10'])
    assert.deepEqual(await found(catalog, 'apple', { space: 'other' }), ['x message 10', 'x message 20'])
    assert.deepEqual(await found(catalog, 'apple', { session: 'gone' }), [])
  },

  'search: words, forms, phrases, beginnings, scripts without spaces': async ({ catalog }) => {
    const a = row('a')
    await catalog.put([a])
    await catalog.putText([text(a, [message(10, 'The parcels arrived'), message(20, 'A lost parcel'), message(30, '我喜欢喝绿茶')])])
    assert.deepEqual(await found(catalog, 'parcel'), ['a message 10', 'a message 20'])
    assert.deepEqual(await found(catalog, '"lost parcel"'), ['a message 20'])
    assert.deepEqual(await found(catalog, 'arri*'), ['a message 10'])
    assert.deepEqual(await found(catalog, '茶'), ['a message 30'])
    assert.deepEqual(await found(catalog, '茶绿'), [])
  },

  'search: a message that got other content is found by that, also if both are put at once': async ({ catalog }) => {
    const a = row('a')
    await catalog.put([a])
    await catalog.putText([text(a, [message(10, 'first draft'), message(20, 'between'), message(10, 'corrected', { source: 30 })])])
    assert.deepEqual(await found(catalog, 'corrected'), ['a message 10'])
    assert.deepEqual(await found(catalog, 'draft'), [])
    assert.deepEqual(await found(catalog, 'between'), ['a message 20'])
  },

  'tasks, due work, and what archives have extracted': async ({ catalog }) => {
    const task = { archive: 1, task: 't1', status: 'pending', attempts: 0, createdAt: '1', updatedAt: '1', ended: null } as const
    const memory = (key: string) => ({ id: `id of ${key}`, key, category: 'fact', text: `${key} is known`, sources: ['m'] })
    const a = row('a', { due: true, tasks: [task] })
    await catalog.put([a, row('b', { tasks: [{ ...task, task: 't2', createdAt: '2', status: 'failed' }] })])
    assert.deepEqual(await catalog.due(), ['name of a'])
    const tasks = async (status?: 'pending' | 'failed' | 'completed') =>
      (await catalog.tasks({ space: SPACE, newestFirst: true, limit: 10, ...(status === undefined ? {} : { status }) })).map(
        (one) => one.task,
      )
    assert.deepEqual(await tasks(), ['t2', 't1'])
    assert.deepEqual(await tasks('failed'), ['t2'])
    const summary = {
      archive: 1,
      position: 150,
      at: '3',
      text: 'a summary of tea',
      owner: 'ann',
      memories: [memory('tea'), memory('milk')],
    }
    const done = next(a, { due: false, tasks: [{ ...task, status: 'completed', ended: 150 }], summaries: [summary] })
    await catalog.put([done])
    assert.deepEqual(await catalog.due(), [])
    assert.deepEqual(await tasks('completed'), ['t1'])
    assert.deepEqual(await found(catalog, 'tea'), ['a memory 150', 'a summary 150'])
    const extracted = (await catalog.extractions(SPACE, 'ann')).map(({ memory: { key } }) => key)
    assert.deepEqual(extracted, ['tea', 'milk'])
    assert.deepEqual(await catalog.extractions(SPACE, null), [])
    assert.equal((await catalog.extractions(SPACE, 'ann', ['milk'])).length, 1)
    await catalog.put([next(done, { retracted: [1] })])
    assert.deepEqual(await catalog.extractions(SPACE, 'ann'), [])
    assert.deepEqual(await found(catalog, 'tea'), ['a summary 150'])
  },

  'those that could not be read are told, to be looked at again': async ({ catalog }) => {
    const unread = { end: -1, crc: '' }
    await catalog.put([row('a', { status: 'unreadable', mark: unread }), row('b', { status: 'damaged' })])
    assert.deepEqual(await catalog.unreadable(), ['name of a'])
    assert.deepEqual(
      (await catalog.known(['name of a', 'name of b'])).map((known) => known?.status),
      ['unreadable', 'damaged'],
    )
    assert.deepEqual(await catalog.put([row('a', { basedOn: unread })]), [])
    assert.deepEqual(await catalog.unreadable(), [])
  },
}
