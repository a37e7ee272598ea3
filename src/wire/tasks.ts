/** Commits, their tasks and archives, windows and memories as they are in JSON, over HTTP and with `--json`; and back. */
import type { ExtractedMemory } from '../session/records.ts'
import type { Memory } from '../store/memories.ts'
import type { Window } from '../store/messages/window.ts'
import type { ArchiveInfo, TaskInfo } from '../store/task-info.ts'
import type { Committed } from '../store/tasks.ts'
import type { LeftOut } from '../window/assemble.ts'
import {
  as,
  byName,
  count,
  type Describes,
  described,
  exactly,
  flag,
  list,
  mapped,
  nullable,
  object,
  objectOf,
  objectWith,
  oneOf,
  optional,
  sent,
  text,
  time,
} from './codec.ts'
import { storedMessageCodec } from './messages.ts'
import { archiveIdCodec, archiveUri, nextCursor, secondsCodec } from './names.ts'

const archive = as('archive_id', archiveIdCodec)
const error = nullable(object({ code: text, message: text }))
const status = oneOf('pending', 'running', 'completed', 'failed', 'cancelled')

/** What a task does at present. Once it has ended, its status says everything. */
const STAGES: Readonly<Record<TaskInfo['status'], string>> = {
  pending: 'waiting',
  running: 'summarising',
  completed: 'ended',
  failed: 'ended',
  cancelled: 'ended',
}

/** The user in the address of an archive. Defaults to `default`. */
interface ForUser {
  readonly user?: string
}

export const taskCodec = mapped(
  object(
    {
      id: as('task_id', text),
      type: sent(as('task_type', exactly('session_commit'))),
      status,
      stage: sent(text),
      createdAt: secondsCodec,
      updatedAt: secondsCodec,
      session: as('resource_id', text),
      archive,
      attempts: count,
      result: nullable(
        object({
          session: sent(as('session_id', text)),
          archiveUri: sent(text),
          abstract: text,
          categories: as('memories_extracted', byName(count)),
        }),
      ),
      error,
    },
    { name: 'Task' },
  ),
  ({ user, ...info }: TaskInfo & ForUser) => ({
    ...info,
    type: 'session_commit' as const,
    stage: STAGES[info.status],
    result: info.result && { ...info.result, session: info.session, archiveUri: archiveUri(info.session, info.archive, user) },
  }),
  ({ result, ...info }): TaskInfo => ({ ...info, result: result && { ...result, memories: sumOf(result.categories) } }),
)

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0)
}

/** A commit whose task is known by its id alone. */
type Settled<C = Committed> = C extends { readonly task: unknown } ? Omit<C, 'task'> & { readonly task: { readonly id: string } } : C

/** Outside, a commit that was skipped has the same fields as one that was accepted. */
export const commitCodec = mapped(
  object(
    {
      session: sent(as('session_id', text)),
      status: oneOf('accepted', 'skipped'),
      task: as('task_id', nullable(text)),
      archiveUri: sent(nullable(text)),
      archived: sent(flag),
      reason: nullable(oneOf('no_messages', 'all_within_keep_window')),
      archive: as('archive_id', nullable(archiveIdCodec)),
      messageCount: as('archived_count', count),
      duplicate: flag,
    },
    { name: 'Commit' },
  ),
  ({ session, user, committed }: { readonly session: string; readonly committed: Settled } & ForUser) =>
    committed.status === 'skipped'
      ? { ...SKIPPED, session, reason: committed.reason }
      : {
          ...committed,
          session,
          task: committed.task.id,
          archiveUri: archiveUri(session, committed.archive, user),
          archived: true,
          reason: null,
        },
  ({ task, reason, archive: number, messageCount, duplicate }): Settled =>
    task === null || number === null
      ? { status: 'skipped', reason: reason ?? 'no_messages' }
      : { status: 'accepted', task: { id: task }, archive: number, messageCount, duplicate },
)

const SKIPPED = {
  status: 'skipped',
  task: null,
  archiveUri: null,
  archived: false,
  archive: null,
  messageCount: 0,
  duplicate: false,
} as const

const archiveFields = {
  session: sent(as('session_id', text)),
  number: archive,
  status,
  messageCount: count,
  spans: described(list(object({ from: count, to: count })), 'where on the branch its messages are'),
  abstract: nullable(text),
  createdAt: time,
  updatedAt: time,
  tokens: count,
  task: as('task_id', text),
  attempts: count,
  error,
}

/** Without what its summary says in full. */
export const archiveCodec = object(archiveFields)

const extractedMemoryCodec = object(
  { id: text, key: text, category: text, text: optional(text), sources: list(text) },
  { name: 'ExtractedMemory' },
) satisfies Describes<ExtractedMemory>

const wholeArchiveFields = { ...archiveFields, overview: nullable(text), memories: list(extractedMemoryCodec) }

export const wholeArchiveCodec = object(wholeArchiveFields, { name: 'Archive' }) satisfies Describes<
  ArchiveInfo,
  { readonly session: string }
>

/** With its messages as they were appended. */
export const storedArchiveCodec = object(
  { ...wholeArchiveFields, messages: list(storedMessageCodec), cursor: nextCursor },
  { name: 'StoredArchive' },
)

const windowStats = object({
  totalArchives: as('totalArchives', count),
  includedArchives: as('includedArchives', count),
  droppedArchives: as('droppedArchives', count),
  failedArchives: as('failedArchives', count),
  activeTokens: as('activeTokens', count),
  archiveTokens: as('archiveTokens', count),
}) satisfies Describes<Window['stats']>

/** What cannot be read of a window is reported beside it, as in every answer. */
export const windowCodec = object(
  {
    // A text in any case, as clients have it.
    overview: as(
      'latest_archive_overview',
      mapped(
        text,
        (overview: string | null) => overview ?? '',
        (overview) => (overview === '' ? null : overview),
      ),
    ),
    abstracts: as('pre_archive_abstracts', list(object({ archive, abstract: text }))),
    recalled: list(object({ kind: oneOf('memory', 'message'), id: text, text })),
    messages: list(objectOf<object>()),
    origins: list(nullable(object({ id: text, at: text }))),
    tokens: as('estimatedTokens', count),
    stats: windowStats,
    leftOut: list(objectWith<LeftOut>({ kind: text, reason: text })),
  },
  { name: 'Window' },
) satisfies Describes<Omit<Window<object>, 'damage'>>

export const memoryCodec = object(
  {
    id: as('memory_id', text),
    text,
    category: text,
    key: text,
    owner: nullable(text),
    updatedAt: time,
    sources: list(object({ session: as('session_id', text), archive, messages: as('message_ids', list(text)) })),
  },
  { name: 'Memory' },
) satisfies Describes<Memory>
