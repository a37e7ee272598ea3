/** `export`: sessions as text, to standard output or a file. A file is put into place when it is whole. */
import { open, rename, rm } from 'node:fs/promises'
import type { RemoteStore } from '../client/store.ts'
import type { ExportFormat } from '../store/export/export.ts'
import type { Store } from '../store/store.ts'
import { given, wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'

interface Options {
  readonly all?: boolean
  readonly tree?: boolean
  readonly format: ExportFormat
  readonly redact?: boolean
  readonly out?: string
}

export async function bringOut(context: Context, [id]: [string?], { all, tree, format, redact, out: file }: Options): Promise<void> {
  const { out, signal } = context
  if ((id === undefined) === (all !== true)) throw wrongUsage('Name a session, or give --all.')
  const progress = out.progress()
  let [sessions, damaged] = [0, 0]
  const onSession = (session: string, damage: number): void => {
    sessions++
    damaged += damage
    progress.update(`${sessions} sessions exported`)
    if (damage > 0)
      out.warn(`${damage} places of "${session}" cannot be read, and are not in the export. Run \`holdfast doctor\`.`, {
        session_id: session,
      })
  }
  const wanted = { format, ...given({ session: id, tree, redact }) }
  const pieces = context.isRemote
    ? ((await context.read()) as RemoteStore).export({ ...wanted, signal })
    : ((await context.read()) as Store).export({ ...wanted, onSession })
  if (file === undefined) {
    for await (const piece of pieces) {
      if (signal.aborted) return
      await out.text(piece)
    }
    progress.end()
    return
  }
  await toFile(file, pieces, signal)
  progress.end()
  if (signal.aborted) return
  // A server does not tell how many there are.
  await out.result(context.isRemote ? { file } : { file, sessions, damaged })
  out.note(context.isRemote ? `Exported to ${file}.` : `${sessions} sessions exported to ${file}.`)
}

async function toFile(path: string, pieces: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600)
  try {
    for await (const piece of pieces) {
      if (signal.aborted) return
      await file.write(piece)
    }
    await file.sync()
    await rename(partial, path)
  } finally {
    await file.close()
    await rm(partial, { force: true })
  }
}
