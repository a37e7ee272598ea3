/** `commit`: moves what is live into an archive. The summary is made by a worker; with --wait, by this process if no worker takes it. */
import { Worker } from '../commit/worker.ts'
import { HoldfastError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { Committed, Task, TaskInfo } from '../store/tasks.ts'
import { given } from './arguments.ts'
import type { Context } from './context.ts'
import { taskFields, taskLine } from './task-fields.ts'

interface Options {
  readonly keep?: number
  readonly keepTurns?: number
  readonly tokenBudget?: number
  readonly key?: string
  readonly wait?: boolean
}

/**
 * A worker that runs elsewhere may have a better model than this process. It is given this long to take the task: a little more than it
 * takes to notice one without a hint.
 */
const OTHERS_FIRST_MS = 1500

export async function commit(context: Context, [id]: [string], { wait, ...options }: Options): Promise<void> {
  const { out } = context
  const store = await context.write()
  const { keep, keepTurns, tokenBudget, key } = options
  const committed = await (await store.session(id)).commit(given({ keep, keepTurns, tokenBudget, key }))
  if (committed.status === 'skipped' || wait !== true) {
    await out.result(fieldsOf(id, committed), committed.status === 'skipped' ? undefined : () => committed.task.id)
    if (committed.status === 'accepted') out.note(`${counted(committed.messageCount)} moved to archive ${committed.archive}.`)
    else if (committed.reason === 'no_messages') out.note('Nothing is live: there is nothing to commit.')
    else out.note('All that is live is to be kept: there is nothing to commit.')
    return
  }
  out.note(
    `${counted(committed.messageCount)} moved to archive ${committed.archive} by task ${committed.task.id}. Waiting for its summary.`,
  )
  const info = await ended(context, store, committed.task)
  await out.result(taskFields(info), () => taskLine(info))
  // The commit itself stands; what was waited for did not come.
  if (info.status !== 'completed') process.exitCode = 1
}

async function ended(context: Context, store: Store, task: Task): Promise<TaskInfo> {
  const { signal } = context
  const worker = new Worker(store, { session: task.session, concurrency: 1 })
  context.beforeClosing(() => worker.stop())
  const helping = setTimeout(() => worker.start(), OTHERS_FIRST_MS)
  try {
    await task.completed({ signal })
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'FAILED_PRECONDITION')) throw error
  } finally {
    clearTimeout(helping)
  }
  return task.info()
}

function fieldsOf(session: string, committed: Committed): object {
  const accepted = committed.status === 'accepted' ? committed : undefined
  return {
    session_id: session,
    status: committed.status,
    task_id: accepted?.task.id ?? null,
    archive_id: accepted?.archive ?? null,
    archived: accepted?.messageCount ?? 0,
    reason: committed.status === 'skipped' ? committed.reason : null,
  }
}

function counted(messages: number): string {
  return messages === 1 ? '1 message' : `${messages} messages`
}
