/** Tasks of many sessions, by looking at each of them. */
import { LIMITS } from '../record/limits.ts'
import { checkCount } from '../session/check.ts'
import type { TaskStatus } from '../session/state.ts'
import type { StoreParts } from './parts.ts'
import { type TaskInfo, taskInfo } from './tasks.ts'
import { Transcript } from './transcript.ts'

export interface TaskListOptions {
  readonly status?: TaskStatus
  readonly session?: string
  /** How many at most; 100 unless told. */
  readonly limit?: number
}

export async function listTasks(parts: StoreParts, { status, session, limit = 100 }: TaskListOptions): Promise<TaskInfo[]> {
  checkCount('The limit', limit, LIMITS.pageSessions)
  const tasks: TaskInfo[] = []
  for await (const name of namesOf(parts, session)) {
    const { state } = await parts.replicas.once(name).replica.read()
    if (state.status !== 'live' || state.id === null) continue
    const transcript = new Transcript(parts, state.id, state)
    for (const archive of state.archives) {
      if (archive.session !== null || (status !== undefined && archive.status !== status)) continue
      tasks.push(await taskInfo(state.id, archive, transcript))
    }
  }
  return tasks.sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0)).slice(0, limit)
}

async function* namesOf({ engine, space }: StoreParts, session: string | undefined): AsyncGenerator<string> {
  if (session === undefined) yield* engine.names(space)
  else yield engine.name(space, session)
}
