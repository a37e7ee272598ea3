/** Tasks of many sessions, from the catalog; where that cannot be used, by looking at each of them. */
import { CatalogUnavailable, type TaskQuery, type TaskRow } from '../engine/catalog.ts'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import { checkCount, invalid } from '../session/check.ts'
import { INITIAL, type TaskStatus } from '../session/state.ts'
import { Transcript } from './messages/transcript.ts'
import type { StoreParts } from './parts.ts'
import { findTask, type TaskInfo, taskId, taskInfo } from './tasks.ts'

export interface TaskListOptions {
  readonly status?: TaskStatus
  readonly session?: string
  /** How many at most; 100 unless told. */
  readonly limit?: number
}

export interface RetryOptions {
  /** Which ones to begin again; those that failed unless told. */
  readonly status?: 'failed' | 'cancelled'
  readonly session?: string
  /** Only those that ended at this time or later. */
  readonly since?: Date
  /** How many a second at most, so that a provider that has just come back is not run over; 10 unless told. */
  readonly rate?: number
}

export async function listTasks(parts: StoreParts, { status, session, limit = 100 }: TaskListOptions): Promise<TaskInfo[]> {
  checkCount('The limit', limit, LIMITS.pageSessions)
  const rows = await tasksOf(parts, status, session, { newestFirst: true, limit })
  return Promise.all(rows.map((row) => infoOfRow(parts, row)))
}

/** Begins tasks again, the oldest first. Tells of each; one that somebody else began meanwhile, or that is gone, is passed over. */
export async function* retryTasks(
  parts: StoreParts,
  { status = 'failed', session, since, rate = 10 }: RetryOptions,
): AsyncGenerator<TaskInfo> {
  if (!(rate > 0)) throw invalid(`The rate must be more than nothing; got ${rate}.`)
  const all = await tasksOf(parts, status, session, { newestFirst: false, limit: Number.MAX_SAFE_INTEGER })
  const ended = all.filter(({ updatedAt }) => since === undefined || Date.parse(updatedAt) >= since.getTime())
  for (const [index, row] of ended.entries()) {
    if (index > 0) await parts.clock.sleep(1000 / rate)
    const again = await retried(parts, taskId(row.session, row.task))
    if (again !== undefined) yield again
  }
}

async function retried(parts: StoreParts, id: string): Promise<TaskInfo | undefined> {
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
  parts: StoreParts,
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
function infoOfRow(parts: StoreParts, { session, archive: number, createdAt: requestedAt, ...row }: TaskRow): Promise<TaskInfo> {
  return taskInfo(session, { ...row, number, requestedAt, session: null }, new Transcript(parts, session, INITIAL))
}
