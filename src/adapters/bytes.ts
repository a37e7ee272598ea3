/**
 * Values with bytes in them, as JSON: frameworks keep images and the like as `Uint8Array`, which JSON would turn into an object of numbers.
 * Bytes become `{"$bytes": base64}`; an object that looks like that by itself is wrapped, so that nothing is mistaken for something else.
 */
import type { Json, JsonObject } from '../record/record.ts'

const BYTES = '$bytes'
const PLAIN = '$plain'

export function toJson(value: unknown): Json {
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map((item) => toJson(item ?? null))
  if (typeof value !== 'object' || value === null) return value as Json
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return toJson((value as { toJSON(): unknown }).toJSON())
  const fields = Object.entries(value).flatMap(([name, field]) => (field === undefined ? [] : [[name, toJson(field)] as const]))
  const object = Object.fromEntries(fields)
  return BYTES in object || PLAIN in object ? { [PLAIN]: object } : object
}

export function fromJson(value: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => fromJson(item as Json))
  if (typeof value !== 'object' || value === null) return value
  const object = value as JsonObject
  if (typeof object[BYTES] === 'string') return new Uint8Array(Buffer.from(object[BYTES], 'base64'))
  return fieldsFromJson((object[PLAIN] ?? object) as JsonObject)
}

function fieldsFromJson(object: JsonObject): object {
  return Object.fromEntries(Object.entries(object).map(([name, field]) => [name, fromJson(field as Json)]))
}
