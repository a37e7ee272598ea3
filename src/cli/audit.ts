/** `audit`: who did what through the servers of a store. */
import type { AuditInfo, RemoteStore } from '../client/index.ts'
import { auditFields, readAudit } from '../server/audit.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

interface Options {
  readonly from?: Date
  readonly to?: Date
  readonly allSpaces?: boolean
}

const DAY_MS = 86_400_000
const PAGE = 10_000

export async function audit(context: Context, _: [], { from, to = new Date(), allSpaces = false }: Options): Promise<void> {
  const { out, signal } = context
  const since = from ?? new Date(to.getTime() - DAY_MS)
  if (context.isRemote && allSpaces) throw wrongUsage('At a server the key says which space it is: leave out --all-spaces.')
  for await (const entry of context.isRemote
    ? entriesAt((await context.read()) as RemoteStore, since, to)
    : entriesHere(context, since, to, allSpaces)) {
    const { at, key_id, action, session_id, status, count } = entry
    const times = count > 1 ? `  ${count} times` : ''
    await out.result(entry, () => `${at}  ${inLine(key_id)}  ${action}  ${inLine(session_id ?? '')}  ${status}${times}`)
    if (signal.aborted) break
  }
}

async function* entriesHere(context: Context, from: Date, to: Date, allSpaces: boolean): AsyncGenerator<AuditInfo> {
  const store = await context.here('read')
  for await (const entry of readAudit(store, { from, to, ...(allSpaces ? {} : { space: store.space }) })) yield auditFields(entry)
}

/** A page at a time. The next one begins where the last one ended, and those of that moment are known. */
async function* entriesAt(store: RemoteStore, from: Date, to: Date): AsyncGenerator<AuditInfo> {
  let known = new Set<string>()
  for (let begin = from; ; ) {
    const page = await store.audit({ from: begin, to, limit: PAGE })
    const fresh = page.filter((entry) => !known.has(JSON.stringify(entry)))
    yield* fresh
    const last = fresh.at(-1)
    if (last === undefined || page.length < PAGE) return
    begin = new Date(last.at)
    known = new Set(page.filter(({ at }) => at === last.at).map((entry) => JSON.stringify(entry)))
  }
}
