/** The types of the policies of a session. `check-policies.ts` checks them. */
import type { JsonObject } from '../record/record.ts'

/** When a running worker commits the session. The first of `tokens`, `messages` and `idle_ms` that holds commits. */
export type AutoCommitPolicy = {
  /** Commits once so many tokens are live. */
  readonly tokens?: number
  /** Commits once so many messages are live. */
  readonly messages?: number
  /** Commits once nothing was written for so long. */
  readonly idle_ms?: number
  /** Commits not more often than this. Defaults to 0. */
  readonly min_interval_ms?: number
  /** The number of messages that stay live. Defaults to 0. */
  readonly keep?: number
}

/** What `expire` does with the session, in place of the policy of the space. Null means that nothing is removed. */
export type SessionRetention = {
  /** Deletes the session once no caller has changed it for so many seconds. */
  readonly delete_idle_after?: number | null
  /** Erases the messages of archives that were completed so many seconds ago. */
  readonly drop_archives_after?: number | null
}

/** What a commit draws from the messages of the session. */
export type MemoryPolicy = {
  /** Messages without a `peer_id`. */
  readonly self?: { readonly enabled?: boolean } | null
  /** Messages with a `peer_id`. */
  readonly peer?: { readonly enabled?: boolean } | null
  /** The categories that are kept. Defaults to all. */
  readonly memory_types?: readonly string[] | null
  /** Whether there is a summary at all. */
  readonly working_memory?: { readonly enabled?: boolean } | null
}

/** The policies that Holdfast reads, and any of your own. Null removes a policy. */
export type Policies = JsonObject & {
  readonly auto_commit?: AutoCommitPolicy | null
  readonly retention?: SessionRetention | null
  readonly memory_policy?: MemoryPolicy | null
}
