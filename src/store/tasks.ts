/** Commits, their tasks and the archives that they make. */

import { ChangeWaiter } from '../engine/change-waiter.ts'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import type { JsonObject } from '../record/record.ts'
import { checkLimit } from '../session/check.ts'
import type { Outcome } from '../session/command.ts'
import * as archives from '../session/decide-commit.ts'
import type { CommitFailed, CommitFinished, ExtractedMemory } from '../session/records.ts'
import { noTask } from '../session/refusals.ts'
import type { Archive, SessionState } from '../session/state.ts'
import type { TaskApi } from './api/task-api.ts'
import { Handle, type WriteOptions, type Written, written } from './handle.ts'
import { boundaryOf, checkKeepOptions } from './lifecycle/keep-options.ts'
import { Transcript } from './messages/transcript.ts'
import { pageCursor, placeIn, staleCursor } from './page-cursor.ts'
import type { SessionParts } from './parts.ts'
import type { ArchiveInfo, ArchivePageOptions, CommitOptions, TaskInfo, WholeArchive } from './task-info.ts'

export type Committed =
  | {
      readonly status: 'accepted'
      readonly task: Task
      readonly archive: number
      readonly messageCount: number
      readonly duplicate: boolean
    }
  | { readonly status: 'skipped'; readonly reason: 'no_messages' | 'all_within_keep_window' }

export async function commit(handle: Handle, options: CommitOptions): Promise<Committed> {
  const retention = checkKeepOptions(options)
  const { key, expect } = options
  const terms = handle.terms('commit', retention, options)
  for (let tries = 0; ; tries++) {
    // As a rule this process knows the session as it is: then the commit is one record and nothing else. If it does not, it is decided anew.
    const known = tries === 0 ? liveAndWhole(handle.held.replica.known) : undefined
    const state = known ?? (await handle.liveState())
    const boundary = await boundaryOf(new Transcript(handle.parts, handle.id, state), state, retention)
    if (boundary === undefined && known !== undefined) continue
    // Also where nothing would be taken, a repeated call has to be answered with its first outcome, and a condition has to hold.
    if (boundary === undefined && key === undefined && expect === undefined) return skipped(state.head.n - state.archived.n)
    try {
      const outcome = await handle.submit(terms, (full) =>
        archives.commit(full, boundary ?? { at: null, n: 0, t: 0 }, state.head, known !== undefined),
      )
      const made = madeBy(outcome)
      if (made === undefined) return skipped(outcome.before.head.n - outcome.before.archived.n)
      return { status: 'accepted', task: new Task(handle, made), archive: made.number, messageCount: made.n, duplicate: outcome.duplicate }
    } catch (error) {
      if (boundary === undefined && error instanceof archives.BoundaryLeft) return skipped(state.head.n - state.archived.n)
      if (!(error instanceof archives.BoundaryLeft)) throw error
    }
  }
}

/** A state on which a commit can be chosen without reading the journal first. */
function liveAndWhole(state: SessionState | undefined): SessionState | undefined {
  return state?.status === 'live' && state.erasing.length === 0 ? state : undefined
}

/** The archive that a commit made, or had made. */
function madeBy({ before, archive, first }: Outcome): Outcome['archive'] {
  return first === undefined ? archive : before.archives.find(({ session, at }) => session === null && at === first.at)
}

function skipped(live: number): Committed {
  return { status: 'skipped', reason: live === 0 ? 'no_messages' : 'all_within_keep_window' }
}

/**
 * The work that a commit leaves to a worker: the summary of an archive.
 *
 * @example
 * const committed = await session.commit()
 * if (committed.status === 'accepted') await committed.task.completed()
 */
export class Task implements TaskApi {
  readonly id: string
  readonly archive: number
  readonly #handle: Handle
  readonly #name: archives.TaskName

  /** @internal */
  constructor(handle: Handle, { number, task }: archives.TaskName) {
    this.#handle = handle
    this.#name = { number, task }
    this.archive = number
    this.id = taskId(handle.id, task)
  }

  get session(): string {
    return this.#handle.id
  }

  async info(): Promise<TaskInfo> {
    const transcript = await this.#handle.transcript()
    return taskInfo(this.#handle.id, await this.#current(), transcript)
  }

  async completed({ signal }: { readonly signal?: AbortSignal } = {}): Promise<ArchiveInfo> {
    const { engine, clock } = this.#handle.parts
    const waiter = new ChangeWaiter(engine, clock, signal)
    try {
      for (;;) {
        const archive = await this.#current()
        if (archive.status === 'completed') return archiveInfo(this.#handle.id, archive, await this.#handle.transcript())
        if (archive.status === 'failed' || archive.status === 'cancelled') throw notCompleted(await this.info())
        signal?.throwIfAborted()
        await waiter.wait()
      }
    } finally {
      waiter.close()
    }
  }

  async cancel(options: WriteOptions = {}): Promise<Written> {
    const terms = this.#handle.terms('cancel', { archive: this.archive }, options)
    return written(await this.#handle.submit(terms, (full) => archives.cancel(full, this.#name)))
  }

  async retry(): Promise<Written> {
    return written(await this.#handle.submit({}, () => archives.retry(this.#name)))
  }

  async #current(): Promise<Archive> {
    const archive = (await this.#handle.liveState()).archives.find(({ task }) => task === this.#name.task)
    if (archive === undefined) throw noTask(this.id)
    return archive
  }
}

/** A task's id tells its session, so that it can be found without looking at every one. */
export function taskId(session: string, task: string): string {
  return `${task}.${Buffer.from(session).toString('base64url')}`
}

/** The session of a task's id, and the id of the record that made it; undefined if it cannot be one. */
function parseTaskId(id: string): { session: string; task: string } | undefined {
  const match = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]+)$/.exec(id)
  if (match === null) return undefined
  return { task: match[1] as string, session: Buffer.from(match[2] as string, 'base64url').toString('utf8') }
}

export async function findTask(parts: SessionParts, id: string): Promise<Task> {
  const parsed = parseTaskId(id)
  const handle = parsed === undefined ? undefined : new Handle(parts, parsed.session)
  const archive = (await handle?.readableState())?.archives.find(({ session, task }) => session === null && task === parsed?.task)
  if (handle === undefined || archive === undefined) throw noTask(id)
  return new Task(handle, archive)
}

export async function taskInfo(
  session: string,
  archive: Pick<Archive, 'number' | 'session' | 'status' | 'attempts' | 'requestedAt' | 'updatedAt' | 'task' | 'ended'>,
  transcript: Transcript,
): Promise<TaskInfo> {
  const { number, status, attempts, requestedAt: createdAt, updatedAt, task } = archive
  const { finished, error } = await endOf(archive, transcript)
  return {
    id: taskId(session, task),
    session,
    archive: number,
    status,
    attempts,
    createdAt,
    updatedAt,
    result:
      finished === undefined
        ? null
        : { abstract: finished.abstract, memories: finished.memories.length, categories: byCategory(finished.memories) },
    error,
  }
}

export async function archiveInfo(session: string, archive: Archive, transcript: Transcript): Promise<ArchiveInfo> {
  const { number, status, attempts, requestedAt: createdAt, updatedAt, task, n: messageCount, t: tokens, retracted } = archive
  const { finished, error } = await endOf(archive, transcript)
  return {
    number,
    status,
    task: taskId(archive.session ?? session, task),
    messageCount,
    spans: transcript.spansOf(archive),
    tokens,
    createdAt,
    updatedAt,
    attempts,
    abstract: finished?.abstract ?? null,
    overview: finished?.overview ?? null,
    memories: retracted ? [] : (finished?.memories ?? []),
    error,
  }
}

/** How many memories of each category there are. */
export function byCategory(memories: readonly Pick<ExtractedMemory, 'category'>[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { category } of memories) counts[category] = (counts[category] ?? 0) + 1
  return counts
}

/** What the last record of a task says. */
async function endOf(
  { session, ended, status }: Pick<Archive, 'session' | 'ended' | 'status'>,
  transcript: Transcript,
): Promise<{ finished: CommitFinished | undefined; error: TaskInfo['error'] }> {
  const found = ended === null ? undefined : await transcript.recordOf(session, ended)
  if (found?.record.type === 'commit.finished') return { finished: found.record as unknown as CommitFinished, error: null }
  if (found?.record.type === 'commit.failed') return { finished: undefined, error: (found.record as unknown as CommitFailed).error }
  const rotten =
    status === 'completed' ? { code: 'DAMAGED', message: 'The summary was written, but cannot be read. Run `holdfast doctor`.' } : null
  return { finished: undefined, error: rotten }
}

/** An archive with a page of its messages. */
export async function archivePage(
  session: string,
  archive: Archive,
  transcript: Transcript,
  { limit = LIMITS.pageMessages, cursor }: ArchivePageOptions,
): Promise<WholeArchive<JsonObject>> {
  checkLimit(limit, LIMITS.pageMessages)
  const of = ['archive', archive.task]
  const from = cursor == null ? undefined : depthIn(cursor, of)
  const { messages, gaps, more } = await transcript.pageOf([...archive.covers, ...archive.takes], limit, from)
  const next = (messages.at(-1)?.depth ?? (from ?? 1) - 1) + 1
  const info = await archiveInfo(session, archive, transcript)
  const summary = info.error?.code === 'DAMAGED' && archive.ended !== null ? [{ session: archive.session, position: archive.ended }] : []
  const damage = [...(await transcript.damageOf(gaps)), ...(await transcript.damagedRecords(summary))]
  return { ...info, messages, cursor: more ? pageCursor(of, [next]) : null, damage }
}

function depthIn(cursor: string, of: readonly unknown[]): number {
  const [depth] = placeIn(cursor, of)
  if (!Number.isSafeInteger(depth)) throw staleCursor()
  return depth as number
}

function notCompleted({ id, status, error }: TaskInfo): HoldfastError {
  const why = error === null ? '' : `: ${error.message}`
  return new HoldfastError(
    'FAILED_PRECONDITION',
    `The task was ${status === 'cancelled' ? 'cancelled' : `given up${why}`}. It can be retried.`,
    {
      details: { reason: 'no summary', task_id: id, status, error },
    },
  )
}
