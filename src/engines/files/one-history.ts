/** Refuses segments of a backup that do not belong to one history of a session. */
import { HoldfastError } from '../../errors.ts'
import { decodeLine, splitLines } from '../../record/line.ts'
import { epochOf } from '../../record/watermark.ts'
import { segmentFile } from './names.ts'
import type { WantedSegment } from './restore-segments.ts'

/**
 * A segment of a later epoch belongs to the segments before it only if their seal leads there: otherwise it continues a history from which the
 * store had lost something. Within one epoch no position is used twice, so a hole between two segments is a loss and not another history.
 */
export function requireOneHistory(segments: readonly WantedSegment[]): void {
  for (const [i, { first, former }] of segments.entries()) {
    const follower = segments[i + 1]
    if (follower === undefined) return
    const next = sealedNext(first, former)
    if (next === follower.first) continue
    const isHole = epochOf(first) === epochOf(follower.first) && (next === undefined || next < follower.first)
    if (!isHole) throw twoHistories(first, follower.first)
  }
}

const SEALED = Buffer.from('"type":"segment.sealed"')

/** Where the first seal of a segment says that the journal continues. */
function sealedNext(first: number, bytes: Buffer): number | undefined {
  for (const { at, bytes: line } of splitLines(bytes, first).lines) {
    if (!Buffer.from(line.buffer, line.byteOffset, line.length).includes(SEALED)) continue
    const decoded = decodeLine(line)
    if (decoded.kind !== 'record' || decoded.record.type !== 'segment.sealed' || decoded.record.pos !== at) continue
    const { next } = decoded.record
    return typeof next === 'number' ? next : at + line.length + 1
  }
  return undefined
}

function twoHistories(segment: number, follower: number): HoldfastError {
  return new HoldfastError(
    'DAMAGED',
    `The backup holds segments of two histories of this session: ${segmentFile(segment)} does not lead to ${segmentFile(follower)}. Nothing was changed. Restore the whole backup to another directory (holdfast restore-backup <directory> --store <other>) and run "holdfast doctor" there. To get a backup that can be restored, back up the store again.`,
    { details: { reason: 'histories', segment, next: follower } },
  )
}
