/** `audit`: who did what through the servers of a store. */
import { auditFields, readAudit } from '../server/audit.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

interface Options {
  readonly from?: Date
  readonly to?: Date
  readonly allSpaces?: boolean
}

const DAY_MS = 86_400_000

export async function audit(context: Context, _: [], { from, to = new Date(), allSpaces = false }: Options): Promise<void> {
  const { out, signal } = context
  const store = await context.here('read')
  const since = from ?? new Date(to.getTime() - DAY_MS)
  for await (const entry of readAudit(store, { from: since, to, ...(allSpaces ? {} : { space: store.space }) })) {
    const { at, key, action, session, status, count } = entry
    const times = count > 1 ? `  ${count} times` : ''
    await out.result(auditFields(entry), () => `${at}  ${inLine(key)}  ${action}  ${inLine(session ?? '')}  ${status}${times}`)
    if (signal.aborted) break
  }
}
