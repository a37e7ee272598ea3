/** `delete`, `restore`, `purge`, `expire` and `erase`. Only the last three destroy, and nothing is destroyed by itself. */
import type { HoldfastError } from '../errors.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import { erasedCodec, expiredCodec, purgedCodec } from '../wire/operations.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { inLine, relativeTime } from './terminal.ts'

export async function remove(context: Context, [id]: [string]): Promise<void> {
  const session = (await context.write()).session(id)
  const { version } = await session.delete()
  await context.out.result({ session_id: id, version })
  context.out.note(`Deleted "${id}". \`holdfast restore\` brings it back until it is purged.`)
}

export async function restore(context: Context, [id]: [string]): Promise<void> {
  const session = (await context.write()).session(id)
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
  let [purged, kept, failed, freed] = [0, 0, 0, 0]
  for await (const one of store.purge({ olderThanMs: olderThan, dryRun })) {
    const { session, deletedAt, action, freedBytes, error } = one
    const fields = purgedCodec.encode({ ...one, dryRun })
    const verbs = {
      kept: 'kept, a fork reaches it',
      failed: `cannot be purged${because(error)}`,
      purged: dryRun ? 'would be purged' : 'purged',
    }
    const since = action === 'failed' ? '' : `deleted ${relativeTime(deletedAt, Date.now())}  `
    await out.result(fields, (colours) => `${inLine(session)}  ${colours.dim(since)}${inLine(verbs[action])}`)
    if (action === 'purged') purged++
    else if (action === 'kept') kept++
    else failed++
    freed += freedBytes
    progress.update(`purging: ${purged} purged, ${kept} kept`)
    if (signal.aborted) break
  }
  progress.end()
  sumUp(out, `${purged} ${dryRun ? 'would be purged' : 'purged'}, ${kept} kept${dryRun ? '' : `, ${freed} bytes freed`}`, failed)
}

interface ExpireOptions {
  readonly idle?: number
  readonly archives?: number
  readonly deleted?: number
  readonly dryRun?: boolean
}

export async function expire(context: Context, _: [], { idle, archives, deleted, dryRun = false }: ExpireOptions): Promise<void> {
  const { out, signal } = context
  const store = await context.read()
  const limits = withoutUndefined({ deleteIdleAfterMs: idle, dropArchivesAfterMs: archives, purgeDeletedAfterMs: deleted })
  let [count, failed] = [0, 0]
  for await (const one of store.expire({ ...limits, dryRun })) {
    const { session, action, since, archive, error } = one
    const what = archive === undefined ? '' : `messages of archive ${archive} `
    const reasons: Partial<Record<typeof action, string>> = { kept: 'kept, a fork reaches it', failed: `cannot go${because(error)}` }
    const verb = reasons[action] ?? (dryRun ? `would be ${action}` : action)
    const when = since === '' ? '' : `since ${relativeTime(since, Date.now())}  `
    await out.result(expiredCodec.encode({ ...one, dryRun }), (colours) => `${inLine(session)}  ${colours.dim(when)}${what}${inLine(verb)}`)
    if (action === 'failed') failed++
    else if (action !== 'kept') count++
    if (signal.aborted) break
  }
  sumUp(out, `${count} ${dryRun ? 'would be deleted, dropped or purged' : 'deleted, dropped or purged'}`, failed)
}

interface EraseOptions {
  readonly owner?: string
  readonly dryRun?: boolean
}

export async function erase(context: Context, [id, message]: [string?, string?], { owner, dryRun = false }: EraseOptions): Promise<void> {
  const { out, signal } = context
  const store = await context.write()
  if (owner === undefined) {
    if (id === undefined || message === undefined) throw wrongUsage('Name a session and a message, or give --owner.')
    if (dryRun) throw wrongUsage('--dry-run goes with --owner.')
    const { version, duplicate } = await store.session(id).erase(message)
    await out.result({ session_id: id, message_id: message, version, duplicate })
    out.note(duplicate ? `"${message}" had been erased before.` : `Erased "${message}". Nothing brings it back; backups still have it.`)
    return
  }
  if (id !== undefined) throw wrongUsage('Name a message, or an owner; not both.')
  let [done, failed] = [0, 0]
  for await (const one of store.erase({ owner, dryRun })) {
    const { session, action, messages, error } = one
    if (action === 'failed') failed++
    else done++
    const verb = action === 'failed' ? `cannot be erased${because(error)}` : dryRun ? `would be ${action}` : action
    await out.result(
      erasedCodec.encode({ ...one, dryRun }),
      (colours) => `${inLine(session)}  ${inLine(verb)}${colours.dim(messages > 0 ? `  ${messages} messages` : '')}`,
    )
    if (signal.aborted) break
  }
  sumUp(out, `${done} sessions of "${owner}" ${dryRun ? 'would be erased' : 'erased'}`, failed)
}

/** A server says why only of an erasure; otherwise `doctor` does. */
function because(error: HoldfastError | undefined): string {
  return error === undefined ? '' : `: ${error.message}`
}

function sumUp(out: Context['out'], done: string, failed: number): void {
  out.note(`${done}${failed > 0 ? `, ${failed} could not be` : ''}.`)
  if (failed > 0) process.exitCode = 1
}
