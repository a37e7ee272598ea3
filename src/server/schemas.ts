/** What answers look like, for the OpenAPI document and for the tests that hold answers against it. The fields are those of src/wire. */
import { z } from '@hono/zod-openapi'
import { FORMATS } from '../message/formats.ts'
import type { ImportedFields, ImportTotalsFields } from '../wire/imports.ts'
import type { BatchFields, ChangeFields, PageFields, StoredFields } from '../wire/messages.ts'
import type { EntryFields, TurnFields, UsageFields, WrittenFields } from '../wire/operations.ts'
import type { FoundFields, StatsFields } from '../wire/search.ts'
import type { SessionFields, SharedFields, TreeFields } from '../wire/sessions.ts'
import type { ArchiveFields, CommitFields, MemoryFields, TaskFields, WholeArchiveFields, WindowFields } from '../wire/tasks.ts'
import { DamagedPlaces } from './damage-schemas.ts'
import { SCOPES } from './principal.ts'

const text = z.string()
const count = z.number().int().min(0)
const nullable = text.nullable()
const json = z.json().openapi({ description: 'any JSON', type: ['object', 'array', 'string', 'number', 'boolean', 'null'] })
const jsonObject = z.record(text, json)
const time = text.openapi({ format: 'date-time' })

/** A flag in a query. */
export const flag = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1')
  .openapi({ type: 'boolean' })
/** A whole number in a query. */
export const number = z.coerce.number().int().min(0)
/** A moment in a query. */
export const instant = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .openapi({ type: 'string', format: 'date-time' })
export const format = z.enum([...FORMATS, 'stored']).openapi({
  description:
    'The shape of the messages: that of a provider, `stored` as they were appended, or as OpenViking’s clients read them unless told.',
})

export const Description = {
  title: nullable.optional(),
  tags: z.array(text).optional(),
  owner: nullable.optional(),
  workspace: nullable.optional(),
  metadata: jsonObject.optional().openapi({ description: 'a patch: null removes a field' }),
}

const AutoCommitPolicy = z
  .object({
    pending_token_threshold: count,
    message_count_threshold: count,
    idle_timeout_seconds: count,
    keep_recent_count: count,
    min_commit_interval_seconds: count,
  })
  .openapi('AutoCommitPolicy')

const Snapshot = z.object({ name: text, taken_at: time, message_count: count, current: z.boolean() }).openapi('Snapshot')
const Share = z.object({ share_id: text, granted_at: time, expires_at: time.nullable(), message_count: count }).openapi('Share')
const User = z.object({ account_id: text, user_id: text }).openapi('User')

export const Session = z
  .object({
    session_id: text,
    status: z.enum(['ok', 'damaged', 'unreadable', 'deleted']),
    version: text,
    title: nullable,
    tags: z.array(text),
    owner: nullable,
    workspace: nullable,
    metadata: jsonObject,
    policies: jsonObject,
    created_at: time.nullable(),
    updated_at: time.nullable(),
    deleted_at: time.nullable(),
    parent: nullable,
    parent_kind: z.enum(['fork', 'child']).nullable(),
    parent_message_id: nullable,
    message_count: count,
    pending_tokens: count,
    total_message_count: count,
    total_tokens: count,
    commit_count: count,
    snapshots: z.array(Snapshot),
    shares: z.array(Share),
    can_undo: z.boolean(),
  })
  .openapi('Session') satisfies z.ZodType<SessionFields>

export const ListedSession = Session.extend({ uri: text, is_dir: z.literal(true), mod_time: text }).openapi('ListedSession')

const TokenUsage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  cached_tokens: count,
  reasoning_tokens: count,
})

export const SessionDetails = Session.extend({
  uri: text,
  user: User,
  last_commit_at: text.openapi({ description: 'empty before the first commit' }),
  memories_extracted: z.record(text, count).openapi({ description: 'by category, and `total`' }),
  llm_token_usage: TokenUsage,
  auto_commit_policy: AutoCommitPolicy.nullable(),
}).openapi('SessionDetails')

export const CreatedSession = z
  .object({ session_id: text, uri: text, user: User, auto_commit_policy: AutoCommitPolicy.nullable(), version: text })
  .openapi('CreatedSession')

export const SessionConfig = z
  .object({ session_id: text, auto_commit_policy: AutoCommitPolicy.nullable(), memory_extraction_config: json, version: text })
  .openapi('SessionConfig')

export const Written = z
  .object({ session_id: text, version: text, duplicate: z.boolean() })
  .openapi('Written') satisfies z.ZodType<WrittenFields>

export const Message = z
  .object({
    role: text.optional().openapi({ description: 'user, assistant, system, tool, or what you like' }),
    type: text.optional().openapi({ description: 'instead of a role, for items that have none' }),
    content: json.optional(),
    parts: z.array(json).optional(),
    id: text.optional().openapi({ description: 'sent again with the same id, it is there once' }),
    created_at: text.optional(),
  })
  .catchall(json)
  .openapi('Message', { description: 'Any other field is kept with the message.' })

export const StoredMessage = z
  .object({
    id: text,
    at: time,
    archived: z.boolean(),
    archive_id: nullable,
    depth: count,
    replaced: z.boolean(),
    erased: z.boolean(),
    message: jsonObject,
  })
  .openapi('StoredMessage') satisfies z.ZodType<StoredFields>

export const Page = z.object({ messages: z.array(StoredMessage), more: z.boolean() }).openapi('Page') satisfies z.ZodType<PageFields>

export const Appended = z
  .object({ session_id: text, message_count: count, pending_tokens: count, message_id: text, version: text, duplicate: z.boolean() })
  .openapi('Appended')
export const AppendedBatch = Appended.extend({ added: count, message_ids: z.array(text) }).openapi(
  'AppendedBatch',
) satisfies z.ZodType<BatchFields>

export const Commit = z
  .object({
    session_id: text,
    status: z.enum(['accepted', 'skipped']),
    task_id: nullable,
    archive_uri: nullable,
    archived: z.boolean(),
    reason: z.enum(['no_messages', 'all_within_keep_window']).nullable(),
    archive_id: nullable,
    archived_count: count,
    duplicate: z.boolean(),
  })
  .openapi('Commit') satisfies z.ZodType<CommitFields>

const TaskStatus = z.enum(['pending', 'running', 'completed', 'failed', 'cancelled'])
const TaskError = z.object({ code: text, message: text }).nullable()

export const Task = z
  .object({
    task_id: text,
    task_type: z.literal('session_commit'),
    status: TaskStatus,
    stage: text,
    created_at: z.number(),
    updated_at: z.number(),
    resource_id: text,
    archive_id: text,
    attempts: count,
    result: z.object({ session_id: text, archive_uri: text, abstract: text, memories_extracted: z.record(text, count) }).nullable(),
    error: TaskError,
  })
  .openapi('Task') satisfies z.ZodType<TaskFields>

/** What came of a commit that was waited for. */
export const EndedCommit = Commit.extend(Task.shape).openapi('EndedCommit')

const Archive = z
  .object({
    session_id: text,
    archive_id: text,
    status: TaskStatus,
    message_count: count,
    spans: z.array(z.object({ from: count, to: count })).openapi({ description: 'where on the branch its messages stand' }),
    abstract: nullable,
    created_at: time,
    updated_at: time,
    tokens: count,
    task_id: text,
    attempts: count,
    error: TaskError,
  })
  .openapi('Archive') satisfies z.ZodType<ArchiveFields>

const Memories = z.array(
  z.object({ id: text, key: text, category: text, text: text.optional(), sources: z.array(text) }).openapi('ExtractedMemory'),
)
export const ArchiveWithSummary = Archive.extend({ overview: nullable, memories: Memories })
/** Clients know texts, where there is no summary yet too. */
export const WholeArchive = ArchiveWithSummary.extend({ abstract: text, overview: text, messages: z.array(jsonObject) }).openapi(
  'WholeArchive',
)
export const StoredArchive = ArchiveWithSummary.extend({ messages: z.array(StoredMessage) }).openapi('StoredArchive') satisfies z.ZodType<
  Omit<WholeArchiveFields, 'memories'>
>

export const MessageRecord = z.object({ session_id: text, position: count, record: jsonObject }).openapi('MessageRecord')

export const RecordPage = z
  .object({ records: z.array(z.object({ position: count, record: jsonObject })), before: count.nullable() })
  .openapi('RecordPage')

const LeftOut = z.looseObject({ kind: text, reason: text })

export const Window = z
  .object({
    latest_archive_overview: text,
    pre_archive_abstracts: z.array(z.object({ archive_id: text, abstract: text })),
    recalled: z.array(z.object({ kind: z.enum(['memory', 'message']), id: text, text })),
    messages: z.array(jsonObject),
    origins: z.array(z.object({ id: text, at: text }).nullable()),
    estimatedTokens: count,
    stats: z.object({
      totalArchives: count,
      includedArchives: count,
      droppedArchives: count,
      failedArchives: count,
      activeTokens: count,
      archiveTokens: count,
    }),
    left_out: z.array(LeftOut),
  })
  .openapi('Window') satisfies z.ZodType<Omit<WindowFields, 'left_out'>>

export const Memory = z
  .object({
    memory_id: text,
    text,
    category: text,
    key: text,
    owner: nullable,
    updated_at: time,
    sources: z.array(z.object({ session_id: text, archive_id: text, message_ids: z.array(text) })),
  })
  .openapi('Memory') satisfies z.ZodType<MemoryFields>

export const Usage = z
  .object({ model: text, calls: count, input_tokens: count, output_tokens: count })
  .openapi('Usage') satisfies z.ZodType<UsageFields>

export const Turn = z
  .object({
    status: z.enum(['empty', 'complete', 'unanswered', 'interrupted']),
    message_ids: z.array(text),
    open_calls: z.array(z.object({ call_id: text, name: text, message_id: text })),
  })
  .openapi('Turn') satisfies z.ZodType<TurnFields>

export const Entry = z.object({ channel: text, key: text, value: json, at: time }).openapi('Entry') satisfies z.ZodType<EntryFields>

export const Tree: z.ZodType<TreeFields> = z
  .object({
    session_id: text,
    version: text,
    kind: z.enum(['root', 'fork', 'child']),
    title: nullable,
    status: z.enum(['ok', 'damaged', 'unreadable', 'deleted']),
    message_id: nullable,
    damage: DamagedPlaces.optional(),
    children: z.array(z.lazy(() => Tree).openapi({ type: 'object', description: 'the same, of those that come from it' })),
  })
  .openapi('Tree')

export const Snapshots = z.array(Snapshot)
export const Shares = z.array(Share)
export const Shared = z
  .object({ session_id: text, version: text, duplicate: z.boolean(), share_id: text, token: text, expires_at: time.nullable() })
  .openapi('NewShare') satisfies z.ZodType<SharedFields>

export const SharedSession = z
  .object({
    title: nullable,
    granted_at: time,
    expires_at: time.nullable(),
    message_count: count,
    messages: z.array(StoredMessage),
    more: z.boolean(),
  })
  .openapi('SharedSession')

export const Change = z
  .object({
    session_id: text,
    type: text,
    at: text,
    version: text,
    messages: z.array(z.object({ id: text, message: jsonObject })),
    record: z.looseObject({}),
  })
  .openapi('Change') satisfies z.ZodType<Omit<ChangeFields, 'record'>>

export const Imported = z
  .object({
    source: text,
    session_id: text.nullable(),
    messages: count,
    recovered: count,
    damaged: count,
    skipped: count,
    healed: z.array(text),
    suspects: z.array(z.object({ first: text, second: text })),
    format: text.nullable(),
    damage: z.array(z.object({ file: text, line: count.nullable(), offset: count, length: count, reason: text })),
    note: text.nullable(),
  })
  .openapi('Imported') satisfies z.ZodType<ImportedFields>

export const ImportTotals = z
  .object({
    sources: count,
    sessions: count,
    messages: count,
    recovered: count,
    damaged: count,
    skipped: count,
    healed: count,
    suspects: count,
  })
  .openapi('ImportTotals') satisfies z.ZodType<ImportTotalsFields>

export const Finding = z
  .object({
    session_id: text,
    space: text.nullable(),
    segment: count.nullable(),
    offset: count.nullable(),
    length: count.nullable(),
    kind: text,
    severity: z.enum(['damage', 'note']),
    action: text,
  })
  .openapi('Finding')

export const Key = z
  .object({
    key_id: text,
    space: text,
    scope: z.enum(SCOPES),
    owner: nullable,
    name: nullable,
    created_at: time,
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
  })
  .openapi('Key')
export const NewKey = Key.extend({ key: text }).openapi('NewKey')
export const Token = z
  .object({ token: text, token_id: text, scope: z.enum(SCOPES), session_id: nullable, owner: nullable, expires_at: time })
  .openapi('Token')

export const ErrorEnvelope = z
  .object({
    status: z.literal('error'),
    error: z.object({
      code: text,
      message: text,
      details: z.looseObject({ retryable: z.boolean(), outcome: z.enum(['none', 'unknown']) }),
    }),
  })
  .openapi('Error')

const Lag = z.object({ sessions: count, bytes: count }).nullable()

export const Found = z
  .object({
    hits: z.array(
      z
        .object({
          session_id: text,
          message_id: nullable,
          snippet: text,
          score: z.number(),
          kind: z.enum(['message', 'session', 'summary', 'memory']),
          title: nullable,
          archive_id: nullable,
          memory_id: nullable,
          role: nullable,
          at: text,
          marks: z.array(z.tuple([count, count])),
        })
        .openapi('Hit'),
    ),
    lag: Lag.openapi({ description: 'text that is not indexed yet and was not searched' }),
    more_damage: z.boolean().optional().openapi({ description: 'more sessions that were searched are damaged than `damage` names' }),
  })
  .openapi('Found') satisfies z.ZodType<FoundFields>

const MatchedContext = z
  .object({
    context_type: text,
    uri: text,
    level: count,
    score: z.number(),
    category: text,
    match_reason: text,
    abstract: text,
    overview: nullable,
  })
  .openapi('MatchedContext')

export const FindResult = z
  .object({ memories: z.array(MatchedContext), resources: z.array(MatchedContext), skills: z.array(MatchedContext), total: count })
  .openapi('FindResult')

export const Stats = z
  .object({
    sessions: z.object({ ok: count, damaged: count, unreadable: count, deleted: count }),
    messages: z.object({ live: count, archived: count }),
    tokens: count,
    bytes: count,
    tasks: z.object({ pending: count, running: count, completed: count, failed: count, cancelled: count }),
    usage: z.array(Usage),
    days: z.array(z.object({ day: text, sessions: count, messages: count, tokens: count })),
    lag: Lag,
  })
  .openapi('Stats') satisfies z.ZodType<StatsFields>
