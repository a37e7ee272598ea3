/** Messages that say the same as another one did seconds before, under another id: retries of a client, perhaps. They are told, never dropped. */
import type { Json } from '../record/record.ts'
import type { MessageItem } from './item.ts'

const WITHIN_MS = 10_000
const REMEMBERED = 32
/** So much of a text, of each end, tells it from most others. */
const SKETCHED = 32

interface Said {
  readonly id: string
  readonly ms: number
  readonly content: Json
}

export class Suspects {
  /** Of each session, what was said last, by a sketch of it: nearly all differ by that. */
  readonly #recent = new Map<string, Map<string, Said>>()

  /** The id of the message that said the same just before, if one did. */
  look({ session, id, at, message }: MessageItem): string | undefined {
    const content = message.content ?? message.parts ?? message
    if (at === undefined || content === '') return undefined
    const sketch = `${String(message.role)} ${sketchOf(content)}`
    const recent = this.#recent.get(session) ?? new Map<string, Said>()
    this.#recent.set(session, recent)
    const ms = Date.parse(at)
    const before = recent.get(sketch)
    recent.delete(sketch)
    recent.set(sketch, { id, ms, content })
    if (recent.size > REMEMBERED) recent.delete(recent.keys().next().value as string)
    if (before === undefined || before.id === id || Math.abs(ms - before.ms) > WITHIN_MS) return undefined
    return JSON.stringify(before.content) === JSON.stringify(content) ? before.id : undefined
  }
}

function sketchOf(value: Json): string {
  if (typeof value === 'string') {
    return value.length <= 2 * SKETCHED ? value : `${value.length}${value.slice(0, SKETCHED)}${value.slice(-SKETCHED)}`
  }
  if (typeof value !== 'object' || value === null) return String(value)
  let sketch = ''
  for (const part of Object.values(value)) sketch += ` ${sketchOf(part as Json)}`
  return sketch
}
