/**
 * The rules by which lines become a journal. Each line is judged in this order:
 *
 *   1. behind the first counted seal of its segment, or at or beyond its successor's first position   outside the journal
 *   2. blank                                                                                          nothing
 *   3. not intact                                                                                     damage; no effect
 *   4. a newer version                                                                                UNSUPPORTED_VERSION
 *   5. a checkpoint, and nothing was placed yet                     sets the state, if it is the first with all the lines that it carries
 *   6. in front of the first placed record, with `pos` below the segment                              carried; counts once, at that `pos`
 *   7. `pos` is not where it begins                                                                   a lost race; no effect
 *   8. its id already counted in this segment                                                         the second copy; no effect
 *   9. otherwise                                                                                      it counts
 *
 * No rule looks at a condition, a clock, a message id or an operation key, nor at what another record says: those were decided by
 * the writer, on all bytes in front of the place that the record names. So a rotten line costs its own content and never the verdict
 * on another, and a line can be judged by its own segment.
 */
import { endOf, isRest } from './damaged-line.ts'
import { crcBeforeRottenNewline, type DamageKind, decodeLine, LEAD_IN, type Line, type LinePlace, openRecord } from './line.ts'
import { type Draft, FORMAT_VERSION, type JournalRecord, type SealReason } from './record.ts'

export interface Counted {
  readonly kind: 'counted'
  /** True if the line stands in a later segment than its position says, because its own place may not be on the disk. */
  readonly carried: boolean
  readonly record: JournalRecord
  /** As its writer had made them. */
  readonly hashes?: readonly string[]
  /** The record's position: what addresses refer to. */
  readonly at: number
  readonly end: number
  readonly crc: string
}

/** `missing`: the end of a segment, which is not there although its successor is. */
export interface Damaged {
  readonly kind: 'damage'
  readonly at: number
  readonly length: number
  readonly as: DamageKind | 'missing'
}

export type Verdict =
  | Counted
  | { readonly kind: 'checkpoint'; readonly record: JournalRecord; readonly crc: string }
  | Damaged
  | { readonly kind: 'nothing'; readonly why: 'outside' | 'blank' | 'checkpoint' | 'misplaced' | 'repeated' }

export interface Seal {
  readonly at: number
  readonly end: number
  readonly why: SealReason
  /** Where the next segment starts: at the end of the seal, but for one that accepts a loss. */
  readonly next: number
  /** Lines from here on may not be on the disk; the next segment carries them. */
  readonly from?: number
}

/** Whether a seal accepts a loss: then the journal continues in the next epoch, from what is left. */
export function isAcceptance(seal: Seal | undefined): boolean {
  return seal !== undefined && seal.next > seal.end
}

/**
 * Lines are carried from the segment before, hardly ever from further back. A carried line that is no longer remembered counts again,
 * at the same position and with the same meaning.
 */
const REMEMBERED_SETS = 4

/** A record that was given a place, and the checksum of the one before it. */
export interface PlacedDraft {
  readonly draft: Draft
  readonly place: LinePlace
  readonly prev: string
}

/** What a record that stands at its place will be read as. */
export function countedAt({ draft, place, prev }: PlacedDraft): Counted {
  const { id, at, type, parent, payload, hashes } = draft
  const { at: pos, end, crc } = place
  // The payload has none of these fields, and stands last: spread first, it makes V8 add them one by one, which takes forty times as long.
  const record =
    parent === undefined
      ? { v: FORMAT_VERSION, id, at, type, prev, pos, ...payload }
      : { v: FORMAT_VERSION, id, at, type, parent, prev, pos, ...payload }
  const kind = 'counted'
  return hashes === undefined
    ? { kind, carried: false, record, at: pos, end, crc }
    : { kind, carried: false, record, at: pos, end, crc, hashes }
}

/** Judges the lines of a journal, segment by segment in order, beginning at any segment. Pure but for its own memory of what came before. */
export class JournalFold {
  /** First position of the segment being judged. */
  segment: number
  /** The first counted seal of this segment. */
  seal: Seal | undefined
  /** crc of the last record or checkpoint that counted: the `prev` of the next one. */
  prev = ''
  /** Id and time of that record. */
  lastId = ''
  lastAt = ''
  /** Whether the state before the first placed record is known: this fold began at position 0, or met a checkpoint. */
  rooted: boolean
  /** The checkpoint that sets the state of this segment, once every line that it carries was met. */
  root: JournalRecord | undefined
  /** Whether every line that it carries was met. */
  complete = false
  /** Length of that line, and how many intact copies of it stand in front of the first placed record. */
  checkpointBytes = 0
  checkpointCopies = 0
  /** Whether nothing was placed in this segment yet. */
  fresh = true
  /** The end of the last counted line. */
  end: number
  /** The lowest position whose line this segment carries. */
  carriedFrom: number

  #successor: number
  /** The last checkpoint, while lines that it carries are missing. */
  #candidate: { readonly record: JournalRecord; readonly crc: string; readonly length: number; readonly carries: number } | undefined
  /** Positions and checksums of the lines that it carries. */
  #carried = new Map<number, string>()
  #ids = new Set<string>()
  /** Whether a record was placed in this segment or one before it. */
  #begun = false
  /** Ids counted in the segments before, so that a carried record counts once, whichever of its copies is left. */
  #before: ReadonlySet<string>[] = []

  constructor(segment: number, successor = Number.POSITIVE_INFINITY) {
    this.segment = segment
    this.#successor = successor
    this.rooted = segment === 0
    this.end = segment
    this.carriedFrom = segment
  }

  /** Goes on with the next segment. */
  enter(segment: number, successor = Number.POSITIVE_INFINITY): void {
    this.segment = segment
    this.#successor = successor
    this.seal = undefined
    this.checkpointBytes = 0
    this.checkpointCopies = 0
    this.end = segment
    this.carriedFrom = segment
    this.root = undefined
    this.complete = false
    this.#candidate = undefined
    this.#before = [...this.#before, this.#ids].slice(-REMEMBERED_SETS)
    this.#ids = new Set()
    this.fresh = true
    this.#carried = new Map()
  }

  /**
   * Whether a record may be placed in this segment: a segment after the first needs its checkpoint and every line that it carries,
   * unless records stand in it already.
   */
  get ready(): boolean {
    return this.segment === 0 || !this.fresh || this.root !== undefined
  }

  judge(line: Line): Verdict {
    const { at, bytes } = line
    if (this.seal !== undefined || at >= this.#successor) return { kind: 'nothing', why: 'outside' }
    const decoded = decodeLine(bytes)
    if (decoded.kind === 'blank') return { kind: 'nothing', why: 'blank' }
    if (decoded.kind === 'damage') {
      // The newline, and the space of the next lead-in, are not part of a line.
      const length = crcBeforeRottenNewline(bytes) === undefined ? bytes.length : bytes.length - LEAD_IN.length
      return { kind: 'damage', at, length, as: this.#isRestOfCarried(line) ? 'torn' : decoded.as }
    }
    const { crc } = decoded
    const record = openRecord(decoded.record, line)
    if (record === undefined) return { kind: 'damage', at, length: bytes.length, as: 'rotten' }
    if (record.type === 'checkpoint') return this.#judgeCheckpoint(record, crc, bytes.length)
    const pos = record.pos as number
    if (this.fresh && pos < this.segment) return this.#judgeCarried(record, crc, pos, bytes.length)
    if (pos !== at) return { kind: 'nothing', why: 'misplaced' }
    this.#takeRoot(true)
    if (this.#ids.has(record.id)) return { kind: 'nothing', why: 'repeated' }
    const counted = { kind: 'counted', carried: false, record, at, end: at + bytes.length + 1, crc } as const
    this.#count(record, counted)
    return counted
  }

  /**
   * What is not there of this segment, read up to `next`, behind its last whole line: its successor's name tells where its seal must
   * end. Nothing can be said in front of the first record: a purged segment that a late helper has made again looks like that.
   */
  missing(next: number): Damaged | undefined {
    const at = this.seal?.next ?? next
    if (!this.#begun || at >= this.#successor || this.#successor === Number.POSITIVE_INFINITY) return undefined
    return { kind: 'damage', at, length: this.#successor - at, as: 'missing' }
  }

  /** Counts a record that this process placed itself and therefore need not read back. */
  accept(counted: Counted): void {
    this.#count(counted.record, counted)
  }

  #judgeCheckpoint(record: JournalRecord, crc: string, length: number): Verdict {
    if (!this.fresh || record.base !== this.segment) return { kind: 'nothing', why: 'checkpoint' }
    // A second copy, or what another helper wrote as well.
    if (crc === this.#candidate?.crc) this.checkpointCopies++
    if (this.root !== undefined || crc === this.#candidate?.crc) return { kind: 'nothing', why: 'checkpoint' }
    this.#candidate = { record, crc, length, carries: typeof record.carries === 'number' ? record.carries : 0 }
    this.checkpointCopies = 1
    this.#carried = new Map()
    this.#takeRoot()
    return { kind: 'checkpoint', record, crc }
  }

  #judgeCarried(record: JournalRecord, crc: string, pos: number, length: number): Verdict {
    this.carriedFrom = Math.min(this.carriedFrom, pos)
    this.#carried.set(pos, crc)
    this.#takeRoot()
    const known = this.#ids.has(record.id) || this.#before.some((ids) => ids.has(record.id))
    // Also if it counted before: a segment that carries it on is held against this one.
    this.#ids.add(record.id)
    if (known) return { kind: 'nothing', why: 'repeated' }
    return { kind: 'counted', carried: true, record, at: pos, end: pos + length + 1, crc }
  }

  /** Several processes may write the same carried line at once, each in parts that get among those of the others. One copy that is intact is enough. */
  #isRestOfCarried(line: Line): boolean {
    const end = endOf(line)
    return end !== undefined && this.#carried.get(end.position) === end.crc && isRest(line)
  }

  /**
   * A checkpoint whose maker died before every carried line was there sets nothing; the next helper writes another. But once a record was
   * placed behind it, everything had been there: a carried line that is missing now has rotted since.
   */
  #takeRoot(placing = false): void {
    const candidate = this.#candidate
    if (candidate === undefined || this.root !== undefined) return
    if (!placing && this.#carried.size < candidate.carries) return
    this.root = candidate.record
    this.complete = this.#carried.size >= candidate.carries
    this.rooted = true
    this.checkpointBytes = candidate.length
    this.#advance(candidate.record, candidate.crc)
  }

  #count(record: JournalRecord, place: LinePlace): void {
    this.#ids.add(record.id)
    this.fresh = false
    this.#begun = true
    this.#advance(record, place.crc)
    this.end = place.end
    if (record.type === 'segment.sealed') {
      const from = typeof record.from === 'number' ? { from: record.from } : {}
      const next = typeof record.next === 'number' ? record.next : place.end
      this.seal = { at: place.at, end: place.end, next, why: record.why as SealReason, ...from }
    }
  }

  #advance(record: JournalRecord, crc: string): void {
    this.prev = crc
    this.lastId = record.id
    this.lastAt = record.at
  }
}
