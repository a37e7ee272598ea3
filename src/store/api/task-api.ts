/** What a task offers, in this process and at a server. */
import type { WriteOptions, Written } from '../handle.ts'
import type { ArchiveInfo, TaskInfo } from '../task-info.ts'

/** The work that a commit leaves to a worker: the summary and the memories of an archive. */
export interface TaskApi {
  readonly id: string
  /** The number of the archive. */
  readonly archive: number
  /** The id of the session. */
  readonly session: string

  /**
   * Reads the status of the task.
   *
   * @returns The status, the attempts so far, and the result or the last error.
   * @throws HoldfastError NOT_FOUND when there is no such task or session.
   * @example
   * const committed = await session.commit()
   * if (committed.status === 'accepted') console.log((await committed.task.info()).status)
   */
  info(): Promise<TaskInfo>

  /**
   * Waits until the summary and the memories are durable, so that every reader sees them.
   *
   * @param options `signal` ends the wait, not the task.
   * @returns The archive with its summary.
   * @throws HoldfastError FAILED_PRECONDITION when the task failed or was cancelled.
   * @throws HoldfastError NOT_FOUND when there is no such task or session.
   * @example
   * const committed = await session.commit({ keep: 10 })
   * if (committed.status === 'accepted') console.log((await committed.task.completed()).abstract)
   */
  completed(options?: { readonly signal?: AbortSignal }): Promise<ArchiveInfo>

  /**
   * Cancels the task. The archive stays, and has no summary until you retry the task.
   *
   * @returns The version of the session.
   * @throws HoldfastError CONFLICT when the task has ended, or the session another version than `expect`.
   * @throws HoldfastError NOT_FOUND when there is no such task or session.
   * @example
   * const committed = await session.commit()
   * if (committed.status === 'accepted') await committed.task.cancel()
   */
  cancel(options?: WriteOptions): Promise<Written>

  /**
   * Starts a task that failed or was cancelled again. Does nothing if it waits or runs.
   *
   * @returns The version of the session.
   * @throws HoldfastError CONFLICT when the task was completed.
   * @throws HoldfastError NOT_FOUND when there is no such task or session.
   * @example
   * for (const { id } of await store.tasks({ status: 'failed' })) await (await store.task(id)).retry()
   */
  retry(): Promise<Written>
}

/** What a commit returns: a task, or why there was nothing to archive. */
export type CommittedApi =
  | {
      readonly status: 'accepted'
      readonly task: TaskApi
      /** The number of the new archive. */
      readonly archive: number
      /** How many messages it holds. */
      readonly messageCount: number
      readonly duplicate: boolean
    }
  | { readonly status: 'skipped'; readonly reason: 'no_messages' | 'all_within_keep_window' }
