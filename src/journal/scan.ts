/** Reads one segment from a position on, chunk by chunk, until it has nothing more. Each reader of whole stretches reads with this loop. */
import type { Chunk, Journal } from '../engine/port.ts'
import type { Line } from '../record/line.ts'

export interface ScanOptions {
  /** Defaults to the first position of the segment. */
  readonly from?: number
  /** Stops before lines that begin after this position. The last chunk may hold some of them. */
  readonly last?: number
  /** How much to read at a time. Defaults to what the engine reads. */
  readonly bytes?: number
  /** The same of the first read. Defaults to `bytes`. */
  readonly firstBytes?: number
}

export class Scan implements AsyncIterable<Chunk> {
  readonly #journal: Journal
  readonly #segment: number
  readonly #options: ScanOptions
  /** Everything before this position was read. */
  next: number
  /** Where the segment ended at the last read. */
  end: number
  /** The segment was not there, at the first read or a later one: it was purged. */
  isGone = false

  constructor(journal: Journal, segment: number, options: ScanOptions = {}) {
    this.#journal = journal
    this.#segment = segment
    this.#options = options
    this.next = options.from ?? segment
    this.end = this.next
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk> {
    const { last = Number.POSITIVE_INFINITY, bytes, firstBytes = bytes } = this.#options
    for (let limit = firstBytes; this.next <= last; limit = bytes) {
      const chunk = await this.#journal.read(this.#segment, this.next, limit)
      this.isGone = chunk === undefined
      if (chunk === undefined) return
      this.end = chunk.end
      if (chunk.next === this.next) return
      this.next = chunk.next
      yield chunk
    }
  }
}

/** The lines of one segment. */
export async function* scanLines(journal: Journal, segment: number, options?: ScanOptions): AsyncGenerator<Line> {
  for await (const { lines } of new Scan(journal, segment, options)) yield* lines
}
