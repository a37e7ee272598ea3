/** The faults, and how each is done to the files of a store that is closed. */
import { readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Effect } from './answers.ts'
import { EARLY, ENTRY, LATE, LOST, REPLACED, TITLE } from './subject.ts'

/** A page of the disk. */
const PAGE_BYTES = 4096
const LOST_BEGINNING = 300

export interface Fault {
  readonly name: string
  readonly effect: Effect
  /** A message that it hits. For one that hits none: any. */
  readonly message: string
}

interface FileFault extends Fault {
  readonly toFiles: (journal: JournalFiles) => void
}

/** A journal as the files that it is. */
export interface JournalFiles {
  readonly directory: string
  /** The directory of the session that is swapped with it. */
  readonly other: string
  /** Full names of its segments, the first one first. */
  readonly segments: readonly string[]
}

export function damageFiles(name: string, directory: string, other: string): void {
  FILE_FAULTS.find((fault) => fault.name === name)?.toFiles(journalFiles(directory, other))
}

export function journalFiles(directory: string, other: string): JournalFiles {
  const segments = readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
  return { directory, other, segments: segments.sort().map((name) => join(directory, name)) }
}

export const FILE_FAULTS: readonly FileFault[] = [
  {
    name: 'a flipped bit in a message line',
    effect: 'lost',
    message: LOST.late,
    toFiles: (journal) => eachOf([EARLY, LATE], (text) => flip(journal, text)),
  },
  { name: 'a flipped bit in one copy of a title', effect: 'copy', message: LOST.late, toFiles: (journal) => flip(journal, TITLE) },
  {
    name: 'a flipped bit in both copies of a title',
    effect: 'change',
    message: LOST.late,
    // A line that is spoiled has the text no more: the second time, it is the other copy.
    toFiles: (journal) => eachOf([TITLE, TITLE], (text) => flip(journal, text)),
  },
  { name: 'a flipped bit in an entry', effect: 'change', message: LOST.late, toFiles: (journal) => flip(journal, ENTRY) },
  { name: 'a flipped bit in a replacement', effect: 'change', message: REPLACED.id, toFiles: (journal) => flip(journal, REPLACED.by) },
  {
    name: 'a zeroed page in the middle',
    effect: 'lost',
    message: LOST.late,
    toFiles: (journal) => eachOf([EARLY, LATE], (text) => zero(journal, text)),
  },
  { name: 'a deleted middle segment', effect: 'early', message: 'm3', toFiles: ({ segments }) => rmSync(segments[1] as string) },
  {
    name: 'a last segment cut to half',
    effect: 'vanished',
    message: LOST.late,
    toFiles: ({ segments }) => cutToHalf(segments.at(-1) as string),
  },
  {
    name: 'a journal cut to zero',
    effect: 'gone',
    message: LOST.late,
    toFiles: ({ segments }) => eachOf(segments, (path) => truncateSync(path, 0)),
  },
  {
    name: 'a deleted journal directory',
    effect: 'gone',
    message: LOST.late,
    toFiles: ({ directory }) => rmSync(directory, { recursive: true }),
  },
  {
    name: 'a first segment without its first 300 bytes',
    effect: 'beheaded',
    message: 'm1',
    toFiles: ({ segments: [first] }) => writeFileSync(first as string, readFileSync(first as string).subarray(LOST_BEGINNING)),
  },
  { name: 'two swapped journals', effect: 'swapped', message: LOST.late, toFiles: swap },
]

function eachOf<T>(items: readonly T[], work: (item: T) => void): void {
  for (const item of items) work(item)
}

/** Changes one bit of the first line that has a text. */
function flip(journal: JournalFiles, text: string): void {
  change(journal, text, (bytes, at) => {
    bytes[at] = (bytes[at] as number) ^ 1
  })
}

function zero(journal: JournalFiles, text: string): void {
  change(journal, text, (bytes, at) => void bytes.fill(0, at, at + PAGE_BYTES))
}

function change({ segments }: JournalFiles, text: string, work: (bytes: Buffer, at: number) => void): void {
  for (const path of segments) {
    const bytes = readFileSync(path)
    const at = bytes.indexOf(text)
    if (at === -1) continue
    work(bytes, at)
    writeFileSync(path, bytes)
    return
  }
  throw new Error(`No segment has "${text}".`)
}

function cutToHalf(path: string): void {
  truncateSync(path, Math.floor(readFileSync(path).length / 2))
}

function swap({ directory, other }: JournalFiles): void {
  const aside = `${directory}.aside`
  renameSync(directory, aside)
  renameSync(other, directory)
  renameSync(aside, other)
}
