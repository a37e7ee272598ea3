/** `context`: what would be sent to a model, within a budget of tokens. */

import type { Format } from '../message/shapes.ts'
import type { JsonObject } from '../record/record.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { Window } from '../store/messages/window.ts'
import { damageField } from '../wire/damage.ts'
import { windowCodec } from '../wire/tasks.ts'
import type { Context } from './context.ts'
import { warnOfDamage } from './damage.ts'
import { indented } from './message-text.ts'
import { readable, roleOf } from './readable.ts'
import { inLine, jsonLine } from './terminal.ts'

interface Options {
  readonly budget?: number
  readonly format?: Format | 'text'
  readonly recall?: string
}

export async function window(context: Context, [id]: [string], { budget, format, recall }: Options): Promise<void> {
  const { out } = context
  const session = (await context.read()).session(id)
  const dialect = format === 'text' ? undefined : format
  const made = await session.window(withoutUndefined({ budget, format: dialect, recall }))
  if (out.json) await out.result({ ...fieldsOf(made), ...(format === 'text' ? { text: textOf(made) } : {}) })
  // Whoever names the shape of a provider wants what can be sent to it: the messages, and nothing around them.
  else if (dialect !== undefined) for (const message of made.messages) await out.text(`${jsonLine(message)}\n`)
  else await out.text(textOf(made))
  const { leftOut, tokens, damage } = made
  warnOfDamage(out, id, damage)
  out.note(`About ${tokens} tokens${leftOut.length === 0 ? '' : `; left out: ${toldOf(leftOut)}`}.`)
}

/** Without what tells where each message comes from: that stands in the messages of `show`. */
function fieldsOf(made: Window<object>): object {
  const { origins: _, ...fields } = windowCodec.encode(made)
  return { ...fields, ...damageField(made.damage) }
}

function textOf({ overview, abstracts, recalled, messages }: Window<object>): string {
  const parts = [
    ...(abstracts.length === 0
      ? []
      : [`earlier\n${indented(abstracts.map(({ archive, abstract }) => `${archive}: ${abstract}`).join('\n'))}`]),
    ...(overview === null ? [] : [`overview\n${indented(overview)}`]),
    ...(recalled.length === 0 ? [] : [`recalled\n${indented(recalled.map(({ text }) => text).join('\n'))}`]),
    ...(messages as readonly JsonObject[]).map((message) => `${inLine(roleOf(message))}\n${indented(readable(message))}`),
  ]
  return parts.length === 0 ? '' : parts.join('\n')
}

/** `3 messages (budget), 1 message (orphan)` */
function toldOf(leftOut: Window['leftOut']): string {
  const counts = new Map<string, number>()
  for (const one of leftOut) {
    // Messages that were not even read come as a number.
    const what = `${one.kind === 'messages' ? 'message' : one.kind} (${one.reason})`
    counts.set(what, (counts.get(what) ?? 0) + (one.kind === 'messages' ? (one.count ?? 1) : 1))
  }
  return [...counts].map(([what, count]) => `${count} × ${what}`).join(', ')
}
