/** Messages that say the same as another one did seconds before, under another id: retries of a client, perhaps. They are told, never dropped. */

import type { Json } from '../record/record.ts'
import type { MessageItem } from './item.ts'

const WITHIN_MS = 10_000
const REMEMBERED = 32
/** So many characters of a text are looked at, at its beginning and all over it: texts made from a pattern differ in few places. */
const SAMPLES = 16

interface Said {
  readonly id: string
  readonly at: string
  readonly role: Json | undefined
  readonly content: Json
}

export class Suspects {
  readonly #recent = new Map<string, Recent>()

  /** The id of the message that said the same just before, if one did. */
  look(item: MessageItem): string | undefined {
    const { session, id, at } = item
    if (at === undefined) return undefined
    const said = item.said ?? item.message
    const { role } = said
    const content = said.content ?? said.parts ?? said
    if (content === '') return undefined
    let recent = this.#recent.get(session)
    if (recent === undefined) {
      recent = new Recent()
      this.#recent.set(session, recent)
    }
    return recent.add({ id, at, role, content })
  }
}

/** What was said last in a session, in a ring, by a number that nearly all differ by: only what has the same one is compared. */
class Recent {
  readonly #sketches = new Int32Array(REMEMBERED)
  readonly #said: Said[] = []
  #next = 0

  add(said: Said): string | undefined {
    const sketch = sketchOf(said.content, 0)
    let found: Said | undefined
    for (let back = 1; back <= this.#said.length && found === undefined; back++) {
      const place = (this.#next + REMEMBERED - back) % REMEMBERED
      if (this.#sketches[place] === sketch && isRepeated(this.#said[place] as Said, said)) found = this.#said[place]
    }
    this.#sketches[this.#next] = sketch
    this.#said[this.#next] = said
    this.#next = (this.#next + 1) % REMEMBERED
    return found?.id
  }
}

function isRepeated(before: Said, said: Said): boolean {
  if (before.id === said.id || before.role !== said.role) return false
  return Math.abs(Date.parse(said.at) - Date.parse(before.at)) <= WITHIN_MS && isSame(before.content, said.content)
}

/** To write both as JSON only to compare them takes longer than to read them. */
function isSame(one: Json, other: Json): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other
  const [names, others] = [Object.keys(one), Object.keys(other)]
  if (names.length !== others.length || Array.isArray(one) !== Array.isArray(other)) return false
  return names.every((name) => Object.hasOwn(other, name) && isSame(valueIn(one, name), valueIn(other, name)))
}

function valueIn(object: Json, name: string): Json {
  return (object as { readonly [name: string]: Json })[name] as Json
}

function sketchOf(value: Json, sum: number): number {
  if (typeof value === 'string') {
    let sketch = mixed(sum, value.length)
    const step = Math.max(1, Math.floor(value.length / SAMPLES))
    for (let at = 0; at < SAMPLES && at < value.length; at++) sketch = mixed(sketch, value.charCodeAt(at))
    for (let at = SAMPLES; at < value.length; at += step) sketch = mixed(sketch, value.charCodeAt(at))
    return sketch
  }
  if (typeof value !== 'object' || value === null) return mixed(sum, Number(value))
  let sketch = sum
  for (const name of Object.keys(value)) sketch = sketchOf(valueIn(value, name), sketch)
  return sketch
}

function mixed(sum: number, value: number): number {
  return (Math.imul(sum, 31) + value) | 0
}
