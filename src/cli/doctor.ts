/** `doctor`: verifies a store or one session, and tells what it finds and what to do. Changes nothing, unless it is told to repair. */
import { doctor as examine } from '../doctor/doctor.ts'
import type { Finding } from '../doctor/findings.ts'
import { endPurges, remedyFor, repairSession } from '../doctor/repair.ts'
import type { Store } from '../store/store.ts'
import { given, wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

const DAMAGE_FOUND = 5

interface Options {
  readonly repair?: boolean
  readonly rate?: number
  readonly sinceLast?: boolean
}

export async function doctor(context: Context, [id]: [string?], { repair, rate, sinceLast }: Options): Promise<void> {
  const { out, signal } = context
  if (rate === 0) throw wrongUsage('--rate must be 1 or more.')
  const store = await (repair === true || sinceLast === true ? context.write() : context.read())
  const progress = out.progress()
  const totals = { sessions: 0, damage: 0, notes: 0 }
  const damaged = new Map<string, Finding[]>()
  const onProgress = ({ done, total }: { done: number; total?: number }): void => {
    totals.sessions = done
    progress.update(`${done} of ${total ?? '?'} sessions, ${totals.damage} damaged places`)
  }
  for await (const finding of examine(store, { onProgress, ...given({ session: id, rate, sinceLast }) })) {
    if (signal.aborted) return
    if (finding.severity === 'damage') {
      totals.damage++
      const key = JSON.stringify([finding.space, finding.session_id])
      damaged.set(key, [...(damaged.get(key) ?? []), finding])
    } else totals.notes++
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
  const left = repair === true ? await mend(context, store, damaged) : totals.damage
  if (out.json) await out.result({ totals: repair === true ? { ...totals, left } : totals })
  out.note(`${totals.sessions} sessions verified: ${totals.damage} damaged places, ${totals.notes} notes.`)
  if (repair === true) out.note(`${totals.damage - left} damaged places set aside and acknowledged, ${left} left.`)
  if (left > 0) process.exitCode = DAMAGE_FOUND
}

/** Tells what will be done, and does it. Returns how many damaged places are left. */
async function mend({ out }: Context, store: Store, damaged: ReadonlyMap<string, readonly Finding[]>): Promise<number> {
  for (const findings of damaged.values()) {
    const session = findings[0]?.session_id ?? ''
    const [known, granted] = [count(findings, 'acknowledge'), count(findings, 'grant')]
    if (known > 0)
      out.note(`Will copy ${known} damaged places of "${session}" to the quarantine, and note in its journal that they are known.`)
    if (granted > 0) out.note(`Will let "${session}" be a fork of its parent again.`)
  }
  let left = 0
  for (const findings of damaged.values()) {
    const { space, session_id } = findings[0] as Finding
    // Whose it is has to be known.
    left += space === null ? findings.length : (await repairSession(store.in(space), session_id, findings)).length
  }
  const purges = await endPurges(store)
  if (purges > 0) out.note(`Ended ${purges} purges that had been begun.`)
  return left
}

function count(findings: readonly Finding[], remedy: 'acknowledge' | 'grant'): number {
  return findings.filter((finding) => remedyFor(finding) === remedy).length
}
