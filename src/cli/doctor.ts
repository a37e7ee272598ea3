/**
 * `doctor`: verifies a store or one session, and tells what it finds and what to do. Changes nothing, unless it is told to repair, or to
 * make the catalog anew.
 */
import type { RemoteStore } from '../client/store.ts'
import { doctor as examine } from '../doctor/doctor.ts'
import { type Remedy, remedyFor, repairSession } from '../doctor/repair.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { Store } from '../store/store.ts'
import type { Finding } from '../verify/findings.ts'
import { findingCodec } from '../wire/operations.ts'
import { wrongUsage } from './arguments.ts'
import { withCatalogProgress } from './catalog-progress.ts'
import type { Context } from './context.ts'
import type { Output } from './output.ts'
import { plural } from './plural.ts'
import { inLine } from './terminal.ts'

const DAMAGE_FOUND = 5

interface Options {
  readonly rebuildCatalog?: boolean
  readonly repair?: boolean
  readonly rate?: number
  readonly sinceLast?: boolean
}

interface Totals {
  sessions: number
  damage: number
  notes: number
}

export async function doctor(context: Context, [id]: [string?], options: Options): Promise<void> {
  const { rebuildCatalog = false, repair = false, rate, sinceLast } = options
  const { out, signal } = context
  if (rebuildCatalog && id !== undefined) throw wrongUsage('The catalog is of the whole store: leave out the id.')
  if (rate === 0) throw wrongUsage('--rate must be 1 or more.')
  if (context.isRemote) return atServer(context, id, options)
  // A store that is not there is not made by looking for damage in it.
  const store = (await (repair || sinceLast === true ? context.write() : context.read())) as Store
  if (rebuildCatalog) return rebuild(context, store)
  const progress = out.progress()
  const totals: Totals = { sessions: 0, damage: 0, notes: 0 }
  const damaged = new Map<string, Finding[]>()
  const onProgress = ({ done, total }: { done: number; total?: number }): void => {
    totals.sessions = done
    progress.update(`${done} of ${plural(total ?? 0, 'session')}, ${plural(totals.damage, 'damaged place')}`)
  }
  for await (const finding of examine(store, { onProgress, signal, ...withoutUndefined({ session: id, rate, sinceLast }) })) {
    if (signal.aborted) return
    await tell(out, finding, totals)
    if (remedyFor(finding) === undefined && finding.severity !== 'damage') continue
    const key = JSON.stringify([finding.space, finding.session])
    damaged.set(key, [...(damaged.get(key) ?? []), finding])
  }
  progress.end()
  if (!repair) return tellTotals(out, totals)
  announce(context, damaged)
  const left = await mend(context, store, damaged)
  await tellTotals(out, totals, left)
  out.note(`${plural(totals.damage - left, 'damaged place')} accepted, ${left} left.`)
}

/** The server verifies the space that the key opens, and tells all at once. */
async function atServer(context: Context, id: string | undefined, { rebuildCatalog, repair, rate, sinceLast }: Options): Promise<void> {
  if (rebuildCatalog === true) throw wrongUsage('The catalog is made anew where the store is. Name its directory.')
  if (repair === true || rate !== undefined || sinceLast === true)
    throw wrongUsage('--repair, --rate and --since-last work where the store is. Name its directory.')
  const store = (await context.read()) as RemoteStore
  const { sessions, findings } = await withCatalogProgress(context, store, store.doctor(id === undefined ? {} : { session: id }))
  const totals: Totals = { sessions, damage: 0, notes: 0 }
  for (const finding of findings) await tell(context.out, finding, totals)
  await tellTotals(context.out, totals)
}

async function tell(out: Output, finding: Finding, totals: Totals): Promise<void> {
  if (finding.severity === 'damage') totals.damage++
  else totals.notes++
  await out.result(findingCodec.encode(finding), (colours) => {
    const { session, segment, offset, length, kind, severity, action } = finding
    const place = [
      ...(segment === null ? [] : [`segment ${segment}`]),
      ...(offset === null ? [] : [`byte ${offset}`]),
      ...(length === null ? [] : [plural(length, 'byte')]),
    ].join(', ')
    const mark = severity === 'damage' ? colours.red(`damage: ${kind}`) : colours.dim(`note: ${kind}`)
    return `${mark}  ${inLine(session)}${place === '' ? '' : colours.dim(`  ${place}`)}\n  ${inLine(action)}`
  })
}

/** `left`: what a repair could not see to. */
async function tellTotals(out: Output, totals: Totals, left?: number): Promise<void> {
  if (out.json) await out.result({ totals: left === undefined ? totals : { ...totals, left } })
  const { sessions, damage, notes } = totals
  out.note(`${plural(sessions, 'session')} verified: ${plural(damage, 'damaged place')}, ${plural(notes, 'note')}.`)
  if ((left ?? totals.damage) > 0) process.exitCode = DAMAGE_FOUND
}

/** Prints what a repair will do, by session, before it does anything. */
function announce({ out }: Context, damaged: ReadonlyMap<string, readonly Finding[]>): void {
  for (const findings of damaged.values()) {
    const { session, space } = findings[0] as Finding
    if (isUntouched(findings, space)) continue
    for (const { kind, segment, offset, length } of findings) {
      if (kind !== 'vanished') continue
      const from = (segment ?? 0) + (offset ?? 0)
      out.note(
        `Will accept that ${plural(length ?? 0, 'byte')} of "${session}" vanished at position ${from}, and let it continue without them.`,
      )
    }
    const [known, granted, stale] = [count(findings, 'acknowledge'), count(findings, 'grant'), count(findings, 'rederive')]
    if (known > 0)
      out.note(
        `Will copy ${plural(known, 'damaged place')} of "${session}" to the quarantine, and record in its journal that this damage is known.`,
      )
    if (granted > 0) out.note(`Will let "${session}" be a fork of its parent again.`)
    if (count(findings, 'erase') > 0) out.note(`Will end erasing messages of "${session}".`)
    if (count(findings, 'purge') > 0) out.note(`Will end the purge of "${session}".`)
    if (count(findings, 'roll') > 0) out.note(`Will finish the newest segment of "${session}".`)
    if (stale > 0) out.note(`Will make the id files of "${session}" anew.`)
  }
}

/** Returns how many damaged places are left. */
async function mend({ out }: Context, store: Store, damaged: ReadonlyMap<string, readonly Finding[]>): Promise<number> {
  let left = 0
  for (const findings of damaged.values()) {
    const { space, session } = findings[0] as Finding
    const rest = space === null ? findings.filter(isDamage) : await repairSession(store.in(space), session, findings)
    if (rest.length > 0) out.note(`Left: ${plural(rest.length, 'damaged place')} of "${session}". ${reasonOf(rest, space)}`)
    left += rest.length
  }
  return left
}

/** Nothing is done about a journal whose session is not known, or that is in the place of another one. */
function isUntouched(findings: readonly Finding[], space: string | null): boolean {
  return space === null || findings.some(({ kind }) => kind === 'wrong-identity')
}

function isDamage({ severity }: Finding): boolean {
  return severity === 'damage'
}

/** Why a repair left something as it is. */
function reasonOf(left: readonly Finding[], space: string | null): string {
  if (left.some(({ kind }) => kind === 'wrong-identity'))
    return 'Its files belong to another session. Move them back to where they came from.'
  if (left.some(({ kind }) => kind === 'unreadable')) return 'It cannot be read. Check the disk and the rights, then run the doctor again.'
  if (space === null) return 'Nothing that is left says which session this is. Run `holdfast doctor <id> --repair` with its id.'
  return 'A deleted session, and a fork without its parent, cannot be repaired. Restore it first.'
}

function count(findings: readonly Finding[], remedy: Remedy): number {
  return findings.filter((finding) => remedyFor(finding) === remedy).length
}

async function rebuild(context: Context, store: Store): Promise<void> {
  const { out } = context
  const startedAt = performance.now()
  const sessions = await withCatalogProgress(context, store, store.rebuildCatalog())
  await out.result({ catalog: 'rebuilt', sessions })
  out.note(`The catalog was rebuilt: ${plural(sessions, 'session')} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`)
}
