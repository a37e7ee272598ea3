/**
 * Purging: the one operation that destroys. It removes deleted sessions, and former incarnations of sessions that were created anew, once
 * that was long enough ago; never what a fork still reaches. A session is marked as purged, in its journal, before its first byte goes,
 * so one that is half purged can be neither restored nor mistaken, and the next purge goes on with it. Its words go from the catalog last.
 */

import { isKeyGone } from '../../encryption/master-key.ts'
import type { Journal } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import { journalBytes } from '../../journal/journal-bytes.ts'
import type { Held } from '../../journal/replicas.ts'
import { invalid } from '../../session/check.ts'
import { release } from '../../session/decide.ts'
import type { SessionState } from '../../session/state.ts'
import type { SessionParts, SpaceParts, StoreParts } from '../parts.ts'

export interface PurgeOptions {
  /** Only sessions deleted at least this long ago. Defaults to 30 days. */
  readonly olderThanMs?: number
  /** Reports what a purge would do, and changes nothing. Defaults to false. */
  readonly dryRun?: boolean
}

export interface Purged {
  readonly session: string
  readonly deletedAt: string
  /** `kept`: a fork still reaches it, or may, where a loss was accepted and another session cannot be read. `failed`: it cannot be read, or not be written to; `error` says why. */
  readonly action: 'purged' | 'kept' | 'failed'
  readonly freedBytes: number
  readonly error?: HoldfastError
}

const DAY_MS = 24 * 60 * 60 * 1000

export async function* purge(parts: SessionParts, { olderThanMs = 30 * DAY_MS, dryRun = false }: PurgeOptions): AsyncGenerator<Purged> {
  const before = timeBefore(parts.clock.now(), olderThanMs)
  try {
    for await (const name of parts.engine.names(parts.space)) {
      try {
        const purged = await purgeOne(parts, name, before, dryRun)
        if (purged !== undefined) yield purged
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
        // Nobody can tell whether one was deleted whose key is gone, this time or the next.
        if (isKeyGone(error)) continue
        // One session that cannot be read holds up no other.
        yield { session: name, deletedAt: '', action: 'failed', freedBytes: 0, error }
      }
    }
  } finally {
    // Also behind a caller who wants to hear no more, and behind a purge that has died before it came to this.
    if (!dryRun) await scrub(parts)
  }
}

/** The last time that is written with four digits of a year. Later ones would not be in the order of their texts. */
const LAST_MS = Date.UTC(9999, 11, 31)

function timeBefore(nowMs: number, olderThanMs: number): string {
  if (!Number.isFinite(olderThanMs)) throw invalid(`\`olderThanMs\` must be a number of milliseconds; got ${String(olderThanMs)}.`)
  return new Date(Math.min(Math.max(nowMs - olderThanMs, 0), LAST_MS)).toISOString()
}

async function scrub({ catalog }: Pick<StoreParts, 'catalog'>): Promise<void> {
  try {
    await catalog.scrub('purge')
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'UNAVAILABLE' || error.details.reason === 'store moved') throw error
    const message =
      'The purge is done, but the catalog was busy and may keep words of the purged text. Purge again, or run `holdfast doctor --rebuild-catalog`.'
    throw new HoldfastError('UNAVAILABLE', message, { outcome: 'unknown', cause: error })
  }
}

/** Removes one deleted session, however long ago that was. Undefined if there is nothing to remove. */
export function purgeNow(parts: SpaceParts, name: string): Promise<Purged | undefined> {
  return purgeOne(parts, name, ANY_TIME, false)
}

/** Behind every time that a session can have. */
const ANY_TIME = '\uffff'

async function purgeOne(parts: SpaceParts, name: string, before: string, dryRun: boolean): Promise<Purged | undefined> {
  const held = parts.replicas.once(name)
  const { state } = await held.replica.read()
  const due = await dueOf(held, state, before)
  if (due === undefined) return undefined
  const told = { session: state.id ?? name, deletedAt: state.deletedAt ?? state.createdAt }
  if (isReached(state, due) || (await isReachedBeyondLoss(parts, state))) return { ...told, action: 'kept', freedBytes: 0 }
  if (dryRun) return { ...told, action: 'purged', freedBytes: await lengthOf(held, due, state) }
  const freedBytes = await remove(held, due, before)
  if (freedBytes === undefined) return undefined
  if (due === 'all' && state.parent !== null) await letGo(parts, state.parent.session, state.id)
  return { ...told, action: 'purged', freedBytes }
}

/** `all` of a session is due, or what it was before it was created anew. */
type Due = 'all' | 'former'

/** Whether a purge has marked a session, and died before all of it was removed. */
export async function isHalfPurged(journal: Journal, { status, purged, born }: SessionState): Promise<boolean> {
  if (status !== 'deleted' || !purged) return false
  const segments = await journal.segments()
  return segments.length > 1 || (segments[0] ?? 0) <= born
}

async function dueOf({ journal }: Held<SessionState>, state: SessionState, before: string): Promise<Due | undefined> {
  if (state.status === 'deleted') {
    const due = state.purged ? await isHalfPurged(journal, state) : (state.deletedAt ?? '') <= before
    return due ? 'all' : undefined
  }
  const segments = await journal.segments()
  const [first = 0] = segments
  return state.status === 'live' &&
    state.born > 0 &&
    first < state.born &&
    segments.length > 1 &&
    (segments[1] as number) <= state.born &&
    state.createdAt <= before
    ? 'former'
    : undefined
}

function isReached({ grants, born }: SessionState, due: Due): boolean {
  return grants.some((grant) => grant.kind === 'fork' && (due === 'all' || grant.born < born))
}

/** A loss that was accepted may have taken what a session said of its forks. Then only they can say what they reach: one that cannot be read may, too. */
async function isReachedBeyondLoss(parts: SpaceParts, { id, accepted }: SessionState): Promise<boolean> {
  if (id === null || accepted.length === 0) return false
  for await (const name of parts.engine.names(parts.space)) {
    if (name === parts.engine.name(parts.space, id)) continue
    const other = await parts.replicas.once(name).replica.read().catch(ifUnreadable)
    if (other === undefined || (!other.state.purged && other.state.past.some(({ session }) => session === id))) return true
  }
  return false
}

function ifUnreadable(error: unknown): undefined {
  if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
  return undefined
}

async function remove({ replica, journal }: Held<SessionState>, due: Due, before: string): Promise<number | undefined> {
  const begun = await replica.beginSegmentIf((state) => {
    if (isReached(state, due)) return false
    return due === 'former' ? state.status === 'live' : state.status === 'deleted' && (state.purged || (state.deletedAt ?? '') <= before)
  })
  if (begun === undefined) return undefined
  if (due === 'all') return journal.purge(begun)
  const { state } = await replica.read()
  const kept = (await journal.segments()).findLast((first) => first <= state.born)
  return kept === undefined ? undefined : journal.purge(kept)
}

async function lengthOf({ replica, journal }: Held<SessionState>, due: Due, { born }: SessionState): Promise<number> {
  const segments = await journal.segments()
  if (due === 'all') return journalBytes(journal, segments, await replica.end())
  const kept = segments.findLast((first) => first <= born) ?? 0
  return journalBytes(
    journal,
    segments.filter((first) => first < kept),
    kept,
  )
}

/** The parent need not keep what this session shared with it. */
async function letGo(parts: SpaceParts, parent: string, session: string | null): Promise<void> {
  if (session === null) return
  await parts.replicas.once(parts.engine.name(parts.space, parent)).replica.submit(release(session))
}
