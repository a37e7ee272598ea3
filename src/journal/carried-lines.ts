/** Lines that are carried into the next segment because a sync of their own failed. */
import type { Journal } from '../engine/port.ts'
import type { Line } from '../record/line.ts'
import { history } from './history.ts'
import { scanLines } from './scan.ts'

const NEWLINE = Buffer.from('\n')

/** The counted lines from a position on, verbatim, in order of their positions. */
export async function countedLines(
  journal: Journal,
  from: number,
  before: number,
): Promise<{ readonly at: number; readonly bytes: Buffer }[]> {
  const lines = new Map<number, Buffer>()
  const start = (await journal.segments()).findLast((first) => first <= from) ?? 0
  for await (const { verdict, line } of history(journal, { from: start, to: before, barrier: false, encrypted: true })) {
    if (verdict.kind !== 'counted' || verdict.at < from || verdict.record.type === 'segment.sealed') continue
    lines.set(verdict.at, Buffer.concat([line.bytes, NEWLINE]))
  }
  return [...lines].sort(([a], [b]) => a - b).map(([at, bytes]) => ({ at, bytes }))
}

/** A line that was written over while it was carried is so where it is carried to, too: whoever erased it may not have seen it there. */
export async function carryErasures(journal: Journal, first: number, from: number, carried: readonly Line[]): Promise<void> {
  const now = new Map((await countedLines(journal, from, first)).map(({ at, bytes }) => [at, bytes]))
  const changed = carried.filter(({ at, bytes }) => now.get(at)?.length === bytes.length && now.get(at)?.compare(bytes) !== 0)
  if (changed.length === 0) return
  for await (const { at, bytes } of scanLines(journal, first)) {
    const old = changed.find((line) => line.bytes.length === bytes.length + 1 && Buffer.compare(line.bytes.subarray(0, -1), bytes) === 0)
    const fresh = old === undefined ? undefined : now.get(old.at)
    if (fresh !== undefined) await journal.overwrite(first, at, bytes, fresh.subarray(0, -1))
  }
}
