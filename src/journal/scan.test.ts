import { expect, test } from 'vitest'
import type { Chunk, Journal } from '../engine/port.ts'
import { Scan, type ScanOptions, scanLines } from './scan.ts'

/** A segment of lines that are ten bytes long, from position 100 on. A read returns as many whole lines as fit, and at least one. */
function segment(lines: number): Journal & { reads: (number | undefined)[][] } {
  const reads: (number | undefined)[][] = []
  const read = (_: number, from: number, limit = 30): Promise<Chunk | undefined> => {
    reads.push([from, limit])
    const count = Math.min(Math.max(1, Math.floor(limit / 10)), (100 + 10 * lines - from) / 10)
    const found = Array.from({ length: count }, (_, i) => ({ at: from + 10 * i, bytes: Buffer.alloc(9) }))
    return Promise.resolve({ lines: found, next: from + 10 * count, end: 100 + 10 * lines, opened: 1 })
  }
  return { reads, read } as unknown as Journal & { reads: (number | undefined)[][] }
}

async function positions(journal: Journal, options?: ScanOptions): Promise<number[]> {
  const found: number[] = []
  for await (const { at } of scanLines(journal, 100, options)) found.push(at)
  return found
}

test('reads a segment to its end, each line once', async () => {
  expect(await positions(segment(7))).toEqual([100, 110, 120, 130, 140, 150, 160])
})

test('reads from a position on, and not beyond the last line that begins at or before another', async () => {
  const journal = segment(7)
  expect(await positions(journal, { from: 120, last: 130, bytes: 10 })).toEqual([120, 130])
  expect(journal.reads).toEqual([
    [120, 10],
    [130, 10],
  ])
})

test('can read less at first', async () => {
  const journal = segment(7)
  await positions(journal, { firstBytes: 10, bytes: 50 })
  expect(journal.reads.map(([, limit]) => limit)).toEqual([10, 50, 50, 50])
})

test('knows how far it has read, and where the segment ends', async () => {
  const scan = new Scan(segment(7), 100)
  for await (const _ of scan) if (scan.next >= 130) break
  expect(scan).toMatchObject({ next: 130, end: 170, isGone: false })
})

test('distinguishes a segment that is gone from an empty one', async () => {
  const gone = { read: () => Promise.resolve(undefined) } as unknown as Journal
  const [purged, empty] = [new Scan(gone, 100), new Scan(segment(0), 100)]
  for (const scan of [purged, empty]) for await (const _ of scan) expect.unreachable()
  expect([purged.isGone, empty.isGone]).toEqual([true, false])
})
