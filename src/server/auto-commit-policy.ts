/** When a session commits by itself, as clients say it; and as the store keeps it, in `policies.auto_commit`. */
import type { Json, JsonObject } from '../record/record.ts'
import { invalid } from '../session/check.ts'

/** What each field is unless told, and at most. */
const FIELDS = {
  pending_token_threshold: [150_000, 1_000_000],
  message_count_threshold: [100, 1000],
  idle_timeout_seconds: [86_400, 604_800],
  keep_recent_count: [0, 500],
  min_commit_interval_seconds: [0, 604_800],
} as const

type Field = keyof typeof FIELDS
export type AutoCommitPolicy = Record<Field, number>

/** The whole policy: what was sent, over what was there, over what is usual; within bounds. */
export function mergedPolicy(sent: Readonly<Record<string, unknown>>, before: AutoCommitPolicy | null): AutoCommitPolicy {
  const unknown = Object.keys(sent).find((field) => !Object.hasOwn(FIELDS, field))
  if (unknown !== undefined)
    throw invalid(`There is no field "${unknown}" in an auto_commit_policy; there are ${Object.keys(FIELDS).join(', ')}.`)
  const fieldOf = (field: Field): number => {
    const [usual, most] = FIELDS[field]
    const value = sent[field] ?? (Object.hasOwn(sent, field) ? Number.NaN : (before?.[field] ?? usual))
    if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`auto_commit_policy.${field} must be a number.`)
    return Math.min(Math.max(Math.trunc(value), 0), most)
  }
  return Object.fromEntries((Object.keys(FIELDS) as Field[]).map((field) => [field, fieldOf(field)])) as AutoCommitPolicy
}

/** As the store keeps it. Clients mean "more than"; the store commits once there are so many. */
export function keptPolicy(policy: AutoCommitPolicy): JsonObject {
  return {
    tokens: policy.pending_token_threshold + 1,
    messages: policy.message_count_threshold + 1,
    idle_ms: policy.idle_timeout_seconds * 1000,
    keep: policy.keep_recent_count,
    min_interval_ms: policy.min_commit_interval_seconds * 1000,
  }
}

/** Null if the session commits only when it is told to. */
export function policyOf(policies: Readonly<Record<string, Json>>): AutoCommitPolicy | null {
  const kept = policies.auto_commit
  if (typeof kept !== 'object' || kept === null || Array.isArray(kept)) return null
  const { tokens, messages, idle_ms, keep, min_interval_ms } = kept as JsonObject
  const numberOr = (value: Json | undefined, usual: number): number => (typeof value === 'number' ? value : usual)
  return {
    pending_token_threshold: numberOr(tokens, FIELDS.pending_token_threshold[1] + 1) - 1,
    message_count_threshold: numberOr(messages, FIELDS.message_count_threshold[1] + 1) - 1,
    idle_timeout_seconds: numberOr(idle_ms, FIELDS.idle_timeout_seconds[1] * 1000) / 1000,
    keep_recent_count: numberOr(keep, 0),
    min_commit_interval_seconds: numberOr(min_interval_ms, 0) / 1000,
  }
}
