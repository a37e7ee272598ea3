/**
 * Retention: what nobody has used for long enough is deleted, what was deleted for long enough is purged, and of what was summarised long ago the
 * messages go, while the summaries stay. Nothing of this happens by itself, and nothing at all unless a time is given: by the caller, else by the policy
 * of the space (`retention-policy.ts`), or by a session for itself: its policy `retention` says after how many seconds without a change it may go (`delete_idle_after`), and after how
 * many its archives lose their messages (`drop_archives_after`), or null, that they stay. A deleted session can be restored until it is purged.
 */
import { HoldfastError } from '../../errors.ts'
import type { JsonObject } from '../../record/record.ts'
import { remove } from '../../session/decide.ts'
import type { Archive, SessionState } from '../../session/state.ts'
import { Handle } from '../handle.ts'
import type { SessionParts } from '../parts.ts'
import { eraseHere } from './erase.ts'
import { type Purged, purge } from './purge.ts'
import { type RetentionPolicy, retentionOf, timesOf } from './retention-policy.ts'

export interface ExpireOptions extends RetentionPolicy {
  /** Reports what it would do, and changes nothing. Defaults to false. */
  readonly dryRun?: boolean
}

export interface Expired {
  readonly session: string
  /** `dropped`: the messages of an archive. `kept`: a fork still reaches it. `failed`: it cannot be read, or not be written to; `error` says why. */
  readonly action: 'deleted' | 'dropped' | Purged['action']
  /** When it was last changed, when its archive was completed, or when it was deleted. */
  readonly since: string
  /** Which archive was dropped. */
  readonly archive?: number
  readonly error?: HoldfastError
}

export async function* expire(parts: SessionParts, options: ExpireOptions): AsyncGenerator<Expired> {
  const { dryRun = false } = options
  const given = timesOf(options)
  const { deleteIdleAfterMs, dropArchivesAfterMs, purgeDeletedAfterMs } = Object.keys(given).length > 0 ? given : await retentionOf(parts)
  for await (const name of parts.engine.names(parts.space)) {
    const { state } = await parts.replicas.once(name).replica.read().catch(unreadable)
    if (state?.status !== 'live' || state.id === null) continue
    const handle = new Handle(parts, state.id)
    const told = { session: state.id, since: state.updatedAt }
    const isOver = (since: string, afterMs: number | undefined): boolean =>
      afterMs !== undefined && Date.parse(since) + afterMs <= parts.clock.now()
    if (isOver(state.updatedAt, limitOf(state, 'delete_idle_after', deleteIdleAfterMs))) {
      if (dryRun || (await removeIfIdle(handle, state))) yield { ...told, action: 'deleted' }
      continue
    }
    const afterMs = limitOf(state, 'drop_archives_after', dropArchivesAfterMs)
    for (const archive of state.archives.filter((one) => hasBody(one) && isOver(one.updatedAt, afterMs))) {
      const body = { ...told, archive: archive.number, since: archive.updatedAt }
      try {
        if (await dropBody(handle, archive, dryRun)) yield { ...body, action: 'dropped' }
      } catch (error) {
        // One that cannot be read, or was deleted meanwhile, holds up no other.
        if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
        if (error.code !== 'NOT_FOUND') yield { ...body, action: 'failed', error }
      }
    }
  }
  if (purgeDeletedAfterMs === undefined) return
  for await (const { session, deletedAt, action, error } of purge(parts, { olderThanMs: purgeDeletedAfterMs, dryRun })) {
    yield { session, action, since: deletedAt, ...(error === undefined ? {} : { error }) }
  }
}

/** A session that cannot be read is not idle: nobody knows. */
function unreadable(error: unknown): { state: undefined } {
  if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
  return { state: undefined }
}

/** What the session says of itself comes first. */
function limitOf({ policies }: SessionState, name: string, ofSpace: number | undefined): number | undefined {
  const own = (policies.retention as JsonObject | undefined)?.[name]
  if (own === undefined) return ofSpace
  return typeof own === 'number' && own >= 0 ? own * 1000 : undefined
}

/** False if somebody has used it since it was looked at. */
async function removeIfIdle(handle: Handle, { version }: SessionState): Promise<boolean> {
  try {
    await handle.submit({ expect: version }, remove)
    return true
  } catch (error) {
    if (error instanceof HoldfastError && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')) return false
    throw error
  }
}

function hasBody({ session, status, bodyless }: Archive): boolean {
  return session === null && status === 'completed' && bodyless !== true
}

/**
 * Erases the messages that an archive holds and that were said in this session, one by one, and with the last of them what the catalog has of all.
 * If it is interrupted, the next one goes on. False if there is none.
 */
async function dropBody(handle: Handle, archive: Archive, dryRun: boolean): Promise<boolean> {
  const transcript = await handle.transcript()
  const own: string[] = []
  for await (const { id, erased } of transcript.oldestFirst(archive.takes)) {
    if (erased !== true && (await transcript.locate(id))?.journal === handle.id) own.push(id)
  }
  if (dryRun) return own.length > 0
  for (const id of own) await eraseHere(handle, id, { keeps: true, ...(id === own.at(-1) ? { ends: archive.number } : {}) })
  return own.length > 0
}
