/** Tasks of many sessions, from the catalog; where that cannot be used, by looking at each of them. */
import { CatalogUnavailable, type TaskQuery, type TaskRow } from '../engine/catalog.ts'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import { checkChoice, checkLimit, checkTexts, checkTime, invalid } from '../session/check.ts'
import { INITIAL, TASK_STATUSES, type TaskStatus } from '../session/state.ts'
import { Transcript } from './messages/transcript.ts'
import type { SessionParts, SpaceParts } from './parts.ts'
import type { TaskInfo } from './task-info.ts'
import { findTask, taskId, taskInfo } from './tasks.ts'

export interface TaskListOptions {
  /** Only tasks of this status. Defaults to all. */
  readonly status?: TaskStatus
  /** Only tasks of this session. Defaults to all. */
  readonly session?: string
  /** The largest number of tasks, up to 1000. Defaults to 100. */
  readonly limit?: number
}

export interface RetryOptions {
  /** Which tasks to start again. Defaults to `failed`. */
  readonly status?: 'failed' | 'cancelled'
  readonly session?: string
  /** Only tasks that ended at this time or later. */
  readonly since?: Date
  /** The largest number of tasks a second, so that a provider can recover. Defaults to 10. */
  readonly rate?: number
}

export async function listTasks(parts: SessionParts, { status, session, limit = 100 }: TaskListOptions): Promise<TaskInfo[]> {
  checkLimit(limit, LIMITS.pageSessions)
  checkTexts({ session })
  if (status !== undefined) checkChoice('status', status, TASK_STATUSES)
  const rows = await tasksOf(parts, status, session, { newestFirst: true, limit })
  return Promise.all(rows.map((row) => infoOfRow(parts, row)))
}

/** Begins tasks again, the oldest first. Tells of each; one that somebody else began meanwhile, or that is gone, is passed over. */
export async function* retryTasks(
  parts: SessionParts,
  { status = 'failed', session, since, rate = 10 }: RetryOptions,
): AsyncGenerator<TaskInfo> {
  if (!(rate > 0)) throw invalid(`The rate must be more than nothing; got ${rate}.`)
  const sinceMs = since === undefined ? undefined : checkTime('since', since).getTime()
  const all = await tasksOf(parts, status, session, { newestFirst: false, limit: Number.MAX_SAFE_INTEGER })
  const ended = all.filter(({ updatedAt }) => sinceMs === undefined || Date.parse(updatedAt) >= sinceMs)
  for (const [index, row] of ended.entries()) {
    if (index > 0) await parts.clock.sleep(1000 / rate)
    const again = await retried(parts, taskId(row.session, row.task))
    if (again !== undefined) yield again
  }
}

async function retried(parts: SessionParts, id: string): Promise<TaskInfo | undefined> {
  try {
    const task = await findTask(parts, id)
    await task.retry()
    return await task.info()
  } catch (error) {
    if (error instanceof HoldfastError && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')) return undefined
    throw error
  }
}

async function tasksOf(
  parts: SessionParts,
  status: TaskStatus | undefined,
  session: string | undefined,
  page: Pick<TaskQuery, 'newestFirst' | 'limit'>,
): Promise<readonly TaskRow[]> {
  const query = {
    space: parts.space,
    ...page,
    ...(session === undefined ? {} : { session }),
    ...(status === undefined ? {} : { status }),
  }
  return parts.catalog.ask('tasks', query).catch(async (error: unknown) => {
    if (!(error instanceof CatalogUnavailable)) throw error
    const { scanTasks } = await import('../catalog/scan.ts')
    return scanTasks(parts, query)
  })
}

/** The rest of a task is read from the record that its row names; the state of the session is not needed for that. */
function infoOfRow(parts: SpaceParts, { session, archive: number, createdAt: requestedAt, ...row }: TaskRow): Promise<TaskInfo> {
  return taskInfo(session, { ...row, number, requestedAt, session: null }, new Transcript(parts, session, INITIAL))
}
