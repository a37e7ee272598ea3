/** Whole lines of one segment file. */
import type { Chunk } from '../../engine/port.ts'
import { splitLines } from '../../record/line.ts'
import type { Segment } from './segment.ts'

/** By how much more is read where a line continues after what was read. */
const GROWTH = 8

/** Lines from a position on. Undefined if the path of the segment names another file by now, or none, or if the file was cut. */
export async function readLines(open: Segment, from: number, limit: number, syncBytes: number): Promise<Chunk | undefined> {
  const { end, opened } = open
  if (end === undefined || open.isCut(end)) return undefined
  for (let length = Math.min(limit, end - from); length > 0; length = Math.min(length * GROWTH, end - from)) {
    const offset = from - open.first
    const bytes = length <= syncBytes ? open.file.readSync(offset, length) : await open.file.read(offset, length)
    // Cut since its end was looked at.
    if (bytes.length < length) return undefined
    const { lines, next } = splitLines(bytes, from)
    if (lines.length === 0 && length < end - from) continue
    // Beyond the limit only to make one line whole.
    const [first, second] = lines
    const chunk = length > limit && first !== undefined && second !== undefined ? { lines: [first], next: second.at } : { lines, next }
    if (!open.noteEnd(from, bytes.subarray(0, chunk.next - from))) return undefined
    open.see(chunk.next)
    return { ...chunk, end, opened }
  }
  return { lines: [], next: from, end, opened }
}
