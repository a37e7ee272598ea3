/** The way from the root to a message, as stretches of runs: pure arithmetic on depths. */
import type { Address } from '../record/record.ts'
import type { Amount, Archive, Point, Run, SessionState, Stretch } from './state.ts'

/** The run of everything that a fork inherits. */
export const PAST = -1

type Tree = Pick<SessionState, 'runs' | 'past'>

/** The branch that ends at a point, from the root on. */
export function branchTo(tree: Tree, point: Point): Stretch[] {
  const stretches: Stretch[] = []
  let at = point.at
  let depth = point.n
  while (at !== null) {
    const run = runOf(tree.runs, at)
    if (run === undefined) break
    if (depth > run.n) stretches.push({ run: run.at, from: run.n, to: depth, first: run.at, last: at[0] })
    depth = Math.min(depth, run.n)
    at = run.parent
  }
  if (depth > 0 && tree.past.length > 0) stretches.push({ run: PAST, from: 0, to: depth, first: 0, last: 0 })
  return stretches.reverse()
}

/** The run that holds an address: runs lie in the journal one behind the other. */
export function runOf(runs: readonly Run[], [position]: Address): Run | undefined {
  let low = 0
  let high = runs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((runs[middle] as Run).at <= position) low = middle + 1
    else high = middle
  }
  return runs[low - 1]
}

/** Whether a message of a depth lies on a branch. */
export function isOn(branch: readonly Stretch[], run: number, depth: number): boolean {
  return branch.some((stretch) => stretch.run === run && stretch.from < depth && depth <= stretch.to)
}

/** What of these stretches also lies in the others. */
export function common(stretches: readonly Stretch[], others: readonly Stretch[]): Stretch[] {
  return stretches.flatMap((stretch) =>
    others.flatMap((other) => {
      const from = Math.max(stretch.from, other.from)
      const to = Math.min(stretch.to, other.to)
      if (stretch.run !== other.run || from >= to) return []
      return [{ ...stretch, from, to, first: Math.max(stretch.first, other.first), last: Math.min(stretch.last, other.last) }]
    }),
  )
}

/** What of these stretches lies in none of the others. Where one is cut, the positions still bound what is left. */
export function without(stretches: readonly Stretch[], others: readonly Stretch[]): Stretch[] {
  let left = [...stretches]
  for (const other of others) {
    left = left.flatMap((stretch) => {
      if (stretch.run !== other.run || other.to <= stretch.from || other.from >= stretch.to) return [stretch]
      const before = { ...stretch, to: other.from, last: Math.min(stretch.last, other.first) }
      const behind = { ...stretch, from: other.to, first: Math.max(stretch.first, other.last) }
      return [before, behind].filter(({ from, to }) => from < to)
    })
  }
  return left
}

export function count(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** Everything that these archives hold, on whatever branch. Of all archives of a session, its state knows. */
export function archivedOf(archives: readonly Archive[]): Stretch[] {
  return archives.flatMap(({ takes, covers }) => [...takes, ...covers])
}

/** The same messages in as few stretches as can be: archives follow one another, so their number does not matter. */
export function merged(stretches: readonly Stretch[]): Stretch[] {
  const sorted = [...stretches].sort((a, b) => a.run - b.run || a.from - b.from)
  const result: Stretch[] = []
  for (const stretch of sorted) {
    const last = result.at(-1)
    if (last?.run !== stretch.run || last.to < stretch.from) result.push(stretch)
    else {
      const first = Math.min(last.first, stretch.first)
      result[result.length - 1] = { ...last, to: Math.max(last.to, stretch.to), first, last: Math.max(last.last, stretch.last) }
    }
  }
  return result
}

/** Whether every message of an archive is on a branch: only then does its summary tell of that branch. */
export function isWhole(archive: Archive, branch: readonly Stretch[]): boolean {
  return count(common(branch, archivedOf([archive]))) === archive.n
}

/**
 * What archives hold of some stretches. A message that several hold, because a revert had cut one of them, counts once, with the last;
 * an archive of which only a part counts has that part of its tokens.
 */
export function heldOf(stretches: readonly Stretch[], archives: readonly Archive[]): Amount {
  let left: readonly Stretch[] = stretches
  let [n, t] = [0, 0]
  for (const archive of archives.toReversed()) {
    const part = common(left, archivedOf([archive]))
    if (part.length === 0) continue
    left = without(left, part)
    n += count(part)
    t += Math.round((archive.t * count(part)) / archive.n)
  }
  return { n, t }
}

export function samePoint(a: Point, b: Point): boolean {
  return a.n === b.n && a.at?.[0] === b.at?.[0] && a.at?.[1] === b.at?.[1]
}

/** Whether a message is the one that was written last. */
export function isTip({ tip }: Pick<SessionState, 'tip'>, at: Address | null): boolean {
  return tip !== null && at !== null && at[0] === tip[0] && at[1] === tip[1]
}
