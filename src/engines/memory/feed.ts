/**
 * Which journals changed, in order. A cursor is the engine's epoch and a count of changes. The epoch is random, so a cursor of an
 * earlier engine never fits by chance. The log is bounded: a cursor from before what is kept is answered with a reset.
 */
import type { Changes } from '../../engine/port.ts'
import { Watchers } from '../../engine/watchers.ts'

/** Changes that are kept at least; up to twice as many are, so that trimming costs nothing per change. */
const KEPT_CHANGES = 65_536

export class Feed {
  readonly #epoch: string
  readonly #kept: number
  #names: string[] = []
  /** How many changes were made before the first one that is kept. */
  #trimmed = 0
  readonly #watchers = new Watchers()

  constructor(epoch: string, kept = KEPT_CHANGES) {
    this.#epoch = epoch
    this.#kept = kept
  }

  announce(name: string): void {
    this.#names.push(name)
    if (this.#names.length > 2 * this.#kept) {
      this.#trimmed += this.#names.length - this.#kept
      this.#names = this.#names.slice(-this.#kept)
    }
    this.#watchers.hint()
  }

  since(cursor: string | undefined): Changes {
    const count = this.#trimmed + this.#names.length
    const next = `${this.#epoch}.${count}`
    const from = cursor === undefined ? undefined : this.#countOf(cursor)
    if (from === undefined || from < this.#trimmed || from > count) return { cursor: next, names: [], reset: true }
    return { cursor: next, names: [...new Set(this.#names.slice(from - this.#trimmed))], reset: false }
  }

  watch(hint: () => void): () => void {
    return this.#watchers.add(hint)
  }

  close(): void {
    this.#names = []
    this.#watchers.clear()
  }

  #countOf(cursor: string): number | undefined {
    const [epoch, count, ...rest] = cursor.split('.')
    if (epoch !== this.#epoch || count === undefined || rest.length > 0 || !/^\d{1,15}$/.test(count)) return undefined
    return Number(count)
  }
}
