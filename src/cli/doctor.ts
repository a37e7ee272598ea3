/** `doctor`: verifies a store or one session, and tells what it finds and what to do. Changes nothing. */
import { doctor as examine } from '../doctor/doctor.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

const DAMAGE_FOUND = 5

export async function doctor(context: Context, [id]: [string?]): Promise<void> {
  const { out, signal } = context
  const store = await context.read()
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
