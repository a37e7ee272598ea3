/** `copy`: all sessions of a store, to another one. */

import { openStore } from '../store/open-store.ts'
import { copyStore } from '../transfer/copy.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'

export async function copy(context: Context, [from, to]: [string, string]): Promise<void> {
  const { out, signal } = context
  for (const where of [from, to]) {
    if (/^(?:https?:\/\/|memory:$)/i.test(where)) throw wrongUsage('Stores are copied where they are: name directories, or postgres://….')
  }
  const source = await openStore(from)
  const target = await openStore(to).catch(async (error: unknown) => {
    await source.close()
    throw error
  })
  const progress = out.progress()
  const done = { sessions: 0, unchanged: 0, lines: 0, bytes: 0 }
  try {
    for await (const { status, lines, bytes } of copyStore(source, target, { signal })) {
      done.sessions++
      if (status === 'unchanged') done.unchanged++
      done.lines += lines
      done.bytes += bytes
      progress.update(`${done.sessions} sessions, ${done.bytes} bytes`)
    }
  } finally {
    progress.end()
    await Promise.all([source.close(), target.close()])
  }
  await out.result({ ...done, verified: !signal.aborted })
  out.note(`${done.sessions} sessions are equal in both stores; ${done.lines} lines were copied.`)
}
