/**
 * Whether a text is a value exactly as `JSON.stringify` would write it. To write a value again only to find the same text takes longer than
 * all else that is done with a message; most files were written by something that writes as JavaScript does.
 */
import type { Json } from '../record/record.ts'

/** `value` must be what the text was parsed to. False where it cannot be told quickly. */
export function isCanonical(value: Json, text: string): boolean {
  // Of an escape, only the forms of two characters are counted, and an escaped slash is one too many.
  let escapes = 0
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at + 2)) {
    const next = text.charCodeAt(at + 1)
    if (next === 0x75 || next === 0x2f) return false
    escapes++
  }
  // Whatever else could be written otherwise would be longer: blanks, or a field that comes twice.
  return lengthOf(value) + escapes === text.length
}

/** How long a value is as JSON, without escapes; NaN if it may be written in a shorter way, or in another order. */
function lengthOf(value: Json): number {
  if (typeof value === 'string') return value.length + 2
  if (value === null || value === true) return 4
  if (value === false) return 5
  if (typeof value === 'number') return lengthOfNumber(value)
  let length = 2
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) length += lengthOf(item) + 1
    return value.length === 0 ? length : length - 1
  }
  const fields = Object.keys(value)
  for (const field of fields) {
    // What looks like an index comes first, wherever it stood.
    const first = field.charCodeAt(0)
    if (first >= 0x30 && first <= 0x39) return Number.NaN
    length += field.length + 4 + lengthOf((value as { readonly [key: string]: Json })[field] as Json)
  }
  return fields.length === 0 ? length : length - 1
}

/** A whole number that does not end with a zero cannot be written shorter than with its digits. */
function lengthOfNumber(value: number): number {
  return value === 0 || (Number.isSafeInteger(value) && value % 10 !== 0) ? String(value).length : Number.NaN
}
