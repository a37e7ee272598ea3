/**
 * Erasing everything of an owner: the sessions go, with all their bytes, forks before what they come from. One that a session of somebody
 * else still reaches cannot go; of that one every message is erased, for the other session too.
 */
import { idOf } from '../../engine/session-id-of.ts'
import { HoldfastError } from '../../errors.ts'
import { shellWord } from '../../journal/command-words.ts'
import { Records } from '../../journal/records.ts'
import { isDamaged } from '../../record/damage.ts'
import { checkId } from '../../session/check.ts'
import * as decide from '../../session/decide.ts'
import { lacksRecords } from '../../session/info.ts'
import { type MessagesAppended, messageId } from '../../session/records.ts'
import type { SessionState } from '../../session/state.ts'
import { Handle } from '../handle.ts'
import type { SessionParts } from '../parts.ts'
import { eraseHere } from './erase.ts'
import { purgeNow } from './purge.ts'

export interface EraseOptions {
  /** Whose sessions. */
  readonly owner: string
  /** Reports what it would do, and changes nothing. Defaults to false. */
  readonly dryRun?: boolean
}

export interface ErasedSession {
  readonly session: string
  /**
   * `purged`: nothing is left of it. `erased`: its messages are; its title, tags and metadata stay as long as another session reaches it.
   * `failed`: it is still there, and `error` says why. A session whose owner cannot be known, because records of it are lost, is one of these.
   */
  readonly action: 'purged' | 'erased' | 'failed'
  /** Of `erased`: how many messages. */
  readonly messages: number
  readonly error?: HoldfastError
}

export async function* eraseOwner(parts: SessionParts, { owner, dryRun = false }: EraseOptions): AsyncGenerator<ErasedSession> {
  checkId('The owner', owner)
  const owned = new Map<string, SessionState>()
  for await (const name of parts.engine.names(parts.space)) {
    const found = await lookAt(parts, name)
    if (found.doubt !== undefined && found.state?.owner !== owner)
      yield { session: found.id, action: 'failed', messages: 0, error: ownerUnknown(found.id, found.doubt) }
    else if (found.state?.owner === owner) owned.set(found.id, found.state)
  }
  for (const id of forksFirst(owned)) {
    const handle = new Handle(parts, id)
    const isShared = (owned.get(id) as SessionState).grants.some(({ kind, session }) => kind === 'fork' && !owned.has(session))
    try {
      if (dryRun) yield { session: id, action: isShared ? 'erased' : 'purged', messages: 0 }
      else yield await eraseSession(handle)
    } catch (error) {
      // One session that cannot be read holds up no other.
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      yield { session: id, action: 'failed', messages: 0, error }
    }
  }
  if (!dryRun) await parts.catalog.scrub('erasure')
}

interface Found {
  readonly id: string
  /** Undefined if nothing can be read, or nothing is left to erase. */
  readonly state?: SessionState
  /** Its owner may be another than the state says, because records are lost: `true`, or the error of the read. */
  readonly doubt?: HoldfastError | true
}

async function lookAt(parts: SessionParts, name: string): Promise<Found> {
  const { replica } = parts.replicas.once(name)
  const unnamed = idOf(parts, name)
  try {
    const { state } = await replica.read()
    const { loss, damage } = replica
    if (loss?.as === 'identity' || state.status === 'absent')
      return loss !== undefined || isDamaged(damage) ? { id: unnamed, doubt: true } : { id: unnamed }
    const id = state.id ?? unnamed
    if (state.purged) return { id }
    // A journal that does not say its id is found by its name only where that can be computed.
    const isNamed = id !== name || state.id !== null
    return { id, ...(isNamed ? { state } : {}), ...(lacksRecords(state, damage) ? { doubt: true } : {}) }
  } catch (error) {
    if (!(error instanceof HoldfastError) || !['DAMAGED', 'UNREADABLE', 'UNSUPPORTED_VERSION'].includes(error.code)) throw error
    // Without its key nothing of it can be read, here or anywhere: there is nothing left to erase.
    return error.details.reason === 'no session key' ? { id: unnamed } : { id: unnamed, doubt: error }
  }
}

function ownerUnknown(id: string, doubt: HoldfastError | true): HoldfastError {
  if (doubt !== true && doubt.code !== 'DAMAGED') return doubt
  const next = `Run \`holdfast doctor ${shellWord(id)}\`. Restore the session from a backup and erase again; or, if it is of this owner, delete and purge it.`
  return new HoldfastError('DAMAGED', `Records are lost that may have set the owner of session "${id}". ${next}`, {
    details: { session_id: id },
    ...(doubt === true ? {} : { cause: doubt }),
  })
}

async function eraseSession(handle: Handle): Promise<ErasedSession> {
  if ((await handle.state()).status === 'live') await handle.submit({}, decide.remove)
  const purged = await purgeNow(handle.parts, handle.name)
  if (purged?.action !== 'kept') return { session: handle.id, action: 'purged', messages: 0 }
  let messages = 0
  for (const id of await idsIn(handle)) if (await eraseHere(handle, id)) messages++
  return { session: handle.id, action: 'erased', messages }
}

/** Every message that the session itself said. */
async function idsIn(handle: Handle): Promise<string[]> {
  const ids: string[] = []
  const { born } = await handle.state()
  const { replica, journal } = handle.held
  for await (const { record } of new Records(journal).forward(born, (await replica.end()) - 1)) {
    if (record.type !== 'messages.appended') continue
    const { messages, ids: given } = record as unknown as MessagesAppended
    ids.push(...messages.map((_, index) => messageId(record.id, given, index)))
  }
  return ids
}

/** A session comes behind all that come from it. */
function forksFirst(owned: ReadonlyMap<string, SessionState>): string[] {
  const ordered = new Set<string>()
  const add = (id: string, above: readonly string[]): void => {
    for (const { session } of owned.get(id)?.grants ?? []) if (owned.has(session) && !above.includes(session)) add(session, [...above, id])
    ordered.add(id)
  }
  for (const id of owned.keys()) add(id, [])
  return [...ordered]
}
