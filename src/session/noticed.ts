/**
 * Losses that no depth shows. A message says at which depth it is, so a message that is lost between two others is missed. But if the last
 * message was lost, the next writer does not know that it was there, and gives its depth to another one. So that writer first writes down what
 * it could not read.
 */

import type { NoticedGap } from '../record/damage.ts'
import type { DamageNoticed } from './records.ts'
import { changed, type SessionState } from './state.ts'

/** A session keeps so many. The last one of them covers all that are noticed later. */
const MOST = 100

/** What has to be written down before the next record, given what was lost as far as its writer has read. */
export function unnoticed(state: SessionState, lost: readonly NoticedGap[]): DamageNoticed | undefined {
  // Of what was purged, nothing is missed.
  if (state.purged) return undefined
  const last = state.tip?.[0] ?? -1
  const known = [...state.noticed, ...state.accepted]
  const gaps = lost.filter((gap) => gap.position > last && gap.position >= state.born && !known.some((one) => covers(one, gap)))
  return gaps.length === 0 ? undefined : { gaps }
}

export function withNoticed(state: SessionState, { gaps }: DamageNoticed): SessionState {
  const all = [...state.noticed, ...gaps]
  const last = all[MOST - 1]
  if (last === undefined || all.length === MOST) return changed(state, { noticed: all })
  const to = Math.max(...all.slice(MOST - 1).map((gap) => gap.to))
  return changed(state, { noticed: [...all.slice(0, MOST - 1), { ...last, to }] })
}

function covers(known: NoticedGap, { position, to }: NoticedGap): boolean {
  return known.position <= position && to <= known.to
}
