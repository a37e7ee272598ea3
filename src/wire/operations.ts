/** Smaller answers of a store as they stand in JSON, over HTTP and with `--json`; and back. */
import { type ErrorCode, HoldfastError } from '../errors.ts'
import type { Usage } from '../session/state.ts'
import type { Written } from '../store/handle.ts'
import type { ErasedSession } from '../store/lifecycle/erase-owner.ts'
import type { Expired } from '../store/lifecycle/expire.ts'
import type { Purged } from '../store/lifecycle/purge.ts'
import type { RetentionPolicy } from '../store/lifecycle/retention-policy.ts'
import type { StoredEntry } from '../store/messages/entries.ts'
import type { Quota, QuotaUsage } from '../store/quotas/quota-port.ts'
import type { Finding, FindingKind } from '../verify/findings.ts'
import type { Turn } from '../window/turns.ts'
import {
  as,
  asText,
  count,
  type Describes,
  decimal,
  described,
  flag,
  json,
  list,
  mapped,
  nullable,
  object,
  oneOf,
  optional,
  orNull,
  sent,
  text,
  time,
} from './codec.ts'
import { placesCodec } from './damage.ts'

/** What the answer to a write names, and the caller knows. */
interface OfSession {
  readonly session: string
}

export const writtenCodec = object(
  { session: sent(as('session_id', text)), version: text, duplicate: flag },
  { name: 'Written' },
) satisfies Describes<Written, OfSession>

export const usageCodec = object(
  { model: text, calls: count, inputTokens: count, outputTokens: count },
  { name: 'Usage' },
) satisfies Describes<Usage>

export const turnCodec = object(
  {
    status: oneOf('empty', 'complete', 'unanswered', 'interrupted'),
    messages: as('message_ids', list(text)),
    openCalls: list(object({ id: as('call_id', text), name: text, message: as('message_id', text) })),
  },
  { name: 'Turn' },
) satisfies Describes<Turn>

export const entryCodec = object(
  { channel: text, key: text, value: json, at: time, damage: optional(placesCodec) },
  { name: 'Entry' },
) satisfies Describes<StoredEntry>

/** Whether nothing was changed. */
const dryRun = sent(flag)

interface Run {
  readonly dryRun: boolean
}

export const purgedCodec = object(
  {
    session: as('session_id', text),
    deletedAt: text,
    action: oneOf('purged', 'kept', 'failed'),
    freedBytes: count,
    dryRun,
  },
  { name: 'Purged' },
) satisfies Describes<Purged, Run>

/** Why one of several things failed. */
const failureCodec = mapped(
  object({ code: text, message: text }, { name: 'Failure' }),
  ({ code, message }: HoldfastError) => ({ code, message }),
  ({ code, message }) => new HoldfastError(code as ErrorCode, message),
)

export const erasedCodec = object(
  {
    session: as('session_id', text),
    action: oneOf('purged', 'erased', 'failed'),
    messages: count,
    dryRun,
    error: optional(failureCodec),
  },
  { name: 'Erased' },
) satisfies Describes<ErasedSession, Run>

export const expiredCodec = object(
  {
    session: as('session_id', text),
    action: oneOf('deleted', 'dropped', 'purged', 'kept', 'failed'),
    archive: orNull(count),
    since: text,
    dryRun,
  },
  { name: 'Expired' },
) satisfies Describes<Expired, Run>

/** Null: no limit. */
const limit = orNull(count)

const limits = { sessions: limit, bytes: limit, messagesPerMinute: limit }

export const quotaCodec = object(limits) satisfies Describes<Quota>

export const quotaUsageCodec = object(
  { ...limits, used: described(nullable(object({ sessions: count, bytes: count })), 'null: of a key that has a limit on neither') },
  { name: 'Quota', description: 'null: no limit' },
) satisfies Describes<Quota & { readonly used: QuotaUsage | null }>

/** Seconds outside, milliseconds inside. Null: kept without an end. */
const seconds = orNull(
  mapped(
    decimal,
    (ms: number) => ms / 1000,
    (given) => given * 1000,
  ),
)

export const retentionCodec = object(
  {
    deleteIdleAfterMs: as('delete_idle_after_seconds', seconds),
    dropArchivesAfterMs: as('drop_archives_after_seconds', seconds),
    purgeDeletedAfterMs: as('purge_deleted_after_seconds', seconds),
  },
  { name: 'Retention', description: 'null: kept for ever' },
) satisfies Describes<RetentionPolicy>

export const findingCodec = object(
  {
    session: as('session_id', text),
    space: nullable(text),
    segment: nullable(count),
    offset: nullable(count),
    length: nullable(count),
    kind: asText<FindingKind>(),
    severity: oneOf('damage', 'note'),
    action: text,
  },
  { name: 'Finding' },
) satisfies Describes<Finding>

/** Whether the key of a session was there to be destroyed. */
export const destroyedCodec = object({ destroyed: flag })

/** What a check of a space found. */
export const checkedCodec = object({ sessions: count, findings: list(findingCodec) })
