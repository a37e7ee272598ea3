/** A task as people see it. */
import type { TaskInfo } from '../store/task-info.ts'
import { taskCodec } from '../wire/tasks.ts'
import type { Output } from './output.ts'
import { inLine, relativeTime } from './terminal.ts'

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
    taskCodec.encode,
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
