/**
 * Commits that a session asks for by its policy: `policies.auto_commit` with any of `tokens`, `messages` (commit once so many are live), `idle_ms`
 * (commit once nothing was written for so long), `min_interval_ms` (not more often), `keep`. Off unless it is set.
 */
import type { JsonObject } from '../record/record.ts'
import type { SessionState } from '../session/state.ts'
import { Handle } from '../store/handle.ts'
import type { SessionParts } from '../store/parts.ts'
import { commit } from '../store/tasks.ts'

/** Commits if the policy says so. Tells how long the session must stay idle before it would, if that is what it waits for. */
export async function autoCommit(parts: SessionParts, session: string, state: SessionState): Promise<number | undefined> {
  const policy = state.policies.auto_commit as JsonObject | undefined
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) return undefined
  const keep = numberIn(policy, 'keep') ?? 0
  const live = { n: state.head.n - state.archived.n, t: state.head.t - state.archived.t }
  if (live.n <= keep) return undefined
  const now = parts.clock.now()
  const last = state.archives.at(-1)
  const restMs = last === undefined ? 0 : Date.parse(last.requestedAt) + (numberIn(policy, 'min_interval_ms') ?? 0) - now
  const idleMs = numberIn(policy, 'idle_ms')
  const idleLeftMs = idleMs === undefined ? Number.POSITIVE_INFINITY : Date.parse(state.updatedAt) + idleMs - now
  const large =
    live.t >= (numberIn(policy, 'tokens') ?? Number.POSITIVE_INFINITY) ||
    live.n >= (numberIn(policy, 'messages') ?? Number.POSITIVE_INFINITY)
  const waitMs = Math.max(restMs, large ? 0 : idleLeftMs)
  if (waitMs > 0) return Number.isFinite(waitMs) ? waitMs : undefined
  // The same key for every worker that sees the same session: one commit.
  await commit(new Handle(parts, session), { keep, key: `auto-commit ${state.version}` })
  return undefined
}

function numberIn(policy: JsonObject, field: string): number | undefined {
  const value = policy[field]
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
