/** `tasks` and `task`: what became of commits, and what to begin again. */

import { withoutUndefined } from '../server/without-undefined.ts'
import type { TaskStatus } from '../session/state.ts'
import { taskCodec } from '../wire/tasks.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { printTasks, taskLine } from './task-lines.ts'

interface Options {
  readonly session?: string
  readonly status?: TaskStatus
  readonly limit?: number
  readonly since?: number
  readonly rate?: number
}

export async function tasks(context: Context, [word]: [string?], options: Options): Promise<void> {
  if (word === 'retry') return retryAll(context, options)
  const { session, status, limit, since, rate } = options
  if (since !== undefined || rate !== undefined) throw wrongUsage('--since and --rate go with `tasks retry`.')
  if (word !== undefined && session !== undefined) throw wrongUsage('Name the session once: as a word, or with --session.')
  const store = await context.read()
  const found = await store.tasks(withoutUndefined({ session: word ?? session, status, limit }))
  await printTasks(context.out, found)
  if (found.length === 0) context.out.note('No tasks.')
}

/** Many at once, at a bounded rate. Which ones has to be said: nobody begins everything again by leaving out a word. */
async function retryAll(context: Context, { session, status, limit, since, rate }: Options): Promise<void> {
  const { out, signal } = context
  if (status !== 'failed' && status !== 'cancelled') throw wrongUsage('Say which tasks to retry: --status failed or --status cancelled.')
  if (limit !== undefined)
    throw wrongUsage('`tasks retry` takes no --limit. Choose with --since or --session, and slow it down with --rate.')
  if (rate === 0) throw wrongUsage('--rate must be 1 or more.')
  const store = await context.write()
  const progress = out.progress()
  let count = 0
  const from = since === undefined ? undefined : new Date(Date.now() - since)
  for await (const info of store.retryTasks(withoutUndefined({ status, session, rate, since: from }))) {
    count++
    await out.result(taskCodec.encode(info), () => taskLine(info))
    progress.update(`${count} tasks begun again`)
    if (signal.aborted) return
  }
  progress.end()
  out.note(count === 1 ? '1 task begins again.' : `${count} tasks begin again.`)
}

export async function task(context: Context, [id, action]: [string, ('retry' | 'cancel')?]): Promise<void> {
  const store = await (action === undefined ? context.read() : context.write())
  const found = await store.task(id)
  if (action === 'retry') await found.retry()
  if (action === 'cancel') await found.cancel()
  const info = await found.info()
  await context.out.result(taskCodec.encode(info), () => taskLine(info))
}
