/** JSON whose fields stand in one order, so that equal values are equal texts. */
import { hash } from 'node:crypto'
import type { Json, JsonObject } from '../record/record.ts'

export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item as Json)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const object = value as JsonObject
  const fields = Object.keys(object).sort()
  return `{${fields.map((field) => `${JSON.stringify(field)}:${canonical(object[field] as Json)}`).join(',')}}`
}

/** What a catalog compares a field of metadata by. */
export function digest(value: Json): string {
  const text = canonical(value)
  return text.length <= 64 ? text : hash('sha256', text, 'hex')
}
