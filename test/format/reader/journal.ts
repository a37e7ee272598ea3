/** One journal: its segments, and which of their lines count. Sections "Segments" and "Which lines count" of docs/format.md. */
import { firstCopyAt, isWrittenTwice, type JournalLine, judge, linesIn, type RawLine } from './line.ts'

export interface Counted {
  readonly record: JournalLine
  /** Of a carried line: the position that it names. */
  readonly at: number
  readonly end: number
  readonly crc: string
  readonly isCarried: boolean
}

export interface DamagedLine {
  readonly at: number
  readonly to: number
  readonly as: 'torn' | 'zeros' | 'rotten' | 'missing'
}

/** What a reader meets in a segment, in order. */
export type Met =
  | { readonly kind: 'counted'; readonly counted: Counted; readonly line: RawLine }
  | { readonly kind: 'copy' }
  | { readonly kind: 'damage'; readonly damage: DamagedLine }

export interface Segment {
  readonly first: number
  readonly met: readonly Met[]
  /** The checkpoint that sets the state, with its checksum. */
  readonly root?: { readonly line: JournalLine; readonly crc: string; readonly isComplete: boolean }
  readonly isSealed: boolean
}

/** Decrypts a line; undefined if the line does not belong here. */
export type Open = (line: JournalLine) => JournalLine | undefined

export class Journal {
  readonly segments: readonly Segment[]
  readonly #records = new Map<number, Counted>()

  /** `files`: the bytes of each segment, with its first position, in ascending order. */
  constructor(files: readonly { readonly first: number; readonly bytes: Buffer }[], open: Open) {
    const ids: ReadonlySet<string>[] = []
    let hasRecord = false
    this.segments = files.map(({ first, bytes }, i) => {
      const segment = new SegmentReader(first, files[i + 1]?.first ?? Number.POSITIVE_INFINITY, open, ids.slice(-4))
      const read = segment.read(bytes, hasRecord)
      hasRecord ||= read.met.some(isPlaced)
      ids.push(segment.ids)
      return read
    })
    for (const counted of this.counted) if (!counted.isCarried || !this.#records.has(counted.at)) this.#records.set(counted.at, counted)
    for (const { met } of this.segments) for (const one of met) this.#addSecondCopy(one)
  }

  get counted(): Counted[] {
    return this.segments.flatMap(({ met }) => met.flatMap((one) => (one.kind === 'counted' ? [one.counted] : [])))
  }

  /** The record at a position; the second copy, if the first one is not intact. */
  at(position: number): Counted | undefined {
    return this.#records.get(position)
  }

  /** Records by position, each once. */
  between(first: number, last: number): Counted[] {
    const found = [...this.#records].filter(([position, { at }]) => position === at && at >= first && at <= last)
    return found.map(([, counted]) => counted).sort((a, b) => a.at - b.at)
  }

  /** The segment to start with: the last one whose checkpoint sets the state, or else the first one. */
  get start(): number {
    return Math.max(
      this.segments.findLastIndex(({ root }) => root !== undefined),
      0,
    )
  }

  #addSecondCopy(met: Met): void {
    if (met.kind !== 'counted' || met.counted.isCarried || !isWrittenTwice(met.counted.record)) return
    const first = firstCopyAt(met.line)
    if (first !== undefined && !this.#records.has(first)) this.#records.set(first, met.counted)
  }
}

function isPlaced(met: Met): boolean {
  return met.kind === 'counted' && !met.counted.isCarried
}

class SegmentReader {
  readonly ids = new Set<string>()
  readonly #first: number
  readonly #successor: number
  readonly #open: Open
  readonly #before: readonly ReadonlySet<string>[]
  readonly #met: Met[] = []
  #candidate: { readonly line: JournalLine; readonly crc: string } | undefined
  #carried = new Set<number>()
  #root: Segment['root']
  /** No record was placed yet. */
  #isFresh = true
  /** Where the seal says that the next segment starts. */
  #next: number | undefined

  constructor(first: number, successor: number, open: Open, before: readonly ReadonlySet<string>[]) {
    this.#first = first
    this.#successor = successor
    this.#open = open
    this.#before = before
  }

  read(bytes: Buffer, hasRecordBefore: boolean): Segment {
    for (const line of linesIn(bytes, this.#first)) {
      // 1. Outside of the journal.
      if (this.#next !== undefined || line.at >= this.#successor) break
      this.#take(line)
    }
    const end = this.#next ?? this.#first + bytes.lastIndexOf(10) + 1
    const isBegun = hasRecordBefore || !this.#isFresh
    if (isBegun && this.#successor !== Number.POSITIVE_INFINITY && end < this.#successor)
      this.#met.push({ kind: 'damage', damage: { at: end, to: this.#successor, as: 'missing' } })
    const root = this.#root === undefined ? {} : { root: this.#root }
    return { first: this.#first, met: this.#met, ...root, isSealed: this.#next !== undefined }
  }

  #take(raw: RawLine): void {
    const { at, bytes } = raw
    const judged = judge(bytes)
    // 2. Blank.
    if (judged.kind === 'blank') return
    // 3. Not intact. (4, a newer version, throws.)
    const line = judged.kind === 'damage' ? undefined : judged.line.sealed === undefined ? judged.line : this.#open(judged.line)
    if (judged.kind === 'damage' || line === undefined) {
      const as = judged.kind === 'damage' ? judged.as : 'rotten'
      this.#met.push({ kind: 'damage', damage: { at, to: at + bytes.length, as } })
      return
    }
    const { crc } = judged
    // 5. A checkpoint.
    const pos = line.pos as number
    if (line.type === 'checkpoint') this.#takeCheckpoint(line, crc)
    // 6. Carried.
    else if (this.#isFresh && pos < this.#first) this.#takeCarried(line, crc, pos, raw)
    // 7. Misplaced, unless its position is where it begins.
    else if (pos === at) this.#takePlaced(line, crc, raw)
  }

  #takePlaced(line: JournalLine, crc: string, raw: RawLine): void {
    const { at, bytes } = raw
    this.#takeRoot(true)
    // 8. The second copy.
    if (this.ids.has(line.id)) {
      this.#met.push({ kind: 'copy' })
      return
    }
    // 9. It counts.
    this.ids.add(line.id)
    this.#isFresh = false
    const end = at + bytes.length + 1
    this.#met.push({ kind: 'counted', counted: { record: line, at, end, crc, isCarried: false }, line: raw })
    if (line.type === 'segment.sealed') this.#next = (line.next as number | undefined) ?? end
  }

  #takeCheckpoint(line: JournalLine, crc: string): void {
    if (!this.#isFresh || line.base !== this.#first || this.#root !== undefined || crc === this.#candidate?.crc) return
    this.#candidate = { line, crc }
    this.#carried = new Set()
    this.#takeRoot(false)
  }

  #takeCarried(record: JournalLine, crc: string, pos: number, line: RawLine): void {
    this.#carried.add(pos)
    this.#takeRoot(false)
    const isKnown = this.ids.has(record.id) || this.#before.some((ids) => ids.has(record.id))
    this.ids.add(record.id)
    if (isKnown) return
    this.#met.push({ kind: 'counted', counted: { record, at: pos, end: pos + line.bytes.length + 1, crc, isCarried: true }, line })
  }

  #takeRoot(isPlacing: boolean): void {
    if (this.#candidate === undefined || this.#root !== undefined) return
    const isComplete = this.#carried.size >= (this.#candidate.line.carries as number)
    if (isComplete || isPlacing) this.#root = { ...this.#candidate, isComplete }
  }
}
