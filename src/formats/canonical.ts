/**
 * Whether a text is a value exactly as `JSON.stringify` would write it. To write a value again only to find the same text takes longer than
 * all else that is done with a message; most files were written by something that writes as JavaScript does. Where one was, a part
 * of it can be cut out as it stands.
 */
import type { Json, JsonObject } from '../record/record.ts'
import type { Raw } from './lines.ts'

/** `value` must be what the text was parsed to. False where it cannot be told quickly. */
export function isCanonical(value: Json, text: string): boolean {
  const walk = new Walk(text)
  return walk.passes(value) && walk.at === text.length
}

/** A message as JSON: in bytes where that can be, otherwise as text. */
export type Written =
  | { readonly pieces: readonly Uint8Array[]; readonly text?: undefined }
  | { readonly text: string; readonly pieces?: undefined }

/** A line that is a message. Undefined if it is not canonical. */
export function writtenAs(message: JsonObject, raw: Raw): Written | undefined {
  if (!isCanonical(message, raw.text)) return undefined
  return raw.isPlain ? { pieces: [raw.bytes] } : { text: raw.text }
}

/** The fields of an object as they stand in the line that it is. Undefined if the line is not canonical. */
export function fieldsIn(object: JsonObject, raw: Raw): Fields | undefined {
  const places: number[] = []
  const walk = new Walk(raw.text)
  return walk.passesObject(object, places) && walk.at === raw.text.length ? new Fields(raw, Object.keys(object), places) : undefined
}

/** Where the name of a field begins, its value, and where that ends. */
const [BEGIN, FROM, TO, PLACES] = [0, 1, 2, 3]

/** A part of a line, by its characters, or a text that stands in no line. */
type Part = readonly [from: number, to: number] | Literal

interface Literal {
  readonly text: string
  readonly bytes: Uint8Array
}

export function literal(text: string): Literal {
  return { text, bytes: Buffer.from(text) }
}

const [OPENS, CLOSES, ORIGIN] = [literal('{'), literal('}'), literal(',"origin":')]

export class Fields {
  readonly #raw: Raw
  readonly #names: readonly string[]
  /** Of each field, one behind the other: objects would take longer to make than to fill. */
  readonly #places: readonly number[]

  constructor(raw: Raw, names: readonly string[], places: readonly number[]) {
    this.#raw = raw
    this.#names = names
    this.#places = places
  }

  /** The value of a field, as it stands there. */
  value(field: string): Written | undefined {
    const part = this.#part(field)
    return part === undefined ? undefined : this.#written([part])
  }

  /** An object that is begun like that, and ends with all other fields, but for some, as its `origin`. */
  withOrigin(field: string, but: ReadonlySet<string>, before?: Literal, behind?: Literal): Written | undefined {
    const part = this.#part(field)
    if (part === undefined) return undefined
    // Its own end comes behind the origin, unless it is put into another one.
    const begun: Part = before === undefined ? [part[0], part[1] - 1] : part
    return this.#written([before, begun, behind, ORIGIN, ...this.#without(but), CLOSES])
  }

  #part(field: string): readonly [number, number] | undefined {
    const index = this.#names.indexOf(field)
    return index === -1 ? undefined : [this.#place(index, FROM), this.#place(index, TO)]
  }

  #without(fields: ReadonlySet<string>): Part[] {
    const parts: Part[] = []
    // Fields that follow one another are one part, with the bracket or the comma in front of the first.
    let from = -1
    const end = (to: number): void => {
      if (from === -1) return
      const isBegun = parts.length > 0 || from === 0
      if (!isBegun) parts.push(OPENS)
      parts.push([isBegun ? from : from + 1, to])
      from = -1
    }
    for (const [index, name] of this.#names.entries()) {
      if (fields.has(name)) end(this.#place(index, BEGIN) - 1)
      else if (from === -1) from = this.#place(index, BEGIN) - 1
    }
    end(this.#raw.text.length - 1)
    parts.push(...(parts.length === 0 ? [OPENS, CLOSES] : [CLOSES]))
    return parts
  }

  #place(index: number, which: number): number {
    return this.#places[PLACES * index + which] as number
  }

  #written(parts: readonly (Part | undefined)[]): Written {
    const { isPlain, text, bytes } = this.#raw
    const present = parts.filter((part) => part !== undefined)
    if (isPlain) return { pieces: present.map((part) => ('bytes' in part ? part.bytes : bytes.subarray(part[0], part[1]))) }
    return { text: present.map((part) => ('text' in part ? part.text : text.slice(part[0], part[1]))).join('') }
  }
}

const [LETTER_U, SLASH] = [0x75, 0x2f]
const [QUOTE, COLON, COMMA, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x22, 0x3a, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d]
/** What is nested deeper is left to whoever has more room on the stack. */
const DEPTH = 500

/** Goes through a value and its text side by side. Texts have as many characters as they have, and one more for each escape. */
class Walk {
  readonly #text: string
  at = 0
  #escape: number
  #depth = 0

  constructor(text: string) {
    this.#text = text
    this.#escape = text.indexOf('\\')
  }

  passes(value: Json): boolean {
    if (typeof value === 'string') return this.#passesText(value)
    if (typeof value !== 'object' || value === null) return this.#passesWord(String(value))
    if (++this.#depth > DEPTH) return false
    const passed = Array.isArray(value) ? this.#passesList(value as readonly Json[]) : this.passesObject(value as JsonObject)
    this.#depth--
    return passed
  }

  passesObject(object: JsonObject, places?: number[]): boolean {
    const names = Object.keys(object)
    if (!this.#is(OPEN)) return false
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      // What looks like an index comes first, wherever it stood.
      const first = name.charCodeAt(0)
      if (first >= 0x30 && first <= 0x39) return false
      if (i > 0 && !this.#is(COMMA)) return false
      const begin = this.at
      if (!this.#passesText(name) || !this.#is(COLON)) return false
      const from = this.at
      if (!this.passes(object[name] as Json)) return false
      places?.push(begin, from, this.at)
    }
    return this.#is(CLOSE)
  }

  #passesList(list: readonly Json[]): boolean {
    if (!this.#is(OPEN_LIST)) return false
    for (let i = 0; i < list.length; i++) if ((i > 0 && !this.#is(COMMA)) || !this.passes(list[i] as Json)) return false
    return this.#is(CLOSE_LIST)
  }

  #passesText(value: string): boolean {
    let end = this.at + value.length + 2
    while (this.#escape !== -1 && this.#escape < end) {
      // An escape of more than two characters, or one of a slash, may stand for a character that needs none.
      const next = this.#text.charCodeAt(this.#escape + 1)
      if (next === LETTER_U || next === SLASH) return false
      end++
      this.#escape = this.#text.indexOf('\\', this.#escape + 2)
    }
    const begins = this.#text.charCodeAt(this.at) === QUOTE
    this.at = end
    return begins && this.#text.charCodeAt(end - 1) === QUOTE
  }

  #passesWord(word: string): boolean {
    const begins = this.#text.startsWith(word, this.at)
    this.at += word.length
    return begins
  }

  #is(char: number): boolean {
    return this.#text.charCodeAt(this.at++) === char
  }
}
