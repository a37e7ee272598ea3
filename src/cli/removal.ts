/** `delete`, `restore` and `purge`. Only the last one destroys, and nothing is destroyed by itself. */
import { purgedFields } from '../wire/operations.ts'
import type { Context } from './context.ts'
import { inLine, relativeTime } from './terminal.ts'

export async function remove(context: Context, [id]: [string]): Promise<void> {
  const session = await (await context.write()).session(id)
  const { version } = await session.delete()
  await context.out.result({ session_id: id, version })
  context.out.note(`Deleted "${id}". \`holdfast restore\` brings it back until it is purged.`)
}

export async function restore(context: Context, [id]: [string]): Promise<void> {
  const session = await (await context.write()).session(id)
  const { version } = await session.restore()
  await context.out.result({ session_id: id, version })
  context.out.note(`Restored "${id}".`)
}

interface PurgeOptions {
  readonly olderThan: number
  readonly dryRun?: boolean
}

export async function purge(context: Context, _: [], { olderThan, dryRun = false }: PurgeOptions): Promise<void> {
  const { out, signal } = context
  const store = await context.read()
  const progress = out.progress()
  let [purged, kept, freed] = [0, 0, 0]
  for await (const one of store.purge({ olderThanMs: olderThan, dryRun })) {
    const { session, deletedAt, action, freedBytes } = one
    const fields = purgedFields(one, dryRun)
    const verb = action === 'kept' ? 'kept, a fork reaches it' : dryRun ? 'would be purged' : 'purged'
    await out.result(fields, (colours) => `${inLine(session)}  ${colours.dim(`deleted ${relativeTime(deletedAt, Date.now())}`)}  ${verb}`)
    if (action === 'purged') purged++
    else kept++
    freed += freedBytes
    progress.update(`purging: ${purged} purged, ${kept} kept`)
    if (signal.aborted) break
  }
  progress.end()
  out.note(`${purged} ${dryRun ? 'would be purged' : 'purged'}, ${kept} kept${dryRun ? '' : `, ${freed} bytes freed`}.`)
}
