/** Where a journal starts: at its first segment, but for those that hold no record. */
import type { Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { JournalFold, type Seal } from '../record/fold.ts'
import { Scan } from './scan.ts'

/** The first record is near the start, as a rule: every load looks for it. */
const PIECE_BYTES = 4096

/**
 * A segment that was purged and made again by a late process holds no record. So does one that was emptied by another program, and then its records
 * are missed: whether the journal may start at the first segment that does hold one is for those to say who know the state. Lines that a segment
 * carries count where they come from. If the sync of a whole segment failed, only the seal after its lost lines may be left: the next segment
 * carries them, and the journal starts with this one if its checkpoint is left, or with an earlier line that is carried with them.
 */
export async function startOf(journal: Journal, segments: readonly number[]): Promise<number | undefined> {
  // The first segment of which only its checkpoint and its seal are left.
  let rooted: number | undefined
  for (const [i, segment] of segments.entries()) {
    const successor = segments[i + 1]
    // Where only the last one is left to look at, it was loaded.
    if (i === 0 && successor === undefined) return segment
    const first = await firstRecord(journal, segment, successor)
    if (first === 'carried on') rooted ??= segment
    else if (first !== undefined || successor === undefined) return Math.min(rooted ?? segment, first ?? segment)
  }
  return rooted
}

/** The position of the first record that counts in a segment. `carried on`: it has its checkpoint, and the next segment carries its lines. */
async function firstRecord(
  journal: Journal,
  segment: number,
  successor = Number.POSITIVE_INFINITY,
): Promise<number | 'carried on' | undefined> {
  const fold = new JournalFold(segment, successor)
  const scan = new Scan(journal, segment, { bytes: PIECE_BYTES })
  try {
    for await (const { lines } of scan) {
      for (const { at, bytes } of lines) {
        const verdict = fold.judge({ at, bytes })
        if (verdict.kind !== 'counted') continue
        if (!isCarriedWhole(fold.seal, segment)) return verdict.at
        return fold.root === undefined ? undefined : 'carried on'
      }
    }
  } catch (error) {
    // That it cannot be read is no loss.
    if (error instanceof HoldfastError && error.code === 'UNREADABLE') return segment
    throw error
  }
  // It was purged after the segments were listed, and the state that was loaded is older than that.
  return scan.isGone ? segment : undefined
}

function isCarriedWhole(seal: Seal | undefined, segment: number): boolean {
  return seal?.from !== undefined && seal.from <= segment
}
