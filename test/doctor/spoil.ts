/** Ways to spoil the files of a store. Segments are counted from 0, and from the last one with -1. */
import { splitLines } from '../../src/record/line.ts'
import type { JournalRecord } from '../../src/record/record.ts'
import type { MemoryDisk } from './disk.ts'
import { pathOf, segmentsOf } from './sample.ts'

/** A line: where it stands in its file, and what it holds. */
export interface Found {
  readonly from: number
  readonly to: number
  readonly record: JournalRecord
}

export const ZERO = 0
export const NEWLINE = 0x0a
export const ROT = 0x23

export function segmentPath(disk: MemoryDisk, session: string, nth: number): string {
  return pathOf(session, segmentsOf(disk.files, session).at(nth) as number)
}

export function lines(disk: MemoryDisk, session: string, nth: number, type: string): Found[] {
  const content = disk.files.get(segmentPath(disk, session, nth)) as Buffer
  return splitLines(content, 0)
    .lines.filter(({ bytes }) => bytes[0] === 0x7b)
    .map(({ at, bytes }) => ({ from: at, to: at + bytes.length, record: JSON.parse(Buffer.from(bytes).toString()) as JournalRecord }))
    .filter(({ record }) => record.type === type)
}

export function change(disk: MemoryDisk, path: string, how: (bytes: Buffer) => Buffer): void {
  disk.files.set(path, how(Buffer.from(disk.files.get(path) as Buffer)))
}

export function fill(disk: MemoryDisk, session: string, nth: number, { from, to }: { from: number; to: number }, byte: number): void {
  change(disk, segmentPath(disk, session, nth), (bytes) => bytes.fill(byte, from, to))
}

/** Fills one line of a type; which of them as `at` counts. */
export function fillLine(disk: MemoryDisk, session: string, nth: number, type: string, which: number, byte: number): void {
  fill(disk, session, nth, lines(disk, session, nth, type).at(which) as Found, byte)
}

/** Spoils the middle of one line. */
export function rotLine(disk: MemoryDisk, session: string, nth: number, type: string, which: number): void {
  const { from } = lines(disk, session, nth, type).at(which) as Found
  fill(disk, session, nth, { from: from + 60, to: from + 61 }, ROT)
}

/** Puts bytes behind the end of the last segment. */
export function append(disk: MemoryDisk, session: string, bytes: Buffer): void {
  change(disk, segmentPath(disk, session, -1), (content) => Buffer.concat([content, bytes]))
}

/** Where the last segment ends. */
export function endOf(disk: MemoryDisk, session: string): number {
  const last = segmentsOf(disk.files, session).at(-1) as number
  return last + (disk.files.get(pathOf(session, last)) as Buffer).length
}

export function moveFiles(disk: MemoryDisk, from: string, to: string): void {
  for (const [path, bytes] of [...disk.files]) {
    if (!path.startsWith(`${from}/`)) continue
    disk.files.delete(path)
    disk.files.set(`${to}${path.slice(from.length)}`, bytes)
  }
}

export function removeFiles(disk: MemoryDisk, directory: string): void {
  for (const path of [...disk.files.keys()]) if (path.startsWith(`${directory}/`)) disk.files.delete(path)
}
