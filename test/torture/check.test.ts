/** Every rule catches what was planted for it, and lets a history pass that is as it should be. */
import { describe, expect, test } from 'vitest'
import { check, type Final, type Rule } from './check.ts'
import type { Flip } from './flips.ts'
import type { Strike } from './harms.ts'
import { type Call, type End, NOTHING } from './history.ts'
import { append, broken, call, conditional, describeAs, finalOf, never, read, S, sessionOf } from './planted.ts'
import { shortest } from './shrink.ts'

const CALLS = [append('a', [1, 2], ['a1']), append('b', [3, 4], ['b1', 'b2']), append('a', [5, 6], ['a2'])]
const TAGS = ['a1', 'b1', 'b2', 'a2']

describe('a history that is as it should be', () => {
  test('breaks no rule, however calls overlap, and whatever nobody was told of', () => {
    const calls = [
      ...CALLS,
      append('c', [5, never], ['c1'], { told: 'unknown' }),
      append('c', [7, never], ['c2'], { told: 'unknown' }),
      append('d', [1, 9], ['d1'], { told: 'refused', code: 'NO_SPACE' }),
      read('r', [2, 4], ['a1']),
      read('r', [4.5, 7], [...TAGS.slice(0, 3), 'c1'], 'two'),
      conditional([10, 11], 'e1', 'a2', [8, 9]),
      conditional([10, 12], 'e2', 'a2', [8, 9], { told: 'refused', code: 'CONFLICT' }),
      call('k', [12, 13], { kind: 'commit', session: S, keep: 0 }, { archive: 1 }),
      // What is under way may be read before it is announced.
      append('g', [20, 29], ['g1']),
      read('r', [21, 22], ['a1', 'b1', 'b2', 'c1', 'a2', 'e1', 'g1'], 'one'),
      call('l', [23, 24], { kind: 'list' }, { seen: [{ session: S, count: 6, digest: '', title: 'one' }] }),
      call('l', [25, 26], { kind: 'search', session: S, tag: 'g1' }, { hits: 0 }),
      describeAs([1, 3], 'one'),
      describeAs([2, 4], 'two'),
    ]
    const tags = ['a1', 'b1', 'b2', 'c1', 'a2', 'e1', 'g1']
    const final = finalOf(tags, {
      archives: [{ number: 1, tags: tags.slice(0, 2) }],
      live: tags.slice(2),
      extracted: ['a1', 'b1'],
      title: 'one',
    })
    expect(check({ ...NOTHING, calls, followed: [{ client: 'f', session: S, tags }] }, final)).toEqual([])
  })
})

test('a deleted session that another client purged on its way to create a session again breaks no rule', () => {
  const calls = [...CALLS, call('d', [7, 8], { kind: 'delete', session: S }), call('w', [9, 10], { kind: 'recreate', session: 'reborn' })]
  expect(broken(calls, finalOf([], { status: 'purged' }))).toEqual([])
})

describe('a planted violation is told', () => {
  const cases: readonly (readonly [string, Rule, readonly Call[], Final])[] = [
    ['an acknowledged message that is lost', 'acknowledged once', CALLS, finalOf(['a1', 'b1', 'b2'])],
    ['one that is there twice', 'acknowledged once', CALLS, finalOf(['a1', 'b1', 'b2', 'a2', 'a1'])],
    ['half of a batch', 'acknowledged once', [append('a', [1, never], ['x', 'y'], { told: 'unknown' })], finalOf(['x'])],
    ['one that nobody wrote', 'acknowledged once', [], finalOf(['ghost'])],
    ['one that was refused', 'refused is absent', [append('a', [1, 2], ['x'], { told: 'refused', code: 'NO_SPACE' })], finalOf(['x'])],
    ['a later one that stands before an earlier', 'one order', CALLS, finalOf(['b1', 'b2', 'a1', 'a2'])],
    ['a batch with another one inside', 'one order', [...CALLS, append('c', [1, 9], ['c'])], finalOf(['a1', 'b1', 'c', 'b2', 'a2'])],
    ['a read of another order', 'reads never go backwards', [...CALLS, read('r', [7, 8], ['b1', 'a1', 'b2', 'a2'])], finalOf(TAGS)],
    ['a read without what was acknowledged', 'reads never go backwards', [...CALLS, read('r', [7, 8], ['a1'])], finalOf(TAGS)],
    [
      'a client that sees less than before',
      'reads never go backwards',
      [append('a', [1, never], ['x'], { told: 'unknown' }), read('r', [2, 3], ['x']), read('r', [4, 5], [])],
      finalOf(['x']),
    ],
    [
      'another client that sees less than was shown before',
      'reads never go backwards',
      [append('a', [1, never], ['x'], { told: 'unknown' }), read('r', [2, 3], ['x']), read('q', [4, 5], [])],
      finalOf(['x']),
    ],
    [
      'a list without what was acknowledged',
      'reads never go backwards',
      [...CALLS, call('l', [7, 8], { kind: 'list' }, { seen: [{ session: S, count: 1, digest: '', title: null }] })],
      finalOf(TAGS),
    ],
    ['a read from the future', 'reads never go backwards', [read('r', [1, 2], ['x']), append('a', [3, 4], ['x'])], finalOf(['x'])],
    ['a read of what then is gone', 'reads never go backwards', [read('r', [1, 2], ['x'])], finalOf([])],
    ['a condition that did not hold', 'conditions hold', [...CALLS, conditional([7, 8], 'e', 'b2', [4.5, 4.7])], finalOf([...TAGS, 'e'])],
    [
      'a condition that a title had broken',
      'conditions hold',
      [append('a', [1, 2], ['a1']), describeAs([5, 6], 't'), conditional([7, 8], 'e', 'a1', [3, 4])],
      finalOf(['a1', 'e'], { title: 't' }),
    ],
    [
      'a condition that was refused for nothing',
      'conditions hold',
      [append('a', [1, 2], ['a1']), conditional([7, 8], 'e', 'a1', [3, 4], { told: 'refused', code: 'CONFLICT' })],
      finalOf(['a1']),
    ],
    [
      'a title of long ago',
      'titles are the last ones',
      [describeAs([1, 2], 'one'), describeAs([3, 4], 'two'), read('r', [5, 6], [], 'one')],
      finalOf([], { title: 'two' }),
    ],
    [
      'a title that came back',
      'titles are the last ones',
      [describeAs([1, 2], 'one'), describeAs([3, 4], 'two')],
      finalOf([], { title: 'one' }),
    ],
    [
      'a message in two archives',
      'commits are disjoint',
      [append('a', [1, 2], ['a1'])],
      finalOf(['a1'], {
        archives: [
          { number: 1, tags: ['a1'] },
          { number: 2, tags: ['a1'] },
        ],
        live: [],
      }),
    ],
    ['a message in no archive that is not live', 'commits are disjoint', [append('a', [1, 2], ['a1'])], finalOf(['a1'], { live: [] })],
    [
      'one archive for two commits',
      'commits are disjoint',
      [
        append('a', [1, 2], ['a1']),
        ...[3, 5].map((at) => call('k', [at, at + 1], { kind: 'commit', session: S, keep: 0 }, { archive: 1 })),
      ],
      finalOf(['a1'], { archives: [{ number: 1, tags: ['a1'] }], live: [] }),
    ],
    [
      'a message that was extracted twice',
      'extracted once',
      [append('a', [1, 2], ['a1'])],
      finalOf(['a1'], { archives: [{ number: 1, tags: ['a1'] }], live: [], extracted: ['a1', 'a1'] }),
    ],
    ['a session that is gone', 'only what was deleted goes', CALLS, { ...finalOf([]), sessions: new Map() }],
    [
      'one that was purged and had not been deleted',
      'only what was deleted goes',
      [...CALLS, call('p', [7, 8], { kind: 'purge' })],
      finalOf([], { status: 'purged' }),
    ],
    ['a deleted session that is back', 'deleted stays deleted', [call('d', [1, 2], { kind: 'delete', session: S })], finalOf([])],
    [
      'a late writer that was let in',
      'deleted stays deleted',
      [call('d', [1, 2], { kind: 'delete', session: S }), append('a', [3, 4], ['x'])],
      finalOf(['x'], { status: 'deleted' }),
    ],
    [
      'a fork that begins otherwise',
      'a fork is a beginning',
      [...CALLS, call('f', [7, 8], { kind: 'fork', session: S, child: 'fork' })],
      {
        ...finalOf(TAGS),
        sessions: new Map([
          [S, sessionOf(TAGS)],
          ['fork', sessionOf(['b1'], { parent: S })],
        ]),
      },
    ],
    [
      'a search that missed',
      'searches find',
      [...CALLS, call('l', [7, 8], { kind: 'search', session: S, tag: 'a1' }, { hits: 0 })],
      finalOf(TAGS),
    ],
    [
      'damage that the doctor met on the way',
      'no false alarms',
      [call('o', [1, 2], { kind: 'doctor' }, { damage: [{ session: S, what: 'rot' }] })],
      finalOf([]),
    ],
    ['a catalog that differs', 'catalog equals rebuild', [], finalOf([], {}, { catalog: ['lists differ'] })],
    ['a task that nobody finished', 'every summary is made', [], finalOf([], {}, { unfinished: ['task 1'] })],
  ]
  test.each(cases)('%s', (_, rule, calls, final) => {
    expect(broken(calls, final)).toContain(rule)
  })

  test('memories from one message in two sessions', () => {
    const twice = { archives: [{ number: 1, tags: ['a1'] }], live: [], extracted: ['a1'] }
    const sessions = new Map([
      [S, sessionOf(['a1'], twice)],
      ['fork', sessionOf(['a1'], { ...twice, parent: S })],
    ])
    expect(broken([append('a', [1, 2], ['a1'])], { ...finalOf([]), sessions })).toEqual(['extracted by one session'])
  })

  test.each([
    ['skipped one', ['a1', 'b2', 'a2']],
    ['was shown one twice', ['a1', 'b1', 'b1', 'b2', 'a2']],
    ['stopped before the end', ['a1', 'b1']],
  ])('a follower that %s', (_, tags) => {
    expect(broken(CALLS, finalOf(TAGS), { followed: [{ client: 'f', session: S, tags }] })).toEqual(['followers miss nothing'])
  })
})

describe('the ends of processes', () => {
  const rule: Rule = 'no process ends unless it was killed'
  const end: End = { place: 'server-0', code: 134, signal: null, complaint: 'abort', isRefused: false, from: 10, to: 20 }
  const unmounted: Strike = { kind: 'unmount', place: null, from: 15, to: 16 }

  test('a process that aborts breaks a rule', () => {
    expect(broken([], finalOf([]), { ends: [end] })).toEqual([rule])
    expect(broken([], finalOf([]), { ends: [end], strikes: [unmounted] })).toEqual([rule])
  })

  test('a process may be refused at its start only while its store is out of reach', () => {
    const refused = { ...end, code: 4, isRefused: true }
    expect(broken([], finalOf([]), { ends: [refused], strikes: [unmounted] })).toEqual([])
    expect(broken([], finalOf([]), { ends: [refused], strikes: [{ ...unmounted, from: 1, to: 2 }] })).toEqual([rule])
    expect(broken([], finalOf([]), { ends: [refused], strikes: [{ ...unmounted, place: 'server-1' }] })).toEqual([rule])
    expect(broken([], finalOf([]), { ends: [refused], strikes: [{ ...unmounted, kind: 'stop' }] })).toEqual([rule])
  })

  test('a file that is created in the empty directory of the store breaks a rule', () => {
    expect(broken([], finalOf([]), { stray: ['holdfast.json was created'] })).toEqual(['nothing is written without the store'])
  })
})

describe('lists of all sessions', () => {
  const rule: Rule = 'lists are complete'
  const MINUTE_US = 60_000_000
  const list = (at: readonly [number, number], ...listed: string[]): Call => call('l', at, { kind: 'list', whole: true }, { listed })
  const flip = (at: number, file: Flip['file'] = 'catalog'): Flip => ({ file, path: 'catalog.db.0', offset: 0, bit: 0, from: at, to: at })
  const lacking = [...CALLS, list([7, 8])]

  test('a list that lacks a session breaks a rule', () => {
    expect(broken(lacking, finalOf(TAGS))).toEqual([rule])
    expect(broken([...CALLS, list([7, 8], S)], finalOf(TAGS))).toEqual([])
    expect(broken([...CALLS, list([7, 8], S, S)], finalOf(TAGS))).toEqual([rule])
  })

  test('a list may lack a session that is written at the same time, or may have been deleted', () => {
    expect(broken([append('a', [1, 8], ['a1']), list([7, 9])], finalOf(['a1']))).toEqual([])
    const removal = call('d', [6, 7], { kind: 'delete', session: S })
    expect(broken([...CALLS, removal, list([7, 8])], finalOf(TAGS, { status: 'deleted' }))).toEqual([])
  })

  test('within a minute after a flip of the catalog, a list or a search may lack rows, and repeats none', () => {
    const late = [...CALLS, list([MINUTE_US + 7, MINUTE_US + 8])]
    expect(broken(lacking, finalOf(TAGS), { flips: [flip(7)] })).toEqual([])
    expect(broken(late, finalOf(TAGS), { flips: [flip(8)] })).toEqual([])
    expect(broken(late, finalOf(TAGS), { flips: [flip(6)] })).toEqual([rule])
    expect(broken(lacking, finalOf(TAGS), { flips: [flip(9)] })).toEqual([rule])
    expect(broken(lacking, finalOf(TAGS), { flips: [flip(7, 'feed')] })).toEqual([rule])
    expect(broken([...CALLS, list([7, 8], S, S)], finalOf(TAGS), { flips: [flip(7)] })).toEqual([rule])
    const search = (hits: number): Call => call('l', [7, 8], { kind: 'search', session: S, tag: 'a1' }, { hits })
    expect(broken([...CALLS, search(0)], finalOf(TAGS), { flips: [flip(7, 'catalog log')] })).toEqual([])
    expect(broken([...CALLS, search(2)], finalOf(TAGS), { flips: [flip(7)] })).toEqual(['searches find'])
  })
})

test('the shortest history that shows a violation has the two calls that contradict each other', () => {
  const others = Array.from({ length: 200 }, (_, i) => append('o', [10 + i, 10.5 + i], [`o${i}`]))
  const stale = read('r', [300, 301], ['a1'])
  const calls = [...CALLS, ...others, stale]
  const final = finalOf([...TAGS, ...others.flatMap((one) => ('tags' in one ? one.tags : []))])
  const [violation] = check({ ...NOTHING, calls }, final)
  expect(violation?.rule).toBe('reads never go backwards')
  const found = shortest({ ...NOTHING, calls }, final, violation as NonNullable<typeof violation>)
  expect(found).toHaveLength(2)
  expect(found).toContain(stale)
})
