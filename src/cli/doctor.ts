/** `doctor`: verifies a store or one session, and tells what it finds and what to do. Changes nothing, but for a catalog that is to be made anew. */
import { doctor as examine } from '../doctor/doctor.ts'
import type { Store } from '../store/store.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

const DAMAGE_FOUND = 5

interface Options {
  readonly rebuildCatalog?: boolean
}

export async function doctor(context: Context, [id]: [string?], { rebuildCatalog }: Options): Promise<void> {
  const { out, signal } = context
  if (rebuildCatalog === true && id !== undefined) throw wrongUsage('The catalog is of the whole store: leave out the id.')
  const store = await context.read()
  if (rebuildCatalog === true) return rebuild(context, store)
  const progress = out.progress()
  const totals = { sessions: 0, damage: 0, notes: 0 }
  const onProgress = ({ done, total }: { done: number; total?: number }): void => {
    totals.sessions = done
    progress.update(`${done} of ${total ?? '?'} sessions, ${totals.damage} damaged places`)
  }
  for await (const finding of examine(store, { onProgress, ...(id === undefined ? {} : { session: id }) })) {
    if (signal.aborted) return
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
  progress.end()
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
