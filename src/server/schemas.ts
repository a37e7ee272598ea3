/** What answers look like, for the OpenAPI document and for the tests that hold answers against it. The fields are those of src/wire. */
import { z } from '@hono/zod-openapi'
import { FORMATS } from '../message/formats.ts'
import { importedCodec, importTotalsCodec } from '../wire/imports.ts'
import {
  appendedCodec,
  batchCodec,
  changeCodec,
  messageRecordCodec,
  pageCodec,
  recordPageCodec,
  sharedSessionCodec,
  storedMessageCodec,
} from '../wire/messages.ts'
import { entryCodec, turnCodec, usageCodec, writtenCodec } from '../wire/operations.ts'
import { foundCodec, statsCodec } from '../wire/search.ts'
import { newShareCodec, sessionCodec, shareCodec, snapshotCodec, treePageCodec } from '../wire/sessions.ts'
import { commitCodec, memoryCodec, storedArchiveCodec, taskCodec, wholeArchiveCodec, windowCodec } from '../wire/tasks.ts'
import { anyObject, json, objectSchemaOf, schemaOf } from './wire-schema.ts'

const text = z.string()
const count = z.number().int().min(0)
const nullable = text.nullable()

/** A flag in a query. */
export const flag = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1')
  .openapi({ type: 'boolean' })
/** A whole number in a query. */
export function number({ min = 0, max = Number.MAX_SAFE_INTEGER }: { readonly min?: number; readonly max?: number } = {}) {
  return z
    .string()
    .regex(min < 0 ? /^-?\d+$/ : /^\d+$/, 'it must be a whole number in decimal digits')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .openapi({ type: 'integer', minimum: min, ...(max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }) })
}
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
  metadata: anyObject.optional().openapi({ description: 'a patch: null removes a field' }),
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

const User = z.object({ account_id: text, user_id: text }).openapi('User')

export const Session = objectSchemaOf(sessionCodec)

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

export const Written = schemaOf(writtenCodec)

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

export const StoredMessage = schemaOf(storedMessageCodec)
export const Page = schemaOf(pageCodec)
export const Appended = schemaOf(appendedCodec)
export const AppendedBatch = schemaOf(batchCodec)

export const Commit = objectSchemaOf(commitCodec)
export const Task = objectSchemaOf(taskCodec)
/** What came of a commit that was waited for. */
export const EndedCommit = Commit.extend(Task.shape).openapi('EndedCommit')

export const ArchiveWithSummary = objectSchemaOf(wholeArchiveCodec)
/** Clients expect texts, also where there is no summary yet. */
export const WholeArchive = ArchiveWithSummary.extend({
  abstract: text,
  overview: text,
  messages: z.array(anyObject),
  next_cursor: text.nullable(),
}).openapi('WholeArchive')
export const StoredArchive = schemaOf(storedArchiveCodec)

export const MessageRecord = schemaOf(messageRecordCodec)

export const RecordPage = schemaOf(recordPageCodec)

export const Window = schemaOf(windowCodec)
export const Memory = schemaOf(memoryCodec)
export const Usage = schemaOf(usageCodec)
export const Turn = schemaOf(turnCodec)
export const Entry = schemaOf(entryCodec)

export const TreePage = schemaOf(treePageCodec)
export const Snapshots = z.array(schemaOf(snapshotCodec))
export const Shares = z.array(schemaOf(shareCodec))
export const Shared = schemaOf(newShareCodec)

export const SharedSession = schemaOf(sharedSessionCodec)
export const Change = schemaOf(changeCodec)
export const Imported = schemaOf(importedCodec)
export const ImportTotals = schemaOf(importTotalsCodec)

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

export const Found = schemaOf(foundCodec)

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

export const Stats = schemaOf(statsCodec)
