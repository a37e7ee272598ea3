/** Commits, their tasks and archives, and what came of them, as they stand in JSON, over HTTP and with `--json`; and back. */
import type { Memory } from '../store/memories.ts'
import type { Window } from '../store/messages/window.ts'
import type { ArchiveInfo, Committed, TaskInfo } from '../store/tasks.ts'
import { archiveName, archiveNumber, archiveUri, secondsOf, timeOf } from './names.ts'

/** What a task is about at present; once it has ended, the status says it all. */
const STAGES: Readonly<Record<TaskInfo['status'], string>> = {
  pending: 'waiting',
  running: 'summarising',
  completed: 'ended',
  failed: 'ended',
  cancelled: 'ended',
}

export type TaskFields = ReturnType<typeof taskFields>

export function taskFields(info: TaskInfo, user?: string) {
  const { id, session, archive, status, attempts, createdAt, updatedAt, result, error } = info
  return {
    task_id: id,
    task_type: 'session_commit' as const,
    status,
    stage: STAGES[status],
    created_at: secondsOf(createdAt),
    updated_at: secondsOf(updatedAt),
    resource_id: session,
    archive_id: archiveName(archive),
    attempts,
    result:
      result === null
        ? null
        : {
            session_id: session,
            archive_uri: archiveUri(session, archive, user),
            abstract: result.abstract,
            memories_extracted: result.categories,
          },
    error,
  }
}

export function taskInfo(fields: TaskFields): TaskInfo {
  const { result } = fields
  return {
    id: fields.task_id,
    session: fields.resource_id,
    archive: archiveNumber(fields.archive_id) ?? 0,
    status: fields.status,
    attempts: fields.attempts,
    createdAt: timeOf(fields.created_at),
    updatedAt: timeOf(fields.updated_at),
    result:
      result === null
        ? null
        : { abstract: result.abstract, memories: sumOf(result.memories_extracted), categories: result.memories_extracted },
    error: fields.error,
  }
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

type Settled = Committed extends infer C
  ? C extends { task: { id: string } }
    ? Omit<C, 'task'> & { readonly task: { readonly id: string } }
    : C
  : never

export type CommitFields = ReturnType<typeof commitFields>

export function commitFields(session: string, committed: Settled, user?: string) {
  const accepted = committed.status === 'accepted' ? committed : undefined
  return {
    session_id: session,
    status: committed.status,
    task_id: accepted?.task.id ?? null,
    archive_uri: accepted === undefined ? null : archiveUri(session, accepted.archive, user),
    archived: accepted !== undefined,
    reason: committed.status === 'skipped' ? committed.reason : null,
    archive_id: accepted === undefined ? null : archiveName(accepted.archive),
    archived_count: accepted?.messageCount ?? 0,
    duplicate: accepted?.duplicate ?? false,
  }
}

export type ArchiveFields = ReturnType<typeof archiveFields>

export function archiveFields(session: string, archive: ArchiveInfo) {
  return {
    session_id: session,
    archive_id: archiveName(archive.number),
    status: archive.status,
    message_count: archive.messageCount,
    spans: archive.spans,
    abstract: archive.abstract,
    created_at: archive.createdAt,
    updated_at: archive.updatedAt,
    tokens: archive.tokens,
    task_id: archive.task,
    attempts: archive.attempts,
    error: archive.error,
  }
}

export type WholeArchiveFields = ReturnType<typeof wholeArchiveFields>

/** With everything that its summary says. */
export function wholeArchiveFields(session: string, archive: ArchiveInfo) {
  return { ...archiveFields(session, archive), overview: archive.overview, memories: archive.memories }
}

export function archiveInfo(fields: WholeArchiveFields): ArchiveInfo {
  return {
    number: archiveNumber(fields.archive_id) ?? 0,
    status: fields.status,
    task: fields.task_id,
    messageCount: fields.message_count,
    spans: fields.spans,
    tokens: fields.tokens,
    createdAt: fields.created_at,
    updatedAt: fields.updated_at,
    attempts: fields.attempts,
    abstract: fields.abstract,
    overview: fields.overview,
    memories: fields.memories,
    error: fields.error,
  }
}

export type WindowFields = ReturnType<typeof windowFields>

export function windowFields({ overview, abstracts, recalled, messages, origins, tokens, leftOut, stats }: Window) {
  return {
    // A text in any case, as clients have it.
    latest_archive_overview: overview ?? '',
    pre_archive_abstracts: abstracts.map(({ archive, abstract }) => ({ archive_id: archiveName(archive), abstract })),
    recalled,
    messages,
    origins,
    estimatedTokens: tokens,
    stats,
    left_out: leftOut,
  }
}

export function windowOf(fields: WindowFields, damage: Window['damage']): Window {
  return {
    overview: fields.latest_archive_overview === '' ? null : fields.latest_archive_overview,
    abstracts: fields.pre_archive_abstracts.map(({ archive_id, abstract }) => ({ archive: archiveNumber(archive_id) ?? 0, abstract })),
    recalled: fields.recalled,
    messages: fields.messages,
    origins: fields.origins,
    tokens: fields.estimatedTokens,
    stats: fields.stats,
    leftOut: fields.left_out,
    damage,
  }
}

export type MemoryFields = ReturnType<typeof memoryFields>

export function memoryFields({ id, text, category, key, owner, updatedAt, sources }: Memory) {
  return {
    memory_id: id,
    text,
    category,
    key,
    owner,
    updated_at: updatedAt,
    sources: sources.map(({ session, archive, messages }) => ({
      session_id: session,
      archive_id: archiveName(archive),
      message_ids: messages,
    })),
  }
}

export function memoryOf({ memory_id, text, category, key, owner, updated_at, sources }: MemoryFields): Memory {
  return {
    id: memory_id,
    text,
    category,
    key,
    owner,
    updatedAt: updated_at,
    sources: sources.map(({ session_id, archive_id, message_ids }) => ({
      session: session_id,
      archive: archiveNumber(archive_id) ?? 0,
      messages: message_ids,
    })),
  }
}
