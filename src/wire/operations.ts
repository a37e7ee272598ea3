/** Smaller answers of a store as they stand in JSON, over HTTP and with `--json`; and back. */
import type { Usage } from '../session/state.ts'
import type { Written } from '../store/handle.ts'
import type { ErasedSession } from '../store/lifecycle/erase-owner.ts'
import type { Expired } from '../store/lifecycle/expire.ts'
import type { Purged } from '../store/lifecycle/purge.ts'
import type { RetentionPolicy } from '../store/lifecycle/retention-policy.ts'
import type { StoredEntry } from '../store/messages/entries.ts'
import type { Quota, QuotaUsage } from '../store/quotas/quota-port.ts'
import type { Turn } from '../window/turns.ts'

export type WrittenFields = ReturnType<typeof writtenFields>

export function writtenFields(session: string, { version, duplicate }: Written) {
  return { session_id: session, version, duplicate }
}

export type UsageFields = ReturnType<typeof usageFields>

export function usageFields({ model, calls, inputTokens, outputTokens }: Usage) {
  return { model, calls, input_tokens: inputTokens, output_tokens: outputTokens }
}

export function usageOf({ model, calls, input_tokens, output_tokens }: UsageFields): Usage {
  return { model, calls, inputTokens: input_tokens, outputTokens: output_tokens }
}

export type TurnFields = ReturnType<typeof turnFields>

export function turnFields({ status, messages, openCalls }: Turn) {
  return {
    status,
    message_ids: messages,
    open_calls: openCalls.map(({ id, name, message }) => ({ call_id: id, name, message_id: message })),
  }
}

export function turnOf({ status, message_ids, open_calls }: TurnFields): Turn {
  return {
    status,
    messages: message_ids,
    openCalls: open_calls.map(({ call_id, name, message_id }) => ({ id: call_id, name, message: message_id })),
  }
}

export type EntryFields = ReturnType<typeof entryFields>

export function entryFields({ channel, key, value, at }: StoredEntry) {
  return { channel, key, value, at }
}

export type PurgedFields = ReturnType<typeof purgedFields>

export function purgedFields({ session, deletedAt, action, freedBytes }: Purged, dryRun: boolean) {
  return { session_id: session, deleted_at: deletedAt, action, freed_bytes: freedBytes, dry_run: dryRun }
}

export function purgedOf({ session_id, deleted_at, action, freed_bytes }: PurgedFields): Purged {
  return { session: session_id, deletedAt: deleted_at, action, freedBytes: freed_bytes }
}

export type ErasedFields = ReturnType<typeof erasedFields>

export function erasedFields({ session, action, messages }: ErasedSession, dryRun: boolean) {
  return { session_id: session, action, messages, dry_run: dryRun }
}

export function erasedOf({ session_id, action, messages }: ErasedFields): ErasedSession {
  return { session: session_id, action, messages }
}

export type QuotaFields = ReturnType<typeof quotaFields>

/** Null: no limit. */
export function quotaFields({ sessions, bytes, messagesPerMinute }: Quota) {
  return { sessions: sessions ?? null, bytes: bytes ?? null, messages_per_minute: messagesPerMinute ?? null }
}

export function quotaOf({ sessions, bytes, messages_per_minute }: Partial<QuotaFields>): Quota {
  const fields = { sessions, bytes, messagesPerMinute: messages_per_minute }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as Quota
}

export type QuotaUsageFields = QuotaFields & { readonly used: QuotaUsage | null }

export type RetentionFields = ReturnType<typeof retentionFields>

/** Null: kept for ever. */
export function retentionFields({ deleteIdleAfterMs, dropArchivesAfterMs, purgeDeletedAfterMs }: RetentionPolicy) {
  const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1000)
  return {
    delete_idle_after_seconds: seconds(deleteIdleAfterMs),
    drop_archives_after_seconds: seconds(dropArchivesAfterMs),
    purge_deleted_after_seconds: seconds(purgeDeletedAfterMs),
  }
}

export function retentionPolicyOf(fields: { readonly [K in keyof RetentionFields]?: number | null | undefined }): RetentionPolicy {
  const times = {
    deleteIdleAfterMs: fields.delete_idle_after_seconds,
    dropArchivesAfterMs: fields.drop_archives_after_seconds,
    purgeDeletedAfterMs: fields.purge_deleted_after_seconds,
  }
  return Object.fromEntries(Object.entries(times).flatMap(([name, seconds]) => (seconds == null ? [] : [[name, seconds * 1000]])))
}

export type ExpiredFields = ReturnType<typeof expiredFields>

export function expiredFields({ session, action, since, archive }: Expired, dryRun: boolean) {
  return { session_id: session, action, archive: archive ?? null, since, dry_run: dryRun }
}

export function expiredOf({ session_id, action, archive, since }: ExpiredFields): Expired {
  return { session: session_id, action, since, ...(archive === null ? {} : { archive }) }
}
