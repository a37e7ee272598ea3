/** `backup` and `restore-backup`: a copy of a store that is in use, and a store made of one. */
import { resolve } from 'node:path'
import { type BackedUp, backUp, restoreBackup } from '../engines/files/backup.ts'
import type { Context } from './context.ts'

const DAMAGE_FOUND = 5

export async function backup(context: Context, [to]: [string]): Promise<void> {
  const done = await run(context, (options) => backUp(context.requireDirectory(), resolve(to), options))
  context.out.note(`${done.copied} segments copied, ${done.unchanged} were there already; ${done.sessions} sessions are in ${to}.`)
  if (done.damagedLines > 0)
    context.out.warn(`${done.damagedLines} lines of the store are damaged, and are copied as they are. Run \`holdfast doctor\`.`)
  for (const path of done.differing)
    context.out.warn(
      `${path} is another one in the backup than in the store; it was kept. One of them may have rotted: run \`holdfast doctor\`.`,
    )
  if (done.differing.length > 0) process.exitCode = DAMAGE_FOUND
}

export async function restore(context: Context, [from]: [string]): Promise<void> {
  const done = await run(context, (options) => restoreBackup(resolve(from), context.requireDirectory(), options))
  context.out.note(`${done.sessions} sessions restored to ${context.requireDirectory()}.`)
}

type Options = { readonly signal: AbortSignal; readonly onProgress: (done: BackedUp) => void }

async function run({ out, signal }: Context, work: (options: Options) => Promise<BackedUp>): Promise<BackedUp> {
  const progress = out.progress()
  const done = await work({
    signal,
    onProgress: ({ sessions, copiedBytes }) => progress.update(`${sessions} sessions, ${copiedBytes} bytes`),
  })
  progress.end()
  const { sessions, copied, unchanged, copiedBytes, damagedLines, differing } = done
  await out.result({ sessions, segments: copied, unchanged, bytes: copiedBytes, damaged: damagedLines, differing })
  return done
}
