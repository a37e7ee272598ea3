/** `accept-damage`, and the warning of every command whose answer lacks something that was written. */
import { shellWord } from '../journal/command-words.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import { acceptedDamageCodec, damageText, placesCodec } from '../wire/damage.ts'
import type { Context } from './context.ts'
import type { Output } from './output.ts'
import { inLine } from './terminal.ts'

/**
 * Warns on standard error if an answer lacks something; the exit code stays 0. `missing` is what the caller counted, for places that do not
 * know how many messages they held.
 */
export function warnOfDamage(out: Output, session: string | undefined, damage: readonly DamagedPlace[], missing = 0): void {
  if (damage.length === 0) return
  const known = damage.reduce((sum, { count }) => sum + (count ?? 0), 0)
  const [first, ...rest] = damage as [DamagedPlace, ...DamagedPlace[]]
  const counted = missing > known ? [{ ...first, count: missing }, ...rest.map((place) => ({ ...place, count: 0 }))] : damage
  const only = session ?? (new Set(damage.map((place) => place.session)).size === 1 ? first.session : undefined)
  const where = only === undefined ? '' : ` in "${only}"`
  const isNew = damage.some(({ accepted }) => accepted !== true)
  const next = isNew ? ` Run \`holdfast doctor${only === undefined ? '' : ` ${shellWord(only)}`}\` to see what to do.` : ''
  out.warn(`${damageText(counted)}${where}.${next}`, {
    ...(only === undefined ? {} : { session_id: only }),
    damage: placesCodec.encode(damage),
  })
}

interface Options {
  readonly key?: string
  readonly expect?: string
}

export async function acceptDamage(context: Context, [id]: [string], { key, expect }: Options): Promise<void> {
  const { out } = context
  const session = (await context.write()).session(id)
  const done = await session.acceptDamage(withoutUndefined({ key, expect }))
  const fields = acceptedDamageCodec.encode({ session: id, ...done })
  if (out.json || done.accepted.length > 0) await out.result(fields, () => done.accepted.map(lineOf).join('\n'))
  if (out.json) return
  if (!done.duplicate) out.note(`"${id}" continues. Reads report the damage as accepted.`)
  else if (done.accepted.length > 0) out.note(`The damage of "${id}" was accepted before.`)
  else out.note(`Nothing was accepted: nothing of "${id}" is lost.`)
}

function lineOf({ position, count, reason, since }: DamagedPlace): string {
  const lost = count === null ? 'an unknown number of messages' : count === 1 ? '1 message' : `${count} messages`
  return inLine(`position ${position}: ${lost} (${reason})${since === undefined ? '' : `, after ${since}`}`)
}
