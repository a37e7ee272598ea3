/** One write to a segment, and how its end is looked at before and after it. */
import type { Appended } from '../../engine/port.ts'
import { HoldfastError, type Outcome } from '../../errors.ts'
import { unwritable } from './failures.ts'
import type { Segment } from './segment.ts'

/** The journal no longer ends where the write was to go: nothing was written. */
export const MOVED: Appended = { moved: true, placed: 0 }

export function endOf(open: Segment, outcome: Outcome = 'none'): number | undefined {
  try {
    return open.end
  } catch (error) {
    throw unwritable(error, 'The journal', outcome)
  }
}

/** Whether a group may be placed here. If the bytes before it cannot be read, the write is tried and its result is checked. */
export function isPlace(open: Segment, at: number): boolean {
  try {
    // Often it was this process that wrote last. What its path names is looked at after the write.
    if (open.endsAt(at)) return true
    return endOf(open) === at && !open.isCut(at) && open.isUnchangedBefore(at)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    return endOf(open) === at
  }
}

/** Whether the segment ends here after a write. If that cannot be told, the bytes themselves are looked at. */
export function isAt(open: Segment, end: number): boolean {
  try {
    return open.end === end
  } catch {
    return false
  }
}

export interface Attempt {
  readonly written: number
  readonly failure?: unknown
}

/** Between reading the end and this write nothing is awaited for small groups, since under contention that gap decides. */
export function writeNow(open: Segment, group: Uint8Array): Attempt {
  try {
    return { written: open.file.writeSync(group) }
  } catch (failure) {
    return { written: 0, failure }
  }
}

export async function writeSoon(open: Segment, group: Uint8Array): Promise<Attempt> {
  try {
    return { written: await open.file.write(group) }
  } catch (failure) {
    return { written: 0, failure }
  }
}

/** How much of a group is at its place. If that cannot be read, the segment is given up. */
export async function placedOf(open: Segment, at: number, group: Uint8Array): Promise<number> {
  try {
    const there = await open.file.read(at - open.first, group.length)
    let same = 0
    while (same < there.length && there[same] === group[same]) same++
    return same
  } catch (error) {
    open.poisoned = true
    throw open.failure('unknown', error)
  }
}
