/** `doctor`: verifies a store or one session, and tells what it finds and what to do. Changes nothing, but for a catalog that is to be made anew. */

import type { RemoteStore } from '../client/store.ts'
import { doctor as examine } from '../doctor/doctor.ts'
import type { Finding } from '../doctor/findings.ts'
import type { Store } from '../store/store.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import type { Output } from './output.ts'
import { inLine } from './terminal.ts'

const DAMAGE_FOUND = 5

interface Options {
  readonly rebuildCatalog?: boolean
}

interface Totals {
  sessions: number
  damage: number
  notes: number
}

export async function doctor(context: Context, [id]: [string?], { rebuildCatalog = false }: Options): Promise<void> {
  const { out, signal } = context
  if (rebuildCatalog && id !== undefined) throw wrongUsage('The catalog is of the whole store: leave out the id.')
  if (context.isRemote) return atServer(context, id, rebuildCatalog)
  // A store that is not there is not made by looking for damage in it.
  const store = (await context.read()) as Store
  if (rebuildCatalog) return rebuild(context, store)
  const progress = out.progress()
  const totals: Totals = { sessions: 0, damage: 0, notes: 0 }
  const onProgress = ({ done, total }: { done: number; total?: number }): void => {
    totals.sessions = done
    progress.update(`${done} of ${total ?? '?'} sessions, ${totals.damage} damaged places`)
  }
  for await (const finding of examine(store, { onProgress, ...(id === undefined ? {} : { session: id }) })) {
    if (signal.aborted) return
    await tell(out, finding, totals)
  }
  progress.end()
  await tellTotals(out, totals)
}

/** The server verifies the space that the key opens, and tells all at once. */
async function atServer(context: Context, id: string | undefined, rebuildCatalog: boolean): Promise<void> {
  if (rebuildCatalog) throw wrongUsage('The catalog is made anew where the store is. Name its directory.')
  const store = (await context.read()) as RemoteStore
  const { sessions, findings } = await store.doctor(id === undefined ? {} : { session: id })
  const totals: Totals = { sessions, damage: 0, notes: 0 }
  for (const finding of findings) await tell(context.out, finding, totals)
  await tellTotals(context.out, totals)
}

async function tell(out: Output, finding: Finding, totals: Totals): Promise<void> {
  if (finding.severity === 'damage') totals.damage++
  else totals.notes++
  await out.result(finding, (colours) => {
    const { session_id, segment, offset, length, kind, severity, action } = finding
    const place = [
      ...(segment === null ? [] : [`segment ${segment}`]),
      ...(offset === null ? [] : [`byte ${offset}`]),
      ...(length === null ? [] : [`${length} bytes`]),
    ].join(', ')
    const mark = severity === 'damage' ? colours.red(`damage: ${kind}`) : colours.dim(`note: ${kind}`)
    return `${mark}  ${inLine(session_id)}${place === '' ? '' : colours.dim(`  ${place}`)}\n  ${inLine(action)}`
  })
}

async function tellTotals(out: Output, totals: Totals): Promise<void> {
  if (out.json) await out.result({ totals })
  out.note(`${totals.sessions} sessions verified: ${totals.damage} damaged places, ${totals.notes} notes.`)
  if (totals.damage > 0) process.exitCode = DAMAGE_FOUND
}

async function rebuild({ out }: Context, store: Store): Promise<void> {
  const progress = out.progress()
  const startedAt = performance.now()
  const watching = setInterval(() => {
    store.catalogStatus().then(
      ({ state, sessions }) =>
        progress.update(state === 'sweeping' ? `${sessions} sessions looked at` : `${sessions} sessions left to index`),
      () => undefined,
    )
  }, 200)
  const sessions = await store.rebuildCatalog().finally(() => {
    clearInterval(watching)
    progress.end()
  })
  await out.result({ catalog: 'rebuilt', sessions })
  out.note(`The catalog was made anew: ${sessions} sessions in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`)
}
