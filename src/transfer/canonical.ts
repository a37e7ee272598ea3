/**
 * Whether a text is a value exactly as `JSON.stringify` would write it. To write a value again only to find the same text takes longer than
 * all else that is done with a message; most files were written by something that writes as JavaScript does. Where one was, a part
 * of it can be cut out as it stands.
 */
import type { Json, JsonObject } from '../record/record.ts'

/** `value` must be what the text was parsed to. False where it cannot be told quickly. */
export function isCanonical(value: Json, text: string): boolean {
  const walk = new Walk(text)
  return walk.passes(value) && walk.at === text.length
}

/** The fields of an object as they stand in its text. Undefined if the text is not canonical. */
export function fieldsIn(object: JsonObject, text: string): Fields | undefined {
  const places: Place[] = []
  const walk = new Walk(text)
  return walk.passesObject(object, places) && walk.at === text.length ? new Fields(text, places) : undefined
}

interface Place {
  readonly name: string
  /** Where its name begins, its value, and where that ends. */
  readonly begin: number
  readonly from: number
  readonly to: number
}

export class Fields {
  readonly #text: string
  readonly #places: readonly Place[]

  constructor(text: string, places: readonly Place[]) {
    this.#text = text
    this.#places = places
  }

  /** The value of a field, as it stands there. */
  value(field: string): string | undefined {
    const place = this.#places.find(({ name }) => name === field)
    return place === undefined ? undefined : this.#text.slice(place.from, place.to)
  }

  /** The object without some of its fields. */
  without(fields: readonly string[]): string {
    let rest = ''
    for (const { name, begin, to } of this.#places) {
      if (fields.includes(name)) continue
      rest += `${rest === '' ? '{' : ','}${this.#text.slice(begin, to)}`
    }
    return rest === '' ? '{}' : `${rest}}`
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

  passesObject(object: JsonObject, places?: Place[]): boolean {
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
      places?.push({ name, begin, from, to: this.at })
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
