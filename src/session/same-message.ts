/**
 * Whether two bodies of one message id are the same. Some clients write the id into the message too, others only next to it, so a field `id` that
 * repeats the message id makes no other body. A journal keeps the digest of the first body alone. Where the two digests differ, this compares the
 * digests that the second body has with that field and without it.
 */
import type { JsonObject } from '../record/record.ts'
import { digestOf, type JsonText } from './json-text.ts'

/** The field may be anywhere in the first body. Those of real messages are few; in a longer one it is looked for at its beginning and its end. */
const PLACES = 32

/** `digest`: of the body that the message with this id had first. */
export function isSameMessage(id: string, body: JsonText, digest: string): boolean {
  return body.digest === digest || otherDigests(id, body).includes(digest)
}

function otherDigests(id: string, body: JsonText): string[] {
  const value = body.value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  const fields = Object.entries(value as JsonObject)
  const rest = fields.filter(([name]) => name !== 'id')
  const isOther = rest.length < fields.length && (value as JsonObject).id !== id
  if (isOther) return []
  const places = [...Array(Math.min(rest.length, PLACES)).keys(), rest.length]
  const withId = places.map((place) => rest.toSpliced(place, 0, ['id', id]))
  return [rest, ...withId].map((one) => digestOf(Object.fromEntries(one)))
}
