/** `audit`: who did what through the servers of a store. */
import type { RemoteStore } from '../client/index.ts'
import { readAudit } from '../server/audit.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import { type AuditInfo, auditCodec } from '../wire/access.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

interface Options {
  readonly from?: Date
  readonly to?: Date
  readonly allSpaces?: boolean
}

const DAY_MS = 86_400_000

export async function audit(context: Context, _: [], options: Options): Promise<void> {
  const { out, signal } = context
  if (context.isRemote && options.allSpaces) throw wrongUsage('At a server the key says which space it is: leave out --all-spaces.')
  const { from, to } = options
  const entries = context.isRemote
    ? ((await context.read()) as RemoteStore).audit(withoutUndefined({ from, to }))
    : entriesHere(context, options)
  for await (const entry of entries) {
    const { at, key, action, session, status, count } = entry
    const times = count > 1 ? `  ${count} times` : ''
    await out.result(auditCodec.encode(entry), () => `${at}  ${inLine(key)}  ${action}  ${inLine(session ?? '')}  ${status}${times}`)
    if (signal.aborted) break
  }
}

async function* entriesHere(context: Context, { from, to = new Date(), allSpaces = false }: Options): AsyncGenerator<AuditInfo> {
  const store = await context.here('read')
  const since = from ?? new Date(to.getTime() - DAY_MS)
  yield* readAudit(store, { from: since, to, ...(allSpaces ? {} : { space: store.space }) })
}
