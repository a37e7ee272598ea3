/** A task as programs and as people see it. */
import type { TaskInfo } from '../store/tasks.ts'
import type { Output } from './output.ts'
import { inLine, relativeTime } from './terminal.ts'

/** What it is about at present; once it has ended, the status says it all. */
const STAGES: Readonly<Record<TaskInfo['status'], string>> = {
  pending: 'waiting',
  running: 'summarising',
  completed: 'ended',
  failed: 'ended',
  cancelled: 'ended',
}

export function taskFields({ id, session, archive, status, attempts, createdAt, updatedAt, result, error }: TaskInfo): object {
  return {
    task_id: id,
    task_type: 'session_commit',
    status,
    stage: STAGES[status],
    created_at: createdAt,
    updated_at: updatedAt,
    resource_id: session,
    archive_id: archive,
    attempts,
    result: result === null ? null : { abstract: result.abstract, memories_extracted: result.memories },
    error,
  }
}

/** One line: what became of a task, or how far it is. */
export function taskLine({ session, archive, status, attempts, result, error }: TaskInfo): string {
  const after = attempts > 1 ? ` after ${attempts} attempts` : ''
  const why = status === 'completed' ? (result?.abstract ?? '') : (error?.message ?? '')
  return inLine(`${session}, archive ${archive}: ${status}${after}${why === '' ? '' : `: ${why}`}`)
}

export async function printTasks(out: Output, tasks: readonly TaskInfo[]): Promise<void> {
  const now = Date.now()
  const { colours } = out
  await out.results(
    tasks,
    taskFields,
    [
      { title: 'TASK' },
      { title: 'SESSION', shrinks: true },
      { title: 'ARCHIVE', align: 'right' },
      { title: 'STATUS' },
      { title: 'ATTEMPTS', align: 'right' },
      { title: 'UPDATED', style: colours.dim },
      { title: 'RESULT', shrinks: true },
    ],
    ({ id, session, archive, status, attempts, updatedAt, result, error }) => [
      id,
      session,
      String(archive),
      status,
      String(attempts),
      relativeTime(updatedAt, now),
      (status === 'completed' ? result?.abstract : error?.message) ?? '',
    ],
  )
}
