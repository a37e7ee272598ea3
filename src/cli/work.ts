/** `work`: a worker in the foreground, until it is interrupted; with --once, until nothing is left to do. */
import { type Attempt, Worker } from '../commit/worker.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import { taskCodec } from '../wire/tasks.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { taskLine } from './task-lines.ts'

interface Options {
  readonly concurrency?: number
  readonly once?: boolean
}

export async function work(context: Context, _: [], { concurrency, once }: Options): Promise<void> {
  const { out, signal } = context
  if (concurrency === 0) throw wrongUsage('--concurrency must be 1 or more.')
  const store = await context.local()
  if (store === undefined) throw wrongUsage('A server works by itself. Name the directory of the store.')
  let told: Promise<void> = Promise.resolve()
  const tell = async ({ space, task, status }: Attempt): Promise<void> => {
    if (signal.aborted) return
    const info = await (await store.in(space).task(task)).info()
    // For people too it is news, and no result: the archives are.
    if (out.json && status !== 'pending') await out.result(taskCodec.encode(info))
    else out.note(status === 'pending' ? `${taskLine(info)} It is tried again.` : taskLine(info))
  }
  const worker = new Worker(store, {
    ...withoutUndefined({ concurrency }),
    onAttempt: (attempt) => {
      // One after the other. A session that was deleted meanwhile has nothing to tell, and a store that fails is told of by the worker.
      told = told.then(() => tell(attempt)).catch(() => undefined)
    },
  })
  context.beforeClosing(() => worker.stop())
  if (once === true) await worker.drain()
  else {
    out.note('Working; Ctrl-C ends.')
    await worker.run()
  }
  await told
  const { completed, failed } = worker.status
  out.note(`${completed} tasks completed, ${failed} failed.`)
}
