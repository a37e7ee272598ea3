/**
 * The places of the two copies of one record. A writer puts them into one write, each after a lead-in, and they differ only in `pos` and `crc`.
 * So the place of one copy follows from the place of the other.
 */
import { LEAD_IN } from './line.ts'

/** A line without its newline: where it begins, and where it ends. */
export interface Extent {
  readonly at: number
  readonly end: number
}

/** The newline of the first copy, and the lead-in of the second. */
const BETWEEN = 1 + LEAD_IN.length

/** The second copy of a record whose first copy is this line. */
export function secondCopy({ at, end }: Extent): Extent {
  const second = end + BETWEEN
  return { at: second, end: second + (end - at) + digits(second) - digits(at) }
}

/** The first copy of a record whose second copy is this line; undefined if there is no room for one. */
export function firstCopy(line: Extent): Extent | undefined {
  const end = line.at - BETWEEN
  // The position may have gained digits between the two.
  for (let fewer = 0; fewer < digits(line.at); fewer++) {
    const at = end - (line.end - line.at) + fewer
    if (at >= 0 && digits(at) + fewer === digits(line.at)) return { at, end }
  }
  return undefined
}

function digits(position: number): number {
  return String(position).length
}
