/**
 * Accepting a loss: a person has reviewed that bytes of a session vanished, and lets it continue without them. The session's own journal says
 * so, so every reader knows of the gap from then on, and no position is ever used twice.
 */
import { HoldfastError } from '../errors.ts'
import { type Loss, namingSession } from '../journal/loss.ts'
import type { JsonObject } from '../record/record.ts'
import { absent, unexpected } from '../session/refusals.ts'
import type { AcceptedGap, SessionState } from '../session/state.ts'
import type { DamagedPlace } from './damage.ts'
import type { Handle, WriteOptions, Written } from './handle.ts'

export interface DamageAccepted extends Written {
  /** Every loss that was accepted in this session so far. */
  readonly accepted: readonly DamagedPlace[]
}

/** NOT_FOUND if there is no such session. Where nothing is lost, or the loss was accepted before, nothing is written. */
export async function acceptDamage(handle: Handle, { expect }: WriteOptions = {}): Promise<DamageAccepted> {
  const { replica } = handle.held
  const before = await handle.state()
  if (expect !== undefined && expect !== before.version) throw unexpected(expect, before)
  const accepting = replica.accept((state, lost) => ({
    type: 'damage.acknowledged',
    payload: { findings: [], gaps: [gapOf(state, lost)], ...identityOf(handle, state) } as unknown as JsonObject,
  }))
  const loss = await accepting.catch((error: unknown) => {
    throw error instanceof HoldfastError ? namingSession(error, { space: handle.parts.space, id: handle.id }) : error
  })
  const state = await handle.state()
  if (state.status === 'absent') throw absent(handle.id)
  await handle.parts.catalog.notice({ damaged: [], whole: [handle.name] })
  return { version: state.version, duplicate: loss === undefined, accepted: state.accepted.map(placeOf) }
}

/** Before the beginning of a session there was no record. */
function gapOf({ updatedAt }: SessionState, { from, to }: Loss): AcceptedGap {
  return { position: from, to, count: null, reason: 'vanished', since: updatedAt === '' || from === 0 ? null : updatedAt }
}

/** A session whose first record was lost gets its identity back. */
function identityOf({ id, parts }: Handle, state: SessionState): { readonly space?: string; readonly session?: string } {
  return state.id === null ? { space: parts.space, session: id } : {}
}

function placeOf({ position, count, reason, since }: AcceptedGap): DamagedPlace {
  return { position, count, reason, accepted: true, ...(since === null ? {} : { since }) }
}
