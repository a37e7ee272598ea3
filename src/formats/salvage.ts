/**
 * JSON out of damaged text. A line that does not parse may be several records glued together, a fragment with a whole record behind it, or a
 * record with raw control characters; a document may be cut off in the middle. What is whole is taken out; the rest is told of.
 */
import { closingQuote, exceededShape } from '../record/json-shape.ts'
import { LIMITS } from '../record/limits.ts'
import type { Json, JsonObject } from '../record/record.ts'
import { hasFewBrackets } from '../session/check.ts'
import { asObject } from './values.ts'

/** Whether an object looks like a record of the format that is read: inside of a fragment others are whole too. */
export type IsRecord = (value: JsonObject) => boolean

/** A stretch of a text, by its characters. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Salvaged {
  readonly values: readonly JsonObject[]
  /** What belongs to none of the values. */
  readonly lost: readonly Span[]
}

/** How many places of one text are tried, and how many characters are looked at for that: a text of brackets takes the square of its length otherwise. */
const TRIES = 2000
const LEAST_SCANNED = 256 * 1024
const SCANS = 8

/** How many characters of a text may be looked at in all. */
function mostScanned(text: string): number {
  return Math.max(LEAST_SCANNED, SCANS * text.length)
}

/** The records in a text that is not one. */
export function salvage(text: string, isRecord: IsRecord): Salvaged {
  const escaped = withoutControls(text)
  const whole = escaped === text ? undefined : parsed(escaped)
  const record = asObject(whole)
  if (record !== undefined && isRecord(record)) return { values: [record], lost: [] }
  const values: JsonObject[] = []
  const lost: Span[] = []
  let [at, tries, left] = [0, 0, mostScanned(text)]
  for (let from = text.indexOf('{'); from !== -1 && tries < TRIES && left > 0; tries++) {
    const to = endOfObject(text, from)
    left -= (to ?? text.length) - from
    const value = to === undefined ? undefined : asObject(parsed(withoutControls(text.slice(from, to))))
    if (value !== undefined && isRecord(value)) {
      if (text.slice(at, from).trim() !== '') lost.push({ from: at, to: from })
      values.push(value)
      at = to as number
      from = text.indexOf('{', at)
    } else from = text.indexOf('{', from + 1)
  }
  if (text.slice(at).trim() !== '') lost.push({ from: at, to: text.length })
  return { values, lost }
}

/** What a text says as JSON; undefined if it says nothing, or is nested deeper than anything that can be kept. `isShallow`: it is known not to be. */
export function parsed(text: string, isShallow = false): Json | undefined {
  try {
    return !isShallow && isTooDeep(text) ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

/** What is around a message in a line or a document may be nested too. */
const DEPTH = LIMITS.jsonDepth + 16

/** Such a value would take more stack than there is. */
export function isTooDeep(text: string): boolean {
  return !hasFewBrackets(text, DEPTH) && exceededShape(text, { depth: DEPTH }) === 'depth'
}

/** The end of the object that begins here, by its brackets; undefined if the text ends first. */
function endOfObject(text: string, from: number): number | undefined {
  let depth = 0
  for (let i = from; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x22) {
      i = closingQuote(text, i)
      if (i === -1) return undefined
    } else if (char === 0x7b || char === 0x5b) depth++
    else if ((char === 0x7d || char === 0x5d) && --depth === 0) return i + 1
  }
  return undefined
}

/** JSON does not allow raw control characters in texts; some writers leave them there all the same. */
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * A document that is cut off or spoiled, as far as it goes: what is open at the end of the text is closed. In the arrays that hold the
 * records of the format, a spoiled element costs itself.
 */
export class DocumentSalvage {
  readonly lost: Span[] = []
  readonly #text: string
  readonly #isRecord: IsRecord
  readonly #arrays: ReadonlySet<string>
  #at = 0
  /** What may still be looked at. */
  #left: number

  /** `arrays`: the names of the fields that hold records. A document that is an array holds records too. */
  constructor(text: string, arrays: readonly string[], isRecord: IsRecord) {
    this.#text = text
    this.#arrays = new Set(arrays)
    this.#isRecord = isRecord
    this.#left = mostScanned(text)
  }

  read(): Json | undefined {
    this.#space()
    const first = this.#text[this.#at]
    if (first === '[') return this.#records()
    if (first === '{') return this.#object()
    return undefined
  }

  /** An object of the document itself: of what follows a spoiled field, only arrays of records are looked for. */
  #object(): JsonObject {
    const fields: Record<string, Json> = {}
    this.#at++
    for (;;) {
      this.#space()
      if (this.#text[this.#at] === ',') this.#at++
      this.#space()
      if (this.#at >= this.#text.length || this.#text[this.#at] === '}') return fields
      const from = this.#at
      const key = this.#key()
      const value = key === undefined ? undefined : this.#value(key)
      if (key !== undefined && value !== undefined) {
        // A field that comes again is the rest of a spoiled one.
        fields[key] = Array.isArray(value) && Array.isArray(fields[key]) ? [...(fields[key] as Json[]), ...(value as Json[])] : value
        continue
      }
      const next = this.#nextArray(from + 1)
      this.lost.push({ from, to: next ?? this.#text.length })
      if (next === undefined || this.#left <= 0) return fields
      this.#at = next
    }
  }

  #key(): string | undefined {
    const to = this.#text[this.#at] === '"' ? this.#endOfString(this.#at) : -1
    const key = to === -1 ? undefined : parsed(this.#text.slice(this.#at, to + 1))
    this.#at = to + 1
    this.#space()
    if (typeof key !== 'string' || this.#text[this.#at] !== ':') return undefined
    this.#at++
    this.#space()
    return key
  }

  #value(key: string): Json | undefined {
    const char = this.#text[this.#at]
    if (this.#arrays.has(key) && char === '[') return this.#records()
    const to = char === '{' || char === '[' ? this.#endOfObject(this.#at) : this.#endOfPlain()
    if (to === undefined) return undefined
    const value = parsed(withoutControls(this.#text.slice(this.#at, to)))
    this.#at = to
    return value
  }

  #endOfPlain(): number | undefined {
    if (this.#text[this.#at] === '"') {
      const to = this.#endOfString(this.#at)
      return to === -1 ? undefined : to + 1
    }
    const rest = /[,}\]\s]/g
    rest.lastIndex = this.#at
    return rest.exec(this.#text)?.index
  }

  /** The elements of an array of records, without those that are spoiled. */
  #records(): Json[] {
    const records: Json[] = []
    this.#at++
    for (let tries = 0; tries < TRIES && this.#left > 0; ) {
      this.#space()
      if (this.#text[this.#at] === ',') this.#at++
      this.#space()
      if (this.#text[this.#at] === ']') {
        this.#at++
        return records
      }
      if (this.#at >= this.#text.length) return records
      const to = this.#text[this.#at] === '{' ? this.#endOfObject(this.#at) : undefined
      const value = to === undefined ? undefined : asObject(parsed(withoutControls(this.#text.slice(this.#at, to))))
      if (value !== undefined) {
        records.push(value)
        this.#at = to as number
        continue
      }
      const next = this.#nextRecord(this.#at + 1)
      this.lost.push({ from: this.#at, to: next ?? this.#text.length })
      this.#at = next ?? this.#text.length
      tries++
    }
    this.lost.push({ from: this.#at, to: this.#text.length })
    this.#at = this.#text.length
    return records
  }

  /** Where the next whole record begins, or the end of the array if the fields of the document go on behind it. */
  #nextRecord(from: number): number | undefined {
    // The brace first: what stands before it is looked at only there.
    const begin = /\{(?<=[,[]\s*\{)|\](?=\s*,\s*"(?:\w+)"\s*:\s*["[{\d])/g
    begin.lastIndex = from
    let tries = 0
    for (let found = begin.exec(this.#text); found !== null && tries++ < TRIES; found = begin.exec(this.#text)) {
      if (found[0] === ']') {
        const key = /"(\w+)"/.exec(this.#text.slice(found.index, found.index + 100))?.[1]
        if (key !== undefined && this.#arrays.has(key)) return found.index
        continue
      }
      if (this.#left <= 0) return undefined
      const to = this.#endOfObject(found.index)
      const value = to === undefined ? undefined : asObject(parsed(this.#text.slice(found.index, to)))
      if (value !== undefined && this.#isRecord(value)) return found.index
    }
    return undefined
  }

  #endOfObject(from: number): number | undefined {
    const to = endOfObject(this.#text, from)
    this.#left -= (to ?? this.#text.length) - from
    return to
  }

  #endOfString(from: number): number {
    const to = closingQuote(this.#text, from)
    if (to === -1) this.#left -= this.#text.length - from
    return to
  }

  /** Where the next field that holds records begins. */
  #nextArray(from: number): number | undefined {
    const found = [...this.#arrays].map((name) => this.#text.indexOf(`"${name}"`, from))
    for (const at of found) this.#left -= (at === -1 ? this.#text.length : at) - from
    const places = found.filter((at) => at !== -1)
    return places.length === 0 ? undefined : Math.min(...places)
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
  }
}
