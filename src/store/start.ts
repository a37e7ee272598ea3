/** Where a journal starts: its first segment, but for those that hold no record. */
import type { Journal } from '../engine/port.ts'
import { JournalFold } from '../record/fold.ts'

/** The first record is near the start, as a rule: every load looks for it. */
const PIECE_BYTES = 4096

/**
 * A segment that was purged and made again by a late process holds no record. So does one that was emptied by another program, and then its records
 * are missed: whether the journal may start at the first segment that does hold one is for those to say who know the state.
 */
export async function startOf(journal: Journal, segments: readonly number[]): Promise<number | undefined> {
  for (const [i, segment] of segments.entries()) {
    const successor = segments[i + 1]
    if (successor === undefined || (await holdsRecord(journal, segment, successor))) return segment
  }
  return undefined
}

async function holdsRecord(journal: Journal, segment: number, successor: number): Promise<boolean> {
  const fold = new JournalFold(segment, successor)
  for (let from = segment; ; ) {
    const chunk = await journal.read(segment, from, PIECE_BYTES)
    // Purged in the meantime: the state that was loaded is older than that.
    if (chunk === undefined) return true
    if (chunk.next === from) return false
    for (const { at, bytes } of chunk.lines) if (fold.judge({ at, bytes }).kind === 'counted') return true
    from = chunk.next
  }
}
