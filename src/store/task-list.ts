/** Tasks of many sessions, by looking at each of them. */
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import { checkCount, invalid } from '../session/check.ts'
import type { TaskStatus } from '../session/state.ts'
import type { StoreParts } from './parts.ts'
import { findTask, type TaskInfo, taskInfo } from './tasks.ts'
import { Transcript } from './transcript.ts'

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
  const tasks: TaskInfo[] = []
  for await (const task of tasksOf(parts, status, session)) tasks.push(task)
  return tasks.sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0)).slice(0, limit)
}

/** Begins tasks again, the oldest first. Tells of each; one that somebody else began meanwhile, or that is gone, is passed over. */
export async function* retryTasks(
  parts: StoreParts,
  { status = 'failed', session, since, rate = 10 }: RetryOptions,
): AsyncGenerator<TaskInfo> {
  if (!(rate > 0)) throw invalid(`The rate must be more than nothing; got ${rate}.`)
  const ended: TaskInfo[] = []
  for await (const task of tasksOf(parts, status, session)) {
    if (since === undefined || Date.parse(task.updatedAt) >= since.getTime()) ended.push(task)
  }
  ended.sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0))
  for (const [index, { id }] of ended.entries()) {
    if (index > 0) await parts.clock.sleep(1000 / rate)
    const again = await retried(parts, id)
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

async function* tasksOf(parts: StoreParts, status: TaskStatus | undefined, session: string | undefined): AsyncGenerator<TaskInfo> {
  for await (const name of namesOf(parts, session)) {
    const { state } = await parts.replicas.once(name).replica.read()
    if (state.status !== 'live' || state.id === null) continue
    const transcript = new Transcript(parts, state.id, state)
    for (const archive of state.archives) {
      if (archive.session !== null || (status !== undefined && archive.status !== status)) continue
      yield taskInfo(state.id, archive, transcript)
    }
  }
}

async function* namesOf({ engine, space }: StoreParts, session: string | undefined): AsyncGenerator<string> {
  if (session === undefined) yield* engine.names(space)
  else yield engine.name(space, session)
}
