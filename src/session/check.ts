/** What callers hand in, checked before anything else happens: a refusal says what was expected and what came. */
import { HoldfastError, invalid } from '../errors.ts'
import { exceededShape } from '../record/json-shape.ts'
import { notJson } from '../record/json-values.ts'
import { LIMITS } from '../record/limits.ts'
import type { JsonObject } from '../record/record.ts'
import type { Descriptive, RevertTarget } from './decide.ts'
import { JsonText } from './json-text.ts'
import type { Policies } from './policies.ts'

export { invalid }

/** The name of a session, a space, a message, a snapshot, a key: any text, within the limit. */
export function checkId(what: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') throw invalid(`${what} must be a text that is not empty; got ${shown(id)}.`)
  if (!id.isWellFormed()) throw invalid(`${what} has half of a surrogate pair, which cannot be stored.`)
  const bytes = Buffer.byteLength(id)
  if (bytes > LIMITS.idBytes) throw invalid(`${what} has ${bytes} bytes; the limit is ${LIMITS.idBytes}.`)
  return id
}

/** The target with its own field alone: a field of the other kind that is undefined counts as missing. */
export function checkRevertTarget(to: RevertTarget): RevertTarget {
  const { message, snapshot } = (typeof to === 'object' && to !== null ? to : {}) as {
    readonly message?: unknown
    readonly snapshot?: unknown
  }
  if ((message === undefined) === (snapshot === undefined))
    throw invalid(`What to revert to must be { message: id }, { message: null } or { snapshot: name }; got ${shown(to)}.`)
  if (snapshot !== undefined) return { snapshot: checkId('The name of a snapshot', snapshot) }
  return { message: message === null ? null : checkId('The message id', message) }
}

function checkText(what: string, text: unknown, limitBytes: number): string {
  if (typeof text !== 'string') throw invalid(`${what} must be a text; got ${shown(text)}.`)
  if (Buffer.byteLength(text) > limitBytes) throw invalid(`${what} is longer than ${limitBytes} bytes.`)
  return text.toWellFormed()
}

export function checkCount(what: string, value: unknown, most: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(`${what} must be a whole number from 0 on; got ${shown(value)}.`)
  if ((value as number) > most) throw invalid(`${what} must be ${most} at most; got ${value as number}.`)
  return value as number
}

/** How many items a page may have. A page of none only reports whether there are more. */
export function checkLimit(value: unknown, most: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0 || (value as number) > most)
    throw invalid(`\`limit\` must be a whole number from 0 to ${most}; got ${shown(value)}.`)
  return value as number
}

/** A time that a caller handed in. */
export function checkTime(what: string, time: unknown): Date {
  if (!(time instanceof Date) || Number.isNaN(time.getTime())) throw invalid(`\`${what}\` must be a valid Date.`)
  return time
}

/** An option that has one of a few values. */
export function checkChoice<T extends string>(what: string, value: unknown, choices: readonly T[]): T {
  if (choices.includes(value as T)) return value as T
  throw invalid(
    `\`${what}\` must be one of ${choices.join(', ')}; got ${typeof value === 'string' ? JSON.stringify(value) : shown(value)}.`,
  )
}

/** A text is no list: wherever a list is gone through, it would pass for a list of its characters. */
export function checkList(what: string, list: unknown): void {
  if (!Array.isArray(list)) throw invalid(`Give a list of ${what}; got ${shown(list)}.`)
}

/** Options that are texts, as far as they are given. */
export function checkTexts(options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && typeof value !== 'string') throw invalid(`\`${name}\` must be a text; got ${shown(value)}.`)
}

/** An object as JSON has it, so that a caller may go on changing the original. */
export function objectText(what: string, value: unknown, limitBytes: number = LIMITS.recordBytes): JsonText {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${what} must be an object; got ${shown(value)}.`)
  const json = jsonText(what, value, limitBytes)
  // An object may say itself what it is as JSON.
  if (!json.text.startsWith('{')) throw invalid(`${what} must be an object as JSON; got ${shown(json.value)}.`)
  return json
}

export function copyObject(what: string, value: unknown, limitBytes?: number): JsonObject {
  return objectText(what, value, limitBytes).value as JsonObject
}

export function jsonText(what: string, value: unknown, limitBytes: number = LIMITS.recordBytes): JsonText {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw invalid(`${what} cannot be written as JSON: ${(error as Error).message}`, error)
  }
  // Half of a surrogate pair cannot be stored; digests must be those of what is stored.
  if (text?.includes('\\ud') === true)
    text = text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/gi, (found) => (found === '\\\\' ? found : '\ufffd'))
  if (text === undefined) throw invalid(`${what} cannot be written as JSON; got ${shown(value)}.`)
  checkJson(what, text, limitBytes)
  // After the text was made, because that ends for a value with cycles.
  const found = notJson(value)
  if (found !== undefined) throw invalid(`${what} cannot be written as JSON: ${found}.`)
  return new JsonText(text)
}

/** JSON as text must be within the limits. */
export function checkJson(what: string, text: string, limitBytes: number = LIMITS.recordBytes): void {
  checkLength(what, text.length, limitBytes)
  if (!hasFewBrackets(text, LIMITS.jsonDepth) && exceededShape(text, { depth: LIMITS.jsonDepth }) !== undefined)
    throw invalid(`${what} is nested deeper than ${LIMITS.jsonDepth} levels.`)
}

/** In characters, of which each is at least one byte. */
export function checkLength(what: string, length: number, limitBytes: number = LIMITS.recordBytes): void {
  if (length <= limitBytes) return
  throw new HoldfastError('PAYLOAD_TOO_LARGE', `${what} has ${length} characters as JSON; the limit is ${limitBytes} bytes. Split it.`, {
    details: { limit: limitBytes },
  })
}

/** Nothing can be nested deeper than it has brackets. */
export function hasFewBrackets(text: string, most: number): boolean {
  let count = 0
  for (const bracket of ['{', '[']) {
    for (let i = text.indexOf(bracket); i !== -1; i = text.indexOf(bracket, i + 1)) if (++count > most) return false
  }
  return true
}

/** Titles, tags and the rest, within their limits. */
export function checkDescription(description: Descriptive): Descriptive {
  const { title, tags, owner, workspace, metadata, policies, addTags, removeTags } = description
  const nullable = (what: string, value: string | null, limit: number): string | null =>
    value === null ? null : checkText(what, value, limit)
  return {
    ...(title === undefined ? {} : { title: nullable('The title', title, LIMITS.titleBytes) }),
    ...(tags === undefined ? {} : { tags: checkTags(tags) }),
    ...(owner === undefined ? {} : { owner: nullable('The owner', owner, LIMITS.idBytes) }),
    ...(workspace === undefined ? {} : { workspace: nullable('The workspace', workspace, LIMITS.titleBytes) }),
    ...(metadata === undefined ? {} : { metadata: copyObject('The metadata', metadata, LIMITS.metadataBytes) }),
    ...(policies === undefined ? {} : { policies: copyObject('The policies', policies, LIMITS.metadataBytes) as Policies }),
    ...(addTags === undefined ? {} : { addTags: checkTags(addTags) }),
    ...(removeTags === undefined ? {} : { removeTags: checkTags(removeTags) }),
  }
}

function checkTags(tags: readonly string[]): string[] {
  if (!Array.isArray(tags) || tags.length > LIMITS.tags) throw invalid(`Tags are an array of at most ${LIMITS.tags} texts.`)
  return [...new Set(tags.map((tag) => checkId('A tag', tag)))]
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'a text'
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}
