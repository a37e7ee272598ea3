/** `commit`: moves what is live into an archive. The summary is made by a worker; with --wait, by this process if no worker takes it. */

import { Worker } from '../commit/worker.ts'
import { HoldfastError } from '../errors.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { TaskApi } from '../store/api/task-api.ts'
import type { Store } from '../store/store.ts'
import type { TaskInfo } from '../store/task-info.ts'
import { commitCodec, taskCodec } from '../wire/tasks.ts'
import type { Context } from './context.ts'
import { taskLine } from './task-lines.ts'

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
  const local = await context.local()
  const store = local ?? (await context.write())
  const { keep, keepTurns, tokenBudget, key } = options
  const committed = await store.session(id).commit(withoutUndefined({ keep, keepTurns, tokenBudget, key }))
  if (committed.status === 'skipped' || wait !== true) {
    await out.result(commitCodec.encode({ session: id, committed }), committed.status === 'skipped' ? undefined : () => committed.task.id)
    if (committed.status === 'accepted') out.note(`${counted(committed.messageCount)} moved to archive ${committed.archive}.`)
    else if (committed.reason === 'no_messages') out.note('Nothing is live: there is nothing to commit.')
    else out.note('All that is live is to be kept: there is nothing to commit.')
    return
  }
  out.note(
    `${counted(committed.messageCount)} moved to archive ${committed.archive} by task ${committed.task.id}. Waiting for its summary.`,
  )
  const info = await ended(context, local, committed.task)
  await out.result(taskCodec.encode(info), () => taskLine(info))
  // The commit itself stands; what was waited for did not come.
  if (info.status !== 'completed') process.exitCode = 1
}

/** A store at a server has its worker there. */
async function ended(context: Context, local: Store | undefined, task: TaskApi): Promise<TaskInfo> {
  const { signal } = context
  const worker = local === undefined ? undefined : new Worker(local, { session: task.session, concurrency: 1 })
  if (worker !== undefined) context.beforeClosing(() => worker.stop())
  const helping = setTimeout(() => worker?.start(), OTHERS_FIRST_MS)
  try {
    await task.completed({ signal })
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'FAILED_PRECONDITION')) throw error
  } finally {
    clearTimeout(helping)
  }
  return task.info()
}

function counted(messages: number): string {
  return messages === 1 ? '1 message' : `${messages} messages`
}
