/**
 * Compares watermarks with the lines of a journal. A watermark holds if its line is at its place, intact, with the same record id. A line that
 * rotted in its place is damage like any other. In these cases a watermark says nothing any more; in all others, bytes vanished:
 *
 *   - Its segment was purged.
 *   - Its segment and those before it hold no record, and a later one holds lines: it was purged, and a late process made it again.
 *   - Its line was carried into a later segment.
 *   - The journal continues in a later epoch.
 */
import { crc32 } from 'node:zlib'
import type { Vanished } from '../../engine/port.ts'
import type { Verdict } from '../../record/fold.ts'
import { epochOf, lookOf, type Watermark } from '../../record/watermark.ts'
import { unreadable } from './failures.ts'
import type { Segment } from './segment.ts'

export interface Contents {
  segments(): Promise<number[]>
  /** Of the file that a segment's path names; undefined if there is none. */
  size(segment: number): number | undefined
  /** The file that a segment's path names; to be released. */
  hold(segment: number): Promise<Segment | undefined>
  verdicts(segment: number, successor: number): AsyncIterable<Verdict>
}

const ZEROS_AT_ONCE = 64 * 1024

/** How often a comparison is repeated because segments were rolled or purged in the meantime. */
const ATTEMPTS = 5

export async function findVanished(marks: readonly Watermark[], contents: Contents): Promise<Vanished | undefined> {
  let vanished: Vanished | undefined
  for (const mark of marks) {
    const from = await gapOf(mark, contents)
    if (from !== undefined) vanished = { from: Math.min(from, vanished?.from ?? from), to: Math.max(mark.end, vanished?.to ?? 0) }
  }
  return vanished
}

/** Where the bytes are missing that a watermark covers; undefined if it holds or is void. */
async function gapOf(mark: Watermark, contents: Contents): Promise<number | undefined> {
  let segments = await contents.segments()
  for (let attempt = 1; ; attempt++) {
    const from = await gapIn(mark, segments, contents)
    if (from === undefined || attempt === ATTEMPTS) return from
    const before = segments
    segments = await contents.segments()
    if (segments.join() === before.join()) return from
  }
}

async function gapIn(mark: Watermark, segments: readonly number[], contents: Contents): Promise<number | undefined> {
  if (segments.length === 0) return 0
  if (await isContinued(mark, segments, contents)) return undefined
  const index = segments.findLastIndex((first) => first <= mark.start)
  // Whether the segments before the first one were purged is for those to say who know the state.
  if (index === -1) return undefined
  const segment = segments[index] as number
  const open = await contents.hold(segment)
  if (open === undefined) return segment
  try {
    const lead = mark.start === segment ? 0 : 1
    const around = await open.file.read(mark.start - segment - lead, mark.end - mark.start + lead)
    const look = lookOf(mark, around)
    // If the file is cut after this and grows again, whoever reads beyond this place notices.
    if (look === 'intact') open.noteEnd(mark.start - lead, around)
    if (look !== 'gone') return undefined
    if (await isVoid(mark, segments, index, contents)) return undefined
    // The end of a file that was cut is the same for every watermark that shows it.
    if (open.ownEnd < mark.end) return open.ownEnd
    return around[lead] === 0 ? segment + (await startOfZeros(open, mark.start - segment)) : mark.start
  } catch (error) {
    throw unreadable(error, 'The journal')
  } finally {
    open.release()
  }
}

/** Where the zeros begin that reach up to an offset of a file. What was there was written before the line that a watermark names. */
async function startOfZeros({ file }: Segment, offset: number): Promise<number> {
  for (let end = offset; end > 0; ) {
    const begin = Math.max(0, end - ZEROS_AT_ONCE)
    const bytes = await file.read(begin, end - begin)
    const last = bytes.findLastIndex((byte) => byte !== 0)
    if (last !== -1) return begin + last + 1
    end = begin
  }
  return 0
}

/** Whether the journal goes on in a later epoch than a watermark's: such a segment holds lines, or a seal names it. Its name alone says nothing. */
async function isContinued(mark: Watermark, segments: readonly number[], contents: Contents): Promise<boolean> {
  for (const [i, segment] of segments.entries()) {
    if (epochOf(segment) <= epochOf(mark.start)) continue
    const successor = segments[i + 1] ?? Number.POSITIVE_INFINITY
    if ((await contentOf(contents.verdicts(segment, successor), mark)) !== 'nothing') return true
    const before = segments[i - 1]
    if (before !== undefined && (await isSealedFor(contents.verdicts(before, segment), segment))) return true
  }
  return false
}

async function isSealedFor(verdicts: AsyncIterable<Verdict>, next: number): Promise<boolean> {
  for await (const verdict of verdicts) if (verdict.kind === 'counted' && verdict.record.next === next) return true
  return false
}

async function isVoid(mark: Watermark, segments: readonly number[], index: number, contents: Contents): Promise<boolean> {
  if (await isBehindSeal(mark, segments[index - 1], contents)) return true
  let continues = false
  for (const [i, segment] of segments.slice(index + 1).entries()) {
    const successor = segments[index + i + 2] ?? Number.POSITIVE_INFINITY
    const holds = await contentOf(contents.verdicts(segment, successor), mark)
    if (holds === 'the line') return true
    continues ||= holds === 'others'
  }
  // Where something was purged, a later segment holds at least a checkpoint.
  if (!continues) return false
  // Behind a segment that holds a record nothing was purged: what holds none there was emptied, and its successor made by who had read it before.
  for (const [i, segment] of segments.slice(0, index + 1).entries()) {
    if (await holdsRecord(contents.verdicts(segment, segments[i + 1] as number))) return false
  }
  return true
}

/** What was placed behind the seal of a segment has positions that the next segment uses, too. It never counted. */
async function isBehindSeal(mark: Watermark, before: number | undefined, contents: Contents): Promise<boolean> {
  const open = before === undefined ? undefined : await contents.hold(before)
  if (open === undefined) return false
  try {
    return lookOf(mark, await open.file.read(mark.start - open.first, mark.end - mark.start)) === 'intact'
  } finally {
    open.release()
  }
}

async function holdsRecord(verdicts: AsyncIterable<Verdict>): Promise<boolean> {
  for await (const verdict of verdicts) if (verdict.kind === 'counted') return true
  return false
}

/** What a later segment holds: the line of a watermark, carried into it, or other lines that count. Carried lines come first. */
async function contentOf(verdicts: AsyncIterable<Verdict>, { start, idHash }: Watermark): Promise<'the line' | 'others' | 'nothing'> {
  let content: 'others' | 'nothing' = 'nothing'
  for await (const verdict of verdicts) {
    if (verdict.kind !== 'counted' && verdict.kind !== 'checkpoint') continue
    content = 'others'
    if (verdict.kind === 'checkpoint') continue
    if (!verdict.carried) break
    if (verdict.at === start && crc32(verdict.record.id) === idHash) return 'the line'
  }
  return content
}
