import type { Json } from './record.ts'

/** Quotes, a colon and a comma. */
const AROUND = 4

/** About as many bytes as a value has as JSON: escapes are not counted. Makes no text of it. */
export function jsonBytes(value: Json | undefined): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + AROUND
  if (typeof value !== 'object' || value === null) return 2 * AROUND
  let bytes = AROUND
  if (Array.isArray(value)) for (const item of value) bytes += jsonBytes(item)
  else for (const name in value) bytes += name.length + AROUND + jsonBytes((value as Record<string, Json>)[name])
  return bytes
}

/** Counts what a page holds. The first item always fits. */
export class PageBudget {
  readonly #most: number
  #bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Adds an item. False, and nothing is added, if the page would hold too much. */
  add(bytes: number): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes > this.#most) return false
    this.#bytes += Math.max(1, bytes)
    return true
  }
}
