/**
 * What an answer reports as damaged. Four sources are put together, and each loss is reported once:
 *
 *   gaps       messages that the answer lacks, by their depths: the count is exact
 *   lost       stretches of the journal in which a record was lost that may have held anything
 *   noticed    losses that a writer wrote down, because later messages hide them: the count is unknown
 *   accepted   losses that a person has reviewed: they mark the others, and stay in every answer that covers them
 */

import type { DamageReason, NoticedGap } from '../record/damage.ts'
import { LEAD_IN } from '../record/line.ts'
import type { AcceptedGap } from './state.ts'

/** One place in an answer where something is missing that was written. */
export interface DamagedPlace {
  /** Where it begins in the journal. */
  readonly position: number
  /** How many messages the answer lacks because of it; null if unknown. */
  readonly count: number | null
  readonly reason: DamageReason
  /** The session whose journal it is in, where that is another one: a fork reports what it inherits. */
  readonly session?: string
  /** A person has reviewed this loss, and the session continues without it. */
  readonly accepted?: true
  /** The time of the last record before the gap that can be read. */
  readonly since?: string
}

/** A stretch of positions in which something was lost. */
export interface LostStretch {
  readonly position: number
  /** The first position after it. */
  readonly to: number
  readonly reason: DamageReason
  readonly since?: string | undefined
}

/** Messages that are missing, and where. */
export interface MissingMessages extends LostStretch {
  /** Null if unknown. */
  readonly count: number | null
  /** Where the messages before and after it are: whatever is lost between them is this very loss. */
  readonly between: readonly [number, number]
  /** Of what a fork inherits: the session whose journal it is. */
  readonly session?: string
  /** Whether the session whose journal it is has accepted all that was lost there. */
  readonly accepted?: boolean
}

export interface Damages {
  readonly gaps: readonly MissingMessages[]
  readonly lost: readonly LostStretch[]
  readonly noticed: readonly NoticedGap[]
  readonly accepted: readonly AcceptedGap[]
  /** The positions of this session's own journal that the answer covers, without these two. */
  readonly within: readonly [number, number]
  /** Position of the newest message. A record that was lost after it may have held another one. */
  readonly head: number
}

/** The places to report: first those that are inherited, then the session's own, in the order of their positions. */
export function damagedPlaces({ gaps, lost: found, noticed, accepted, within: [low, high], head }: Damages): DamagedPlace[] {
  const isInside = ({ position }: { position: number }): boolean => position > low && position < high
  const isCovered = ({ position, reason }: { position: number; reason: DamageReason }): boolean =>
    isInside({ position }) || (high === Number.POSITIVE_INFINITY && (reason === 'vanished' || reason === 'identity'))
  const isAmong = ({ position, to }: NoticedGap, others: readonly NoticedGap[]): boolean =>
    others.some((other) => overlaps(other, [position, to]))
  // What was noticed stays lost for this branch, also if its bytes are there again.
  const lost: LostStretch[] = [...found, ...noticed.filter((one) => !isAmong(one, found))]
  const inherited = gaps.filter(({ session }) => session !== undefined)
  const own = gaps.filter(({ session }) => session === undefined)
  const isInGap = (one: { position: number; to: number }): boolean => own.some(({ between }) => overlaps(one, between))
  const marked = own.map((gap) => {
    const known = gap.accepted === true ? accepted.find((one) => overlaps(one, gap.between)) : undefined
    return placeOf(gap, gap.count, known)
  })
  const others = lost
    .filter((one) => isCovered(one) && !isInGap(one))
    .map((one) =>
      placeOf(
        one,
        isAmong(one, noticed) ? null : countOf(one, head),
        isAccepted(one, accepted) ? accepted.find((known) => overlaps(known, [one.position, one.to])) : undefined,
      ),
    )
  const known = accepted
    .filter((one) => isInside(one) && !isInGap(one) && !isAmong(one, lost))
    .map((one) => placeOf({ ...one, since: one.since ?? undefined }, one.count ?? countOf(one, head), one))
  return [
    ...inherited.map((gap) => ({ ...placeOf(gap, gap.count, undefined), ...(gap.accepted === true ? { accepted: true as const } : {}) })),
    ...[...marked, ...others, ...known].sort((a, b) => a.position - b.position),
  ]
}

/** The first report of each place. */
export function withoutRepeated(places: readonly DamagedPlace[]): DamagedPlace[] {
  const known = new Set<string>()
  return places.filter(({ session, position }) => {
    const key = `${session ?? ''} ${position}`
    return !known.has(key) && known.add(key)
  })
}

/** Bytes between two lines: a newline, and the lead-in of the second. Where a line was accepted, so were these. */
const BETWEEN_LINES = 1 + LEAD_IN.length

/** Whether a person has accepted all of a loss, and not only one beside it. */
export function isAccepted(
  { position, to }: { readonly position: number; readonly to: number },
  accepted: readonly { readonly position: number; readonly to: number }[],
): boolean {
  let reached: number | undefined
  for (const one of accepted.toSorted((a, b) => a.position - b.position)) {
    const end = Math.max(one.to, one.position)
    if (one.position > (reached === undefined ? position : reached + BETWEEN_LINES)) break
    if (end >= position) reached = Math.max(reached ?? end, end)
  }
  return reached !== undefined && reached + BETWEEN_LINES >= to
}

/** Whether two stretches share a position, or meet: a loss without any bytes has a place too. */
export function overlaps(
  { position, to }: { readonly position: number; readonly to: number },
  [from, end]: readonly [number, number],
): boolean {
  return position <= end && from <= Math.max(to, position)
}

/** Depths show that no message before the head is missing elsewhere. Nothing shows what was lost after it, or with a file. */
function countOf({ position, reason }: Pick<LostStretch, 'position' | 'reason'>, head: number): number | null {
  return reason === 'vanished' || reason === 'identity' || position > head ? null : 0
}

function placeOf(
  { position, reason, since, session }: Pick<MissingMessages, 'position' | 'reason' | 'since' | 'session'>,
  count: number | null,
  accepted: AcceptedGap | undefined,
): DamagedPlace {
  const time = accepted?.since ?? since
  return {
    position,
    count,
    reason: accepted?.reason === 'vanished' ? 'vanished' : reason,
    ...(session === undefined ? {} : { session }),
    ...(accepted === undefined ? {} : { accepted: true as const }),
    ...(time === undefined || time === '' ? {} : { since: time }),
  }
}
