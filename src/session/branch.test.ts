import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Counted } from '../record/fold.ts'
import { apply } from './apply.ts'
import { branchTo, common, count, isOn, isTip, PAST, runOf, samePoint, without } from './branch.ts'
import { INITIAL, type Past, type Point, type SessionState, type Stretch } from './state.ts'

/** A message as one would keep it in objects. */
interface Node {
  readonly parent: Node | undefined
  readonly point: Point
}

interface Tree {
  readonly state: SessionState
  readonly nodes: readonly Node[]
}

/** Which message a batch hangs under (the head unless told), and how many it has. */
interface Batch {
  readonly under: number | undefined
  readonly size: number
}

const PAST_LENGTH = 4
const past: readonly Past[] = [{ run: 7, from: 0, to: PAST_LENGTH, first: 7, last: 70, session: 'parent', born: 0, end: 99 }]

/** Messages of the past, then batches, each a record of its own. */
function grow(batches: readonly Batch[], inherited: boolean): Tree {
  const nodes: Node[] = []
  for (let depth = 1; inherited && depth <= PAST_LENGTH; depth++) {
    nodes.push({ parent: nodes.at(-1), point: { at: null, n: depth, t: depth } })
  }
  const root: Point = { at: null, n: 0, t: 0 }
  let state: SessionState = { ...INITIAL, past: inherited ? past : [], head: nodes.at(-1)?.point ?? root }
  let head: Node | undefined = nodes.at(-1)
  for (const [i, { under, size }] of batches.entries()) {
    const parent = under === undefined ? head : nodes[under % (nodes.length + 1)]
    const { at, n, t } = parent?.point ?? root
    const position = 100 * (i + 1)
    const run = isTip(state, at) ? { run: state.runs.at(-1) } : {}
    const record = {
      v: 1,
      id: `r${i}`,
      at: '',
      type: 'messages.appended',
      prev: '',
      messages: Array(size).fill({}),
      n,
      t,
      tokens: size,
      ...run,
    }
    const counted: Counted = {
      kind: 'counted',
      carried: false,
      record: at === null ? record : { ...record, parent: at },
      at: position,
      end: position + 90,
      crc: '0',
    }
    state = apply(state, counted)
    head = parent
    for (let index = 0; index < size; index++) {
      head = { parent: head, point: { at: [position, index], n: n + index + 1, t: t + index + 1 } }
      nodes.push(head)
    }
  }
  return { state, nodes }
}

const batches = fc.array(fc.record({ under: fc.option(fc.nat(40), { nil: undefined, freq: 2 }), size: fc.integer({ min: 1, max: 3 }) }), {
  maxLength: 25,
})
const trees = fc.tuple(batches, fc.boolean()).map(([rows, inherited]) => grow(rows, inherited))

function pathTo(node: Node | undefined): Node[] {
  const path: Node[] = []
  for (let one = node; one !== undefined; one = one.parent) path.unshift(one)
  return path
}

/** A message by what a stretch says of it: its run, and its depth. */
function nameOf({ runs }: SessionState, { at, n }: Point): string {
  return `${at === null ? PAST : runOf(runs, at)?.at}:${n}`
}

function namesIn(stretches: readonly Stretch[]): string[] {
  return stretches.flatMap(({ run, from, to }) => Array.from({ length: to - from }, (_, i) => `${run}:${from + i + 1}`))
}

describe('a branch', () => {
  test('is the way from the root to a message, and has as many messages as its depth', () => {
    fc.assert(
      fc.property(trees, fc.nat(60), ({ state, nodes }, index) => {
        const node = nodes[index % (nodes.length + 1)]
        const branch = branchTo(state, node?.point ?? { at: null, n: 0, t: 0 })
        expect(namesIn(branch)).toEqual(pathTo(node).map(({ point }) => nameOf(state, point)))
        expect(count(branch)).toBe(node?.point.n ?? 0)
      }),
    )
  })

  test('gives different messages different names, so a run and a depth are enough', () => {
    fc.assert(
      fc.property(trees, ({ state, nodes }) => {
        const names = nodes.map(({ point }) => nameOf(state, point))
        expect(new Set(names).size).toBe(names.length)
      }),
    )
  })

  test('says in which records its messages stand', () => {
    fc.assert(
      fc.property(trees, fc.nat(60), ({ state, nodes }, index) => {
        const node = nodes[index % (nodes.length + 1)]
        const branch = branchTo(state, node?.point ?? { at: null, n: 0, t: 0 })
        for (const { point } of pathTo(node)) {
          const stretch = branch.find(
            ({ run, from, to }) => `${run}:${point.n}` === nameOf(state, point) && from < point.n && point.n <= to,
          )
          if (point.at !== null) expect(point.at[0]).toSatisfy((at: number) => at >= (stretch?.first ?? 1) && at <= (stretch?.last ?? 0))
        }
      }),
    )
  })

  test('knows what lies on it', () => {
    fc.assert(
      fc.property(trees, fc.nat(60), fc.nat(60), ({ state, nodes }, to, of) => {
        if (nodes.length === 0) return
        const [node, other] = [nodes[to % nodes.length] as Node, nodes[of % nodes.length] as Node]
        const run = other.point.at === null ? PAST : (runOf(state.runs, other.point.at)?.at as number)
        expect(isOn(branchTo(state, node.point), run, other.point.n)).toBe(pathTo(node).includes(other))
      }),
    )
  })

  test('of a point whose run is not known is as much as can be told', () => {
    expect(branchTo({ runs: [], past: [] }, { at: [5, 0], n: 3, t: 3 })).toEqual([])
    expect(branchTo({ runs: [], past: [] }, { at: null, n: 3, t: 3 })).toEqual([])
  })
})

describe('stretches, taken as sets of messages', () => {
  const two = fc.tuple(trees, fc.nat(60), fc.nat(60), fc.nat(20), fc.nat(20)).map(([{ state, nodes }, a, b, from, length]) => {
    const branch = (index: number): Stretch[] => (nodes.length === 0 ? [] : branchTo(state, (nodes[index % nodes.length] as Node).point))
    // A part of the second one, as an archive would have it.
    const part = branch(b).flatMap((stretch) => {
      const [low, high] = [Math.max(stretch.from, from), Math.min(stretch.to, from + length)]
      return low < high ? [{ ...stretch, from: low, to: high }] : []
    })
    return [branch(a), part] as const
  })

  test('have in common what both have', () => {
    fc.assert(
      fc.property(two, ([a, b]) => {
        expect(namesIn(common(a, b)).sort()).toEqual(
          namesIn(a)
            .filter((name) => namesIn(b).includes(name))
            .sort(),
        )
      }),
    )
  })

  test('leave, without others, what those do not have', () => {
    fc.assert(
      fc.property(two, ([a, b]) => {
        expect(namesIn(without(a, b))).toEqual(namesIn(a).filter((name) => !namesIn(b).includes(name)))
        expect(count(common(a, b)) + count(without(a, b))).toBe(count(a))
        expect(without(a, a)).toEqual([])
        expect(without(a, [])).toEqual(a)
      }),
    )
  })

  test('may be taken away in parts', () => {
    fc.assert(
      fc.property(two, two, ([a, b], [, c]) => {
        expect(namesIn(without(without(a, b), c))).toEqual(namesIn(without(a, [...b, ...c])))
      }),
    )
  })
})

test('two points are the same if they are of one message, whatever was estimated on the way', () => {
  expect(samePoint({ at: [5, 1], n: 3, t: 3 }, { at: [5, 1], n: 3, t: 9 })).toBe(true)
  expect(samePoint({ at: [5, 1], n: 3, t: 3 }, { at: [5, 2], n: 4, t: 3 })).toBe(false)
  expect(samePoint({ at: null, n: 3, t: 3 }, { at: null, n: 2, t: 3 })).toBe(false)
  expect(samePoint({ at: null, n: 0, t: 0 }, { at: null, n: 0, t: 0 })).toBe(true)
})
