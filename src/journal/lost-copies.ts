/**
 * Tells a spoiled copy of a record that is written twice from a loss: where the other copy can be read, nothing is lost. The doctor notes it.
 */
import { type Extent, firstCopy, secondCopy } from '../record/copies.ts'
import type { Counted } from '../record/fold.ts'
import { LEAD_IN } from '../record/line.ts'
import { isWrittenTwice } from '../record/record.ts'

interface Spoiled {
  readonly at: number
  readonly length: number
  readonly as: string
}

export class LostCopies {
  /** Where the second copy of the record is that was read last. */
  #second: Extent | undefined
  /** The first copy of the last record could not be read, so the next record may name a checksum that is not known. */
  mayDiffer = false
  /** The last record is written twice, and one copy was read. If that is the second one, the next record names a checksum that is not known. */
  isAlone = false

  /** Whether a spoiled line is the second copy of the record before it. */
  isSecond(spoiled: Spoiled): boolean {
    return this.#second !== undefined && isWithin(spoiled, this.#second)
  }

  /** The other copy was read, too. */
  repeat(): void {
    this.isAlone = false
  }

  /**
   * Takes in a record that counted. Returns which of the spoiled lines before it was its own first copy: the one that starts and ends exactly
   * where that must. The chain of checksums is no help here, since an erasure changes what a line was known by.
   */
  count<T extends Spoiled>(counted: Counted, spoiled: readonly T[]): T | undefined {
    const line = { at: counted.at, end: counted.end - 1 }
    const twice = !counted.carried && isWrittenTwice(counted.record)
    this.isAlone = twice
    this.#second = twice ? secondCopy(line) : undefined
    const first = twice ? firstCopy(line) : undefined
    const last = spoiled.at(-1)
    this.mayDiffer = first !== undefined && last !== undefined && last.at + last.length > first.at
    if (first === undefined || last === undefined || !isWithin(last, first)) return undefined
    // It was the second copy that counted.
    this.#second = undefined
    return last
  }
}

/** Zeros may reach beyond the line, over its newline. */
function isWithin({ at, length, as }: Spoiled, extent: Extent): boolean {
  const beyond = at + length - extent.end
  return at === extent.at && (beyond === 0 || (as === 'zeros' && beyond > 0 && beyond <= LEAD_IN.length))
}
