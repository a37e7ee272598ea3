import { describe, expect, test } from 'vitest'
import { branchTo, count } from './branch.ts'
import { inheritedFrom, pastUpTo } from './lineage.ts'
import { INITIAL, type Past, type SessionState } from './state.ts'

const run = { at: 100, n: 0, t: 0, parent: null }
/** Six messages in one run, the last two of them on a branch that was left. */
const parent: SessionState = {
  ...INITIAL,
  status: 'live',
  version: '900-aa',
  born: 2,
  runs: [run, { at: 700, n: 3, t: 30, parent: [300, 0] }],
  tip: [700, 1],
  head: { at: [700, 1], n: 5, t: 50 },
}

function forkOf(session: string, state: SessionState, depth: number): SessionState {
  const point = depth > (state.past.at(-1)?.to ?? 0) ? { ...state.head, n: depth } : { at: null, n: depth, t: depth }
  const { past = [], tokens = 0, replaced = 0 } = inheritedFrom(session, state, point)
  return { ...INITIAL, past, replaced, head: { at: null, n: past.at(-1)?.to ?? 0, t: tokens } }
}

describe('a fork', () => {
  test('begins with the branch of its parent, piece by piece, as far as its parent had come', () => {
    const { past, tokens } = inheritedFrom('parent', parent, parent.head)
    expect(tokens).toBe(50)
    expect(past).toEqual([
      { run: 100, from: 0, to: 3, first: 100, last: 300, session: 'parent', born: 2, end: 900 },
      { run: 700, from: 3, to: 5, first: 700, last: 700, session: 'parent', born: 2, end: 900 },
    ])
  })

  test('at the beginning of a session has no past', () => {
    expect(inheritedFrom('parent', parent, { at: null, n: 0, t: 0 }).past).toEqual([])
  })

  test('of a fork has what both of them hold', () => {
    const fork = forkOf('parent', parent, 5)
    const grown: SessionState = {
      ...fork,
      version: '60-bb',
      runs: [{ at: 40, n: 5, t: 50, parent: null }],
      tip: [40, 1],
      head: { at: [40, 1], n: 7, t: 70 },
    }
    const second = forkOf('fork', grown, 7)
    expect(second.past.map(({ session, from, to }) => [session, from, to])).toEqual([
      ['parent', 0, 3],
      ['parent', 3, 5],
      ['fork', 5, 7],
    ])
    expect(count(branchTo(second, second.head))).toBe(7)
    expect(forkOf('fork', grown, 4).past.map(({ session, from, to }) => [session, from, to])).toEqual([
      ['parent', 0, 3],
      ['parent', 3, 4],
    ])
  })

  test('of a fork that replaced messages which it had inherited knows of it, though none of its own are on the branch', () => {
    const fork: SessionState = { ...forkOf('parent', parent, 5), replaced: 1, version: '60-bb' }
    const second = forkOf('fork', fork, 4)
    expect(second).toMatchObject({ replaced: 1, head: { n: 4 } })
    expect(second.past.map(({ session, from, to }) => [session, from, to])).toEqual([
      ['parent', 0, 3],
      ['parent', 3, 4],
      ['fork', 4, 4],
    ])
    expect(count(branchTo(second, second.head))).toBe(4)
    const third = forkOf('second', { ...second, version: '9-cc' }, 2)
    expect(third.past.map(({ session, from, to }) => [session, from, to])).toEqual([
      ['parent', 0, 2],
      ['parent', 2, 2],
      ['fork', 2, 2],
      ['second', 2, 2],
    ])
    expect(third.head.n).toBe(2)
  })

  test('inherits archives as far as its branch goes, to read and never to extract from', () => {
    const archive = {
      number: 1,
      session: null,
      task: 't',
      at: 800,
      requestedAt: '',
      takes: [{ run: 100, from: 0, to: 3, first: 100, last: 300 }],
      covers: [],
      n: 3,
      t: 30,
      status: 'completed' as const,
      attempts: 1,
      lease: null,
      waitMs: 0,
      ended: 850,
      updatedAt: '',
      retracted: false,
    }
    const { archives = [] } = inheritedFrom('parent', { ...parent, archives: [archive] }, { at: [200, 0], n: 2, t: 20 })
    expect(archives).toMatchObject([{ number: 1, session: 'parent', takes: [], covers: [{ run: -1, from: 0, to: 2 }] }])
    expect(inheritedFrom('parent', { ...parent, archives: [archive] }, { at: null, n: 0, t: 0 }).archives).toBeUndefined()
  })
})

test('a past that is cut keeps its pieces, those behind the cut empty', () => {
  const piece = (from: number, to: number): Past => ({ run: 1, from, to, first: 0, last: 9, session: 's', born: 0, end: 9 })
  expect(pastUpTo([piece(0, 3), piece(3, 5), piece(5, 9)], 4).map(({ from, to }) => [from, to])).toEqual([
    [0, 3],
    [3, 4],
    [4, 4],
  ])
})
