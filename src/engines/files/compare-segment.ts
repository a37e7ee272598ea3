/**
 * Compares a segment of a store with the same segment in a backup, and decides what the store lacks. A journal only grows, so the segment of a
 * backup is a beginning of the original, and every line keeps its offset. Pure: it reads and writes no file.
 *
 * - The store has the same bytes, and perhaps more: nothing to do.
 * - The store has fewer: the rest is missing.
 * - A line of the store is damaged, and the backup has an intact line at the same offset: a patch.
 * - A line of the backup is damaged, or must not be put back: the store keeps what it has.
 * - The store has another intact line: a conflict. Two histories cannot become one.
 */
import { intactCrc, isBlank, type Line, splitLines } from '../../record/line.ts'

/** Bytes of the store to write over: damaged lines, each whole and with its newline. */
export interface Patch {
  readonly offset: number
  readonly was: Buffer
  readonly bytes: Buffer
  /** How many records it brings back. */
  readonly lines: number
}

export interface Comparison {
  readonly patches: readonly Patch[]
  /** What the store lacks at its end. */
  readonly rest: Buffer
  /** The offset of the first line that is another one in the store. Then nothing may be changed. */
  readonly conflict?: number
}

const NONE: ReadonlySet<number> = new Set()

/**
 * `wanted`: the segment as the store should have it. `former`: the same as the backup has it, where an erasure has changed a line since; the store
 * may still have that line, if the erasure is not finished. `without`: offsets of lines that must not be put back.
 */
export function compareSegment(live: Buffer, wanted: Buffer, former: Buffer = wanted, without: ReadonlySet<number> = NONE): Comparison {
  const rest = wanted.subarray(Math.min(live.length, wanted.length))
  const patches: Patch[] = []
  for (const region of differing(live, wanted, former, without)) {
    const [{ at: offset }, last] = [region[0] as Line, region.at(-1) as Line]
    const end = Math.min(last.at + last.bytes.length + 1, live.length)
    if (hasIntactLine(live, offset, end)) return { patches: [], rest: Buffer.of(), conflict: offset }
    const bytes = wanted.subarray(offset, end)
    patches.push({ offset, was: live.subarray(offset, end), bytes, lines: region.filter((line) => !isBlank(line.bytes)).length })
  }
  return { patches, rest }
}

/** Lines of the backup that the store has otherwise, neighbours together: a newline that rotted has spoiled two. */
function differing(live: Buffer, wanted: Buffer, former: Buffer, without: ReadonlySet<number>): Line[][] {
  const regions: Line[][] = []
  let region: Line[] | undefined
  for (const line of splitLines(wanted, 0).lines) {
    const end = Math.min(line.at + line.bytes.length + 1, live.length)
    if (line.at >= end) break
    const there = live.subarray(line.at, end)
    const isSame = there.equals(wanted.subarray(line.at, end)) || there.equals(former.subarray(line.at, end))
    if (isSame || without.has(line.at) || !isUsable(line)) {
      region = undefined
      continue
    }
    if (region === undefined) regions.push([])
    region = regions.at(-1)
    region?.push(line)
  }
  return regions
}

/** A damaged line of the backup says nothing about the one in the store. */
function isUsable({ bytes }: Line): boolean {
  return isBlank(bytes) || intactCrc(bytes) !== undefined
}

function hasIntactLine(live: Buffer, from: number, to: number): boolean {
  return splitLines(live, 0).lines.some(({ at, bytes }) => at < to && at + bytes.length >= from && intactCrc(bytes) !== undefined)
}
