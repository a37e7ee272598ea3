/** What vanished from a journal, as findings: where it was, and which other findings it explains. */

import type { Loss } from '../journal/loss.ts'
import type { Tail } from '../journal/tail.ts'
import { LEAD_IN } from '../record/line.ts'
import { overlaps } from '../session/damaged-places.ts'
import type { AcceptedGap, SessionState } from '../session/state.ts'
import type { FindingKind, FindingPlace, Problem } from './findings.ts'

type AcceptedRange = Pick<AcceptedGap, 'position' | 'to'>

/** Next to bytes that vanished, or inside of them, these add nothing to the loss. */
const PARTS: ReadonlySet<FindingKind> = new Set<FindingKind>([
  'rotten',
  'lost-page',
  'missing-record',
  'missing-message',
  'missing-segment',
  'cut-short',
  'acknowledged',
])

/** Each says that nothing acknowledged is lost. Next to bytes that vanished, that is not true. */
const HARMLESS: ReadonlySet<FindingKind> = new Set<FindingKind>(['torn', 'unwritten', 'unfinished-roll'])

/** If the last segment is sealed and nothing follows, the next one would start where the tail ends. */
export function lossProblem({ from, to }: Loss, segments: readonly number[], tail: Tail<SessionState> | undefined): Problem {
  const place =
    tail?.sealed === true && from >= tail.end ? { segment: from, offset: 0, length: to - from } : placeOf({ position: from, to }, segments)
  return { kind: 'vanished', place }
}

/** Losses that were accepted. */
export function acceptedProblems(accepted: readonly AcceptedGap[], segments: readonly number[]): Problem[] {
  return vanishedIn(accepted).map((gap) => ({ kind: 'acknowledged', place: placeOf(gap, segments) }))
}

/** Losses that a writer noticed, where nothing else shows them: their lines were restored after other messages had taken their depths. */
export function noticedProblems(
  { noticed }: Pick<SessionState, 'noticed'>,
  found: readonly Problem[],
  segments: readonly number[],
): Problem[] {
  const hidden = noticed.filter((gap) => !found.some(({ place }) => overlaps(gap, stretchOf(place))))
  return hidden.map((gap) => ({ kind: 'missing-message', place: placeOf(gap, segments) }))
}

export function covers({ position, to }: AcceptedRange, at: number): boolean {
  return at >= position && at < to
}

interface Losses {
  readonly loss: Loss | undefined
  readonly accepted: readonly AcceptedGap[]
  readonly segments: readonly number[]
}

/** Whether a loss, accepted or not, is the reason for this finding, which adds nothing to it. */
export function isExplained(problem: Problem, { loss, accepted, segments }: Losses): boolean {
  const open = loss?.as === 'vanished' ? { position: loss.from, to: loss.to } : undefined
  if (problem.kind === 'no-identity') return open !== undefined
  if (problem.follows !== undefined) return open !== undefined && covers(open, problem.follows)
  const gaps = [...(open === undefined ? [] : [open]), ...vanishedIn(accepted)]
  if (HARMLESS.has(problem.kind)) {
    return gaps.some((gap) => overlaps(gap, stretchOf(problem.place)) || isRemade(problem.place, gap, segments))
  }
  return PARTS.has(problem.kind) && gaps.some((gap) => isInside(gap, problem.place))
}

export function isHarmless(kind: FindingKind): boolean {
  return HARMLESS.has(kind)
}

/** The beginning of a segment that was cut is made again after what is left of it, and only then the loss is accepted. */
function isRemade(place: FindingPlace | undefined, gap: AcceptedRange, segments: readonly number[]): boolean {
  return place?.offset !== undefined && place.offset <= LEAD_IN.length && placeOf(gap, segments).segment === place.segment
}

export function isInside({ position, to }: AcceptedRange, place: FindingPlace | undefined): boolean {
  if (place?.offset === undefined) return false
  const [from, end] = stretchOf(place)
  return from >= position && end <= to
}

function vanishedIn(accepted: readonly AcceptedGap[]): readonly AcceptedGap[] {
  return accepted.filter(({ reason }) => reason === 'vanished')
}

/** The positions of a place; of one that is unknown, none. */
export function rangeOf(place: FindingPlace | undefined): AcceptedRange {
  const position = place?.offset === undefined ? -1 : place.segment + place.offset
  return { position, to: position + (place?.length ?? 0) }
}

function stretchOf(place: FindingPlace | undefined): [number, number] {
  const { position, to } = rangeOf(place)
  return [position, to]
}

/** The file that a position is in, or was in, and where in that file. */
function placeOf({ position, to }: AcceptedRange, segments: readonly number[]): FindingPlace {
  const segment = segments.findLast((first) => first <= position) ?? position
  return { segment, offset: position - segment, length: to - position }
}
