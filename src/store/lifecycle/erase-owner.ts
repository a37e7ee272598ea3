/**
 * Erasing everything of an owner: the sessions go, with all their bytes, forks before what they come from. One that a session of somebody
 * else still reaches cannot go; of that one every message is erased, for the other session too.
 */
import { HoldfastError } from '../../errors.ts'
import { Records } from '../../journal/records.ts'
import { checkId } from '../../session/check.ts'
import * as decide from '../../session/decide.ts'
import { type MessagesAppended, messageId } from '../../session/records.ts'
import type { SessionState } from '../../session/state.ts'
import { Handle } from '../handle.ts'
import type { StoreParts } from '../parts.ts'
import { eraseHere } from './erase.ts'
import { purgeNow } from './purge.ts'

export interface EraseOptions {
  /** Whose sessions. */
  readonly owner: string
  /** Only tells what would be done. */
  readonly dryRun?: boolean
}

export interface ErasedSession {
  readonly session: string
  /** `purged`: nothing is left of it. `erased`: its messages are; its title, tags and metadata stay as long as another session reaches it. */
  readonly action: 'purged' | 'erased' | 'failed'
  /** Of `erased`: how many messages. */
  readonly messages: number
  readonly error?: HoldfastError
}

export async function* eraseOwner(parts: StoreParts, { owner, dryRun = false }: EraseOptions): AsyncGenerator<ErasedSession> {
  checkId('The owner', owner)
  const owned = new Map<string, SessionState>()
  for await (const name of parts.engine.names(parts.space)) {
    const { state } = await parts.replicas.once(name).replica.read().catch(ifKeyless)
    if (state === undefined) continue
    if (state.owner === owner && state.id !== null && state.status !== 'absent' && !state.purged) owned.set(state.id, state)
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

/** Of a session whose key was destroyed nobody can tell whose it was, nor what was said in it: there is nothing left to erase. */
function ifKeyless(error: unknown): { state: undefined } {
  if (error instanceof HoldfastError && error.details.reason === 'no session key') return { state: undefined }
  throw error
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
