/**
 * The messages that were read while a session was loaded, for whoever needs them next: they are not read and decoded a second time. Bounded; of a
 * session with more than that, nothing is kept.
 */

import type { Found } from '../../journal/records.ts'
import type { Counted } from '../../record/fold.ts'

const MOST_BYTES = 256 * 1024

export class LoadedMessages {
  #records: Found[] = []
  #bytes = 0
  /** From the first record that was met, up to behind the last one. */
  #from = Number.POSITIVE_INFINITY
  #to = 0
  #closed = false

  /** Is told of every record that counts, in order. */
  readonly note = (counted: Counted): void => {
    if (this.#closed) return
    const { record, at, end, carried } = counted
    this.#bytes += end - at
    // What is carried stands elsewhere, and perhaps not in order.
    if (carried || this.#bytes > MOST_BYTES) {
      this.drop()
      return
    }
    this.#from = Math.min(this.#from, at)
    this.#to = end
    if (record.type === 'messages.appended') this.#records.push(counted)
  }

  /** From now on nothing is noted. */
  close(): void {
    this.#closed = true
  }

  drop(): void {
    this.close()
    this.#records = []
    this.#to = 0
  }

  /** The records with messages from one position on, up to those that begin at the other; undefined if not all of them were met. */
  between(first: number, last: number): readonly Found[] | undefined {
    if (first < this.#from || last >= this.#to) return undefined
    return this.#records.filter(({ at }) => at >= first && at <= last)
  }
}
