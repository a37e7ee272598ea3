/** `export`: sessions as text, to standard output or a file. A file is put into place when it is whole. */
import { open, rename, rm } from 'node:fs/promises'
import type { RemoteStore } from '../client/store.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { Store } from '../store/store.ts'
import type { ExportFormat } from '../transfer/export/export.ts'
import { exportFrom } from '../transfer/export/export.ts'
import { placeCodec, placesInHeader } from '../wire/damage.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { count } from './counts.ts'
import { warnOfDamage } from './damage.ts'

interface Options {
  readonly all?: boolean
  readonly tree?: boolean
  readonly format: ExportFormat
  readonly redact?: boolean
  readonly out?: string
}

export async function exportSessions(context: Context, [id]: [string?], { all, tree, format, redact, out: file }: Options): Promise<void> {
  const { out, signal } = context
  if ((id === undefined) === (all !== true)) throw wrongUsage('Name a session, or give --all.')
  const progress = out.progress()
  let [sessions, damaged] = [0, 0]
  const report: object[] = []
  const onSession = (session: string, damage: readonly DamagedPlace[], isExported: boolean): void => {
    if (isExported) sessions++
    damaged += damage.length
    progress.update(`${count(sessions, 'session')} exported`)
    warnOfDamage(out, session, damage)
    report.push(...damage.map((place) => placeCodec.encode({ session, ...place })))
  }
  // A server says only in how many places.
  const onDamage = (places: number): void => {
    damaged = places
    warnOfDamage(out, id, placesInHeader(String(places)))
  }
  const wanted = { format, ...withoutUndefined({ session: id, tree, redact }) }
  const pieces = context.isRemote
    ? ((await context.read()) as RemoteStore).export({ ...wanted, signal, onDamage })
    : exportFrom((await context.read()) as Store, { ...wanted, onSession })
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
  // A server does not say how many sessions there are.
  await out.result({ file, ...(context.isRemote ? {} : { sessions }), damaged, ...(report.length === 0 ? {} : { damage: report }) })
  out.note(context.isRemote ? `Exported to ${file}.` : `${count(sessions, 'session')} exported to ${file}.`)
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
