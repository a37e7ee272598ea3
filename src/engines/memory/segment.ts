/**
 * One segment: a buffer that grows by doubling, so that an append copies no more than itself on average. Bytes are copied on the
 * way in and on the way out: nobody but this file holds a reference to what is stored.
 */
import type { Chunk } from '../../engine/port.ts'
import { JournalFold } from '../../record/fold.ts'
import type { KeyEntry, KeyHash, KeysOf } from '../../record/key-hash.ts'
import { splitLines } from '../../record/line.ts'

const NEWLINE = 0x0a

export class Segment {
  readonly first: number
  #bytes: Buffer
  #size: number
  #keys: ReadonlyMap<KeyHash, KeyEntry> | undefined

  constructor(first: number, bytes: Uint8Array) {
    this.first = first
    this.#bytes = Buffer.from(bytes)
    this.#size = bytes.length
  }

  get size(): number {
    return this.#size
  }

  /** The append point. */
  get end(): number {
    return this.first + this.#size
  }

  append(group: Uint8Array): void {
    const size = this.#size + group.length
    if (size > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(size, 2 * this.#bytes.length))
      this.#bytes.copy(grown, 0, 0, this.#size)
      this.#bytes = grown
    }
    this.#bytes.set(group, this.#size)
    this.#size = size
  }

  /** Puts a line in the place of one of the same length; false if there is none there. */
  overwrite(at: number, was: Uint8Array, line: Uint8Array): boolean {
    const begin = at - this.first
    const held = this.#bytes.subarray(0, this.#size)
    const isBegin = begin === 0 || held[begin - 1] === NEWLINE
    if (begin < 0 || !isBegin || held.indexOf(NEWLINE, begin) !== begin + line.length) return false
    if (!held.subarray(begin, begin + line.length).equals(was)) return false
    held.set(line, begin)
    this.#keys = undefined
    return true
  }

  /** Lines from `from` on, within `limit` bytes, but one line at least where there is one. */
  read(from: number, limit: number): Chunk {
    const begin = Math.max(from - this.first, 0)
    const held = this.#bytes.subarray(0, this.#size)
    let newline = held.lastIndexOf(NEWLINE, begin + Math.max(limit, 1) - 1)
    if (newline < begin) newline = held.indexOf(NEWLINE, begin)
    if (newline < begin) return { lines: [], next: from, end: this.end, opened: 0 }
    const whole = Buffer.from(held.subarray(begin, newline + 1))
    return { ...splitLines(whole, this.first + begin), end: this.end, opened: 0 }
  }

  /**
   * The keys of the records that count here, the highest entry of each. Folded once and alone: a line that this segment carries belongs to it as well, since
   * the segment that it came from may be purged. Only a segment that is sealed or has a successor can be asked, because nothing
   * that counts can be added to it any more.
   */
  keys(successor: number | undefined, keysOf: KeysOf): ReadonlyMap<KeyHash, KeyEntry> {
    if (this.#keys !== undefined) return this.#keys
    const fold = new JournalFold(this.first, successor)
    const keys = new Map<KeyHash, KeyEntry>()
    for (const line of splitLines(this.#bytes.subarray(0, this.#size), this.first).lines) {
      const verdict = fold.judge(line)
      if (verdict.kind !== 'counted') continue
      for (const entry of keysOf(verdict)) keys.set(entry.key, entry)
    }
    if (successor === undefined && fold.seal === undefined) {
      throw new TypeError(`Keys can be looked up in sealed segments only; the one at ${this.first} is still written to.`)
    }
    this.#keys = keys
    return keys
  }
}
