/** Messages that say the same as another one did seconds before, under another id: retries of a client, perhaps. They are told, never dropped. */
import type { Json } from '../record/record.ts'
import type { MessageItem } from './item.ts'

const WITHIN_MS = 10_000
const REMEMBERED = 32
/** So many characters of a text are looked at, all over it. */
const SAMPLES = 16

interface Said {
  readonly id: string
  readonly at: string
  readonly role: Json | undefined
  readonly content: Json
}

export class Suspects {
  /** Of each session, what was said last, by a number that nearly all differ by: only what has the same one is compared. */
  readonly #recent = new Map<string, Map<number, Said>>()

  /** The id of the message that said the same just before, if one did. */
  look({ session, id, at, message }: MessageItem): string | undefined {
    const { role } = message
    const content = message.content ?? message.parts ?? message
    if (at === undefined || content === '') return undefined
    const recent = this.#recent.get(session) ?? new Map<number, Said>()
    this.#recent.set(session, recent)
    const sketch = sketchOf(content, 0)
    const before = recent.get(sketch)
    recent.delete(sketch)
    recent.set(sketch, { id, at, role, content })
    if (recent.size > REMEMBERED) recent.delete(recent.keys().next().value as number)
    if (before === undefined || before.id === id || before.role !== role) return undefined
    if (Math.abs(Date.parse(at) - Date.parse(before.at)) > WITHIN_MS) return undefined
    return JSON.stringify(before.content) === JSON.stringify(content) ? before.id : undefined
  }
}

function sketchOf(value: Json, sum: number): number {
  if (typeof value === 'string') {
    let sketch = mixed(sum, value.length)
    const step = Math.max(1, value.length / SAMPLES)
    for (let at = 0; at < value.length; at += step) sketch = mixed(sketch, value.charCodeAt(at))
    return sketch
  }
  if (typeof value !== 'object' || value === null) return mixed(sum, Number(value))
  let sketch = sum
  for (const part of Object.values(value)) sketch = sketchOf(part as Json, sketch)
  return sketch
}

function mixed(sum: number, value: number): number {
  return (Math.imul(sum, 31) + value) | 0
}
