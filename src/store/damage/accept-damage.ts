/**
 * Accepting damage: a person has reviewed what a session lost, and lets it continue without that. The session's own journal says so. From then
 * on reads report the places as accepted, and the doctor lists them as notes.
 *
 * Two steps, each of which may be repeated. First bytes that vanished: until that is accepted, nothing else can be written, and no position is
 * ever used twice. Then what cannot be read: it is copied to the quarantine, and its places are written down. If the process dies between the
 * two, the session continues, and the doctor reports the rest as before.
 */
import { isDeepStrictEqual } from 'node:util'
import { HoldfastError } from '../../errors.ts'
import { type Loss, namingSession } from '../../journal/loss.ts'
import { scanLines } from '../../journal/scan.ts'
import type { JsonObject } from '../../record/record.ts'
import { acknowledge } from '../../session/decide.ts'
import type { AcknowledgedDamage } from '../../session/records.ts'
import { absent, unexpected } from '../../session/refusals.ts'
import type { AcceptedGap, SessionState } from '../../session/state.ts'
import { acknowledgedOf, isAcceptable } from '../../verify/findings.ts'
import { sessionProblems } from '../../verify/session-problems.ts'
import type { Handle, WriteOptions, Written } from '../handle.ts'
import type { DamagedPlace } from './damage.ts'
import { putInQuarantine, QUARANTINED_BYTES } from './quarantine.ts'

export interface DamageAccepted extends Written {
  /** Every loss that was accepted in this session so far. */
  readonly accepted: readonly DamagedPlace[]
}

/** NOT_FOUND if there is no such session. Where nothing is damaged, or all of it was accepted before, nothing is written. Reads the whole journal. */
export async function acceptDamage(handle: Handle, { expect }: WriteOptions = {}): Promise<DamageAccepted> {
  const state = await handle.state()
  if (expect !== undefined && expect !== state.version) throw unexpected(expect, state)
  // First: the checkpoint after an accepted loss does not include lines that were lost before it, which then look as if their writer had died.
  const before = await acceptableDamage(handle)
  const loss = await acceptLoss(handle)
  const { status } = await handle.state()
  if (status === 'absent') throw absent(handle.id)
  const found = [
    ...before,
    ...(loss === undefined ? [] : await acceptableDamage(handle)).filter((one) => !before.some((known) => isDeepStrictEqual(known, one))),
  ]
  if (found.length > 0) await acknowledgeDamage(handle, found)
  const { version, accepted } = await handle.state()
  const places = status === 'live' ? await (await handle.transcript()).allDamage() : accepted.map(placeOf)
  return { version, duplicate: loss === undefined && found.length === 0, accepted: places.filter((place) => place.accepted === true) }
}

/** Lets a journal continue whose bytes have vanished. Returns what was lost; undefined if nothing was. */
export async function acceptLoss(handle: Handle): Promise<Loss | undefined> {
  try {
    const loss = await handle.held.replica.accept((state, lost) => ({
      type: 'damage.acknowledged',
      payload: { findings: [], gaps: [gapOf(state, lost)], ...identityOf(handle, state) } as unknown as JsonObject,
    }))
    await noLongerDamaged(handle)
    return loss
  } catch (error) {
    throw error instanceof HoldfastError ? namingSession(error, { space: handle.parts.space, id: handle.id }) : error
  }
}

/** Copies what cannot be read to the quarantine, and writes down in the session that its damage is known. */
export async function acknowledgeDamage(handle: Handle, found: readonly AcknowledgedDamage[]): Promise<void> {
  for (const place of found) await setAside(handle, place)
  const places = found.map(({ kind, segment, offset, length }) => ({ kind, segment, offset, length }))
  await handle.submit({}, () => acknowledge(places, { space: handle.parts.space, session: handle.id }))
  await noLongerDamaged(handle)
}

/** What a list flags as damaged may be in order now. */
function noLongerDamaged({ parts, name }: Handle): Promise<void> {
  return parts.catalog.notice({ damaged: [], whole: [name] })
}

/** A deleted session takes no records, and in the files of another session nothing is this one's. */
async function acceptableDamage(handle: Handle): Promise<AcknowledgedDamage[]> {
  const { parts, held } = handle
  const state = await handle.state()
  const { loss } = held.replica
  const found: AcknowledgedDamage[] = []
  if (state.status !== 'live' || loss?.as === 'identity') return found
  for await (const problem of sessionProblems(parts, held.journal, { state, loss }))
    if (isAcceptable(problem.kind)) found.push(acknowledgedOf(problem))
  return found
}

async function setAside(handle: Handle, place: AcknowledgedDamage): Promise<void> {
  const { segment, offset, length } = place
  if (segment === null || offset === null || !length) return
  const { journal } = handle.held
  const bytes: Uint8Array[] = []
  const from = segment + offset
  const to = from + Math.min(length, QUARANTINED_BYTES)
  for await (const line of scanLines(journal, segment, { from, last: to - 1, bytes: to - from })) if (line.at < to) bytes.push(line.bytes)
  if (bytes.some(({ length: size }) => size > 0)) await putInQuarantine(handle, place, Buffer.concat(bytes))
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
