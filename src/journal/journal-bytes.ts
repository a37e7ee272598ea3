/** How long a journal is. */
import type { Journal } from '../engine/port.ts'
import { epochOf } from '../record/watermark.ts'

/** The bytes of segments, in order, the last of which ends at `end`. Positions jump where a loss was accepted, so those are asked how long they are. */
export async function journalBytes(journal: Journal, segments: readonly number[], end: number): Promise<number> {
  let bytes = 0
  for (const [i, first] of segments.entries()) {
    const next = segments[i + 1] ?? end
    const isJump = epochOf(next) > epochOf(first)
    bytes += (isJump ? ((await journal.read(first, first, 1))?.end ?? first) : next) - first
  }
  return bytes
}
