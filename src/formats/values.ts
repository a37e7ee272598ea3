/** Values of foreign JSON, taken as what they should be, or undefined. */
import { hash } from 'node:crypto'
import type { Json, JsonObject } from '../record/record.ts'
import type { ModelCall } from '../session/records.ts'

export function asObject(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

export function asArray(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

export function asObjects(value: Json | undefined): JsonObject[] {
  return asArray(value)
    .map(asObject)
    .filter((item) => item !== undefined)
}

/** A text that says something. */
export function asString(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** What can name a session, a message or a snapshot: a text of the length that ids may have, made well-formed. */
export function asId(value: Json | undefined): string | undefined {
  const text = typeof value === 'number' ? String(value) : asString(value)?.toWellFormed()
  // A character has three bytes at most.
  if (text === undefined || text.length <= 400 / 3) return text
  return Buffer.byteLength(text) <= 400 ? text : `${text.slice(0, 60).toWellFormed()}-${digest(text)}`
}

export function asCount(value: Json | undefined): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

/** What a call took, if that is told. */
export function callOf(model: string | undefined, inputTokens: number, outputTokens: number): ModelCall | undefined {
  return model === undefined || model.length > 200 || inputTokens + outputTokens === 0 ? undefined : { model, inputTokens, outputTokens }
}

/** A title, within its limit. */
export function asTitle(value: Json | undefined): string | undefined {
  const line = asString(value)?.trim()
  return line === undefined || line === '' ? undefined : line.slice(0, 1000).toWellFormed()
}

/** Metadata as JSON may be too much; the raw record is kept as an entry in any case. */
export function asMetadata(fields: { readonly [key: string]: Json | undefined }): JsonObject {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && JSON.stringify(value).length <= 8000)
  return Object.fromEntries(kept) as JsonObject
}

const EPOCH_SECONDS_MOST = 100_000_000_000

/** A moment as records write it, but for how its second is divided and whether it names its zone. A day beyond the 28th may be none of its month. */
const MOMENT = /^(?:19[7-9]|[2-9]\d\d)\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d{3})\d*)?Z?$/
const [SECOND_ENDS, MOMENT_ENDS] = [19, 24]

/** A moment as records write it: from ISO text, with or without a zone (then it is taken for UTC, the same on every machine), or a number. */
export function asTime(value: Json | undefined): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return isoOf(Math.abs(value) < EPOCH_SECONDS_MOST ? value * 1000 : value)
  if (typeof value !== 'string' || value === '') return undefined
  const moment = MOMENT.exec(value)
  if (moment !== null)
    return value.length === MOMENT_ENDS && value.endsWith('Z') ? value : `${value.slice(0, SECOND_ENDS)}.${moment[1] ?? '000'}Z`
  const numeric = /^\d+(?:\.\d+)?$/.test(value)
  if (numeric) return asTime(Number(value))
  const zoned = /(?:Z|[+-]\d\d:?\d\d)$/i.test(value) || !value.includes('T') ? value : `${value}Z`
  return isoOf(Date.parse(zoned.replace(/(\.\d{3})\d+/, '$1')))
}

function isoOf(ms: number): string | undefined {
  // Years of four digits: others are no moments at which agents were at work, and are written otherwise.
  return ms >= 0 && ms < 253_402_300_800_000 ? new Date(Math.round(ms)).toISOString() : undefined
}

/** 32 hex digits that stand for a text, or for its bytes. */
export function digest(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

/** The last part of a path, without its endings. */
export function stemOf(path: string): string {
  const name = path.split(/[/\\]/).at(-1) ?? path
  return name.replace(/(?:\.(?:jsonl?|ndjson|zst|gz|tmp|bak))+$/i, '')
}

/** The text of a message's content, for titles and the like. */
export function contentText(content: Json | undefined): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const { text } of asObjects(content)) if (typeof text === 'string' && text !== '') texts.push(text)
  return texts.join('\n')
}

/**
 * Ids for messages that have none: made from what they are, with a number that tells equal ones apart, so that they stay the same when the
 * source grows, or loses its beginning.
 */
export class ContentIds {
  readonly #seen = new NumberSet()
  readonly #again = new Map<string, number>()

  next(message: Json): string {
    return this.nextOf(digest(JSON.stringify(message)))
  }

  /** The same, of something whose digest is known. */
  nextOf(id: string): string {
    const short = Number.parseInt(id.slice(0, 13), 16)
    if (this.#seen.add(short)) return id
    const before = this.#again.get(id) ?? 1
    this.#again.set(id, before + 1)
    return `${id}.${before}`
  }
}

/**
 * Numbers that were seen: the first 52 bits of digests, in a table of their own. A source may have millions of messages, and a `Set` takes five
 * times as much, and twice that when it grows.
 */
class NumberSet {
  #table = new Float64Array(1024)
  #size = 0

  /** False if it was there. */
  add(value: number): boolean {
    if (2 * this.#size >= this.#table.length) this.#grow()
    // Nothing is zero but what is free.
    if (!put(this.#table, value + 1)) return false
    this.#size++
    return true
  }

  #grow(): void {
    const table = new Float64Array(2 * this.#table.length)
    for (const value of this.#table) if (value !== 0) put(table, value)
    this.#table = table
  }
}

function put(table: Float64Array, value: number): boolean {
  for (let at = value % table.length; ; at = (at + 1) % table.length) {
    if (table[at] === value) return false
    if (table[at] !== 0) continue
    table[at] = value
    return true
  }
}
