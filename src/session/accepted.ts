/** Losses that a person has reviewed, as `damage.acknowledged` records name them. */

import type { DamageReason } from '../record/damage.ts'
import type { Counted } from '../record/fold.ts'
import type { AcknowledgedDamage, DamageAcknowledged } from './records.ts'
import { type AcceptedGap, changed, type SessionState, versionOf } from './state.ts'

/** The doctor's findings that mean that a record was lost. */
const REASONS: Readonly<Record<string, DamageReason>> = {
  rotten: 'rotten',
  'lost-page': 'zeros',
  'missing-record': 'missing',
  'missing-message': 'missing',
  'missing-segment': 'missing',
  'cut-short': 'missing',
}

/** A session remembers so many: its state stays small however often its disk fails. */
const MOST = 1000

export function withAccepted(
  before: SessionState,
  { findings = [], gaps = [], space, session }: DamageAcknowledged,
  counted: Counted,
): SessionState {
  const state = before.id === null && space !== undefined && session !== undefined ? named(before, { space, id: session }, counted) : before
  const found = [...gaps, ...findings.flatMap(gapOf)]
  const fresh = found.filter((gap) => !state.accepted.some((known) => known.position === gap.position && known.to === gap.to))
  return fresh.length === 0 ? state : changed(state, { accepted: [...state.accepted, ...fresh].slice(-MOST) })
}

/** A session whose first record was lost is one again, with its identity. If nothing else is left of it either, it starts here. */
function named(state: SessionState, identity: { readonly space: string; readonly id: string }, counted: Counted): SessionState {
  if (state.status !== 'absent') return changed(state, identity)
  const { at } = counted.record
  return changed(state, { ...identity, status: 'live', createdAt: at, updatedAt: at, version: versionOf(counted) })
}

function gapOf({ kind, segment, offset, length }: AcknowledgedDamage): AcceptedGap[] {
  const reason = Object.hasOwn(REASONS, kind) ? REASONS[kind] : undefined
  if (reason === undefined || segment === null || offset === null) return []
  const position = segment + offset
  return [{ position, to: position + (length ?? 0), count: null, reason, since: null }]
}
