/**
 * Retention: what nobody has used for long enough is deleted, and what was deleted for long enough is purged. Nothing of this happens by itself,
 * and nothing at all unless a time is given, for the space or by a session for itself: its policy `retention` says after how many seconds
 * without a change it may go (`delete_idle_after`), or null, that it stays. A deleted session can be restored until it is purged.
 */
import { HoldfastError } from '../errors.ts'
import { invalid } from '../session/check.ts'
import { remove } from '../session/decide.ts'
import type { SessionState } from '../session/state.ts'
import { Handle } from './handle.ts'
import type { StoreParts } from './parts.ts'
import { type Purged, purge } from './purge.ts'

export interface ExpireOptions {
  /** Deletes sessions that no caller has changed for so long, unless their own policy says otherwise; none unless told. */
  readonly deleteIdleAfterMs?: number
  /** Purges what was deleted so long ago; nothing unless told. */
  readonly purgeDeletedAfterMs?: number
  /** Only tells what would be done. */
  readonly dryRun?: boolean
}

export interface Expired {
  readonly session: string
  /** `kept`: a fork still reaches it. `failed`: it cannot be read, or not be written to; `error` says why. */
  readonly action: 'deleted' | Purged['action']
  /** When it was last changed, or when it was deleted. */
  readonly since: string
  readonly error?: HoldfastError
}

export async function* expire(parts: StoreParts, options: ExpireOptions): AsyncGenerator<Expired> {
  const { deleteIdleAfterMs, purgeDeletedAfterMs, dryRun = false } = options
  for (const [what, ms] of Object.entries({ deleteIdleAfterMs, purgeDeletedAfterMs })) {
    if (ms !== undefined && !(ms >= 0)) throw invalid(`${what} must be a number of milliseconds from 0 on; got ${String(ms)}.`)
  }
  for await (const name of parts.engine.names(parts.space)) {
    const { state } = await parts.replicas.once(name).replica.read().catch(unreadable)
    if (state?.status !== 'live' || state.id === null) continue
    const after = idleMsOf(state, deleteIdleAfterMs)
    if (after === undefined || Date.parse(state.updatedAt) + after > parts.clock.now()) continue
    const told = { session: state.id, since: state.updatedAt }
    if (dryRun || (await removeIfIdle(new Handle(parts, state.id), state))) yield { ...told, action: 'deleted' }
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
function idleMsOf({ policies }: SessionState, ofSpace: number | undefined): number | undefined {
  const own = (policies.retention as { readonly delete_idle_after?: unknown } | undefined)?.delete_idle_after
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
