/**
 * Reading records of one journal by position, in either direction, without folding it: for messages, entries and summaries, which the
 * state names by where they stand. Whoever asks knows from the state that these positions count and are durable. A line that is
 * missing there may be carried: then it stands at the beginning of a later segment.
 */
import type { Journal } from '../engine/port.ts'
import { firstCopy } from '../record/copies.ts'
import { LIMITS } from '../record/limits.ts'
import { isOfOtherType, type Line, readLine } from '../record/line.ts'
import { isWrittenTwice, type JournalRecord, type RecordType } from '../record/record.ts'
import { Scan, scanLines } from './scan.ts'

export interface Found {
  readonly record: JournalRecord
  readonly at: number
  readonly end: number
  readonly crc: string
}

const WINDOW_BYTES = 64 * 1024
/** The first read is smaller: often it is for one record, or for the last few. */
const FIRST_BYTES = 4096
const SIZES = { firstBytes: FIRST_BYTES, bytes: WINDOW_BYTES }

/**
 * Who carries lines may be late, because others who know of no failure were first: then the lines stand in a segment after that. After so many
 * segments that carry nothing, nobody carries these lines.
 */
const EMPTY_PREAMBLES = 3

/** Segments that carry nothing: once a record stands behind its preamble, that stays so. A checkpoint may be long, and need not be read for it twice. */
const carryNothing = new WeakMap<Journal, Set<number>>()

export class Records {
  readonly #journal: Journal
  /** The newest segment, as far as it is known: what stands in there is found without asking which others there are. */
  readonly #newest: Known | undefined
  #segments: readonly number[] | undefined

  constructor(journal: Journal, newest?: Known) {
    this.#journal = journal
    this.#newest = newest
  }

  /** One record, or undefined if it rotted or was purged. */
  async at(position: number): Promise<Found | undefined> {
    for await (const found of this.forward(position, position)) return found
    return undefined
  }

  /** One record of types that are written twice, by the position of its first copy: where that has rotted, the second copy. */
  async eitherCopyAt(position: number, ...types: readonly RecordType[]): Promise<Found | undefined> {
    const found = await this.at(position)
    if (found !== undefined) return found
    for await (const next of this.forward(position, position + LIMITS.recordBytes)) {
      const isOne = isWrittenTwice(next.record) && types.some((type) => type === next.record.type)
      return isOne && firstCopy({ at: next.at, end: next.end - 1 })?.at === position ? next : undefined
    }
    return undefined
  }

  /** Records from one position on, up to those that begin at the other, in order. */
  async *forward(first: number, last: number): AsyncGenerator<Found> {
    const newest = this.#newestIf(last)
    const segments = newest !== undefined && first >= newest ? [newest] : await this.#all()
    yield* (await this.#orphans(segments, first, last)).values()
    for (let i = this.#indexOf(segments, first); i < segments.length && (segments[i] as number) <= last; i++) {
      const segment = segments[i] as number
      const bounds = { first: Math.max(first, segment), last: Math.min(last, (segments[i + 1] ?? Number.POSITIVE_INFINITY) - 1) }
      const carried = await this.#carriedFrom(segments, i, bounds)
      for await (const found of this.#segmentForward(segment, bounds)) {
        for (const [at, other] of carried) {
          if (at < found.at) yield other
          if (at <= found.at) carried.delete(at)
        }
        yield found
      }
      yield* carried.values()
    }
  }

  /** The same records, the last one first. */
  async *backward(first: number, last: number): AsyncGenerator<Found> {
    for await (const several of this.severalBackward(first, last)) yield* several
  }

  /** The same, as many together as were read together; each is decoded when it is asked for. With a type, others may be left out. */
  async *severalBackward(first: number, last: number, type?: RecordType): AsyncGenerator<Iterable<Found>> {
    const newest = this.#newestIf(last)
    if (newest !== undefined) yield* this.#segmentBackward(newest, { first: Math.max(first, newest), last }, type)
    if (newest !== undefined && first >= newest) return
    yield* this.#anyBackward(first, newest === undefined ? last : newest - 1, type)
  }

  /**
   * Where to begin to read so as to miss no record behind those of which `isBefore` is true, as they are up to some point of this stretch:
   * at `first`, or at the beginning of a later segment. Records of which it is undefined do not matter.
   */
  async seek(first: number, last: number, isBefore: (found: Found) => boolean | undefined): Promise<number> {
    const starts = [first, ...(await this.#all()).filter((segment) => segment > first && segment <= last)]
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (await this.#beginsBefore(starts[middle] as number, last, isBefore)) low = middle
      else high = middle - 1
    }
    return starts[low] as number
  }

  async #beginsBefore(position: number, last: number, isBefore: (found: Found) => boolean | undefined): Promise<boolean> {
    for await (const found of this.forward(position, last)) {
      const before = isBefore(found)
      if (before !== undefined) return before
    }
    return false
  }

  /** The newest segment, if it is known to hold a position. */
  #newestIf(position: number): number | undefined {
    return this.#newest !== undefined && position >= this.#newest.segment && position < this.#newest.end ? this.#newest.segment : undefined
  }

  async *#anyBackward(first: number, last: number, type?: RecordType): AsyncGenerator<Iterable<Found>> {
    const segments = await this.#all()
    for (
      let i = this.#indexOf(segments, last);
      i >= 0 && (segments[i] ?? Number.POSITIVE_INFINITY) <= last && (segments[i + 1] ?? Number.POSITIVE_INFINITY) > first;
      i--
    ) {
      const segment = segments[i] as number
      const bounds = { first: Math.max(first, segment), last: Math.min(last, (segments[i + 1] ?? Number.POSITIVE_INFINITY) - 1) }
      const carried = [...(await this.#carriedFrom(segments, i, bounds)).values()]
      for await (const several of this.#segmentBackward(segment, bounds, type))
        yield carried.length === 0 ? several : withCarried(several, carried)
      yield carried.reverse()
    }
    yield [...(await this.#orphans(segments, first, last)).values()].reverse()
  }

  /** Lines of one segment that later ones carry, in order; of the first one, also those of segments that are gone. */
  async carried(segment: number): Promise<Found[]> {
    const segments = await this.#all()
    const index = segments.indexOf(segment)
    const last = (segments[index + 1] ?? Number.POSITIVE_INFINITY) - 1
    const orphans = index === 0 ? await this.#orphans(segments, 0, last) : new Map<number, Found>()
    return [...orphans.values(), ...(await this.#carriedFrom(segments, index, { first: segment, last })).values()]
  }

  async #all(): Promise<readonly number[]> {
    this.#segments ??= await this.#journal.segments()
    return this.#segments
  }

  #indexOf(segments: readonly number[], position: number): number {
    return Math.max(
      segments.findLastIndex((first) => first <= position),
      0,
    )
  }

  async *#segmentForward(segment: number, { first, last }: Bounds): AsyncGenerator<Found> {
    for await (const { lines } of new Scan(this.#journal, segment, { from: first, last, ...SIZES })) {
      for (const line of lines) {
        if (line.at > last) return
        const found = recordIn(line)
        if (found !== undefined) yield found
      }
    }
  }

  async *#segmentBackward(segment: number, { first, last }: Bounds, type?: RecordType): AsyncGenerator<Iterable<Found>> {
    let size = 2 * FIRST_BYTES
    // Where the last one ends is not known; as a rule it is read with those before it.
    let behind = FIRST_BYTES
    for (let end = last; end > first || behind > 0; ) {
      const begin = Math.max(first, end - size)
      const lines = await this.#lines(segment, begin, end + behind, behind > 0 ? last : end - 1)
      if (behind > 0 && lines.at(-1)?.at !== last) {
        yield await this.#last(segment, last)
        behind = 0
        continue
      }
      // Unless it begins where reading ends, the first line is likely to be the end of one.
      const whole = begin === first ? lines : lines.slice(1)
      if (whole.length === 0 && begin > first) {
        size *= 2
        continue
      }
      behind = 0
      yield decodedBackward(whole, type)
      end = begin === first ? first : (whole[0] as Line).at
      size = WINDOW_BYTES
    }
  }

  async #last(segment: number, at: number): Promise<Found[]> {
    for await (const found of this.#segmentForward(segment, { first: at, last: at })) return [found]
    return []
  }

  /** Lines of a stretch, up to those that begin at `last`. */
  async #lines(segment: number, begin: number, end: number, last: number): Promise<Line[]> {
    const found: Line[] = []
    for await (const { lines } of new Scan(this.#journal, segment, { from: begin, last, bytes: end - begin }))
      for (const line of lines) if (line.at <= last) found.push(line)
    return found
  }

  /** Lines that are carried from segments that are gone: they stand in front of the first one that is there. */
  async #orphans(segments: readonly number[], first: number, last: number): Promise<Map<number, Found>> {
    const [begin] = segments
    if (begin === undefined || first >= begin) return new Map()
    return this.#carriedFrom(segments, -1, { first, last: Math.min(last, begin - 1) })
  }

  /** Lines of a segment that later ones carry. Each carries what the one before did, while syncs keep failing. */
  async #carriedFrom(segments: readonly number[], index: number, bounds: Bounds): Promise<Map<number, Found>> {
    const all = new Map<number, Found>()
    let empty = 0
    for (const segment of segments.slice(index + 1)) {
      const { carried, told } = await this.#preamble(segment)
      // A preamble that was lost tells nothing: the next segment carries what that one had carried.
      empty = carried.length === 0 && told ? empty + 1 : 0
      if (empty === EMPTY_PREAMBLES) break
      for (const found of carried) if (found.at >= bounds.first && found.at <= bounds.last) all.set(found.at, found)
    }
    return new Map([...all].sort(([a], [b]) => a - b))
  }

  /** The lines that a segment carries. `told`: its checkpoint can be read. */
  async #preamble(segment: number): Promise<{ carried: Found[]; told: boolean }> {
    const nothing = carryNothing.get(this.#journal) ?? new Set()
    if (nothing.has(segment)) return { carried: [], told: true }
    const carried: Found[] = []
    let told = false
    for await (const line of scanLines(this.#journal, segment, SIZES)) {
      const decoded = readLine(line)
      if (decoded.kind !== 'record') continue
      const { record, crc } = decoded
      // A checkpoint that carries nothing is not the end of it: another process may have carried lines after it.
      if (record.type === 'checkpoint') told = true
      else if (record.pos === line.at) {
        if (told && carried.length === 0) carryNothing.set(this.#journal, nothing.add(segment))
        break
      } else if ((record.pos as number) < segment) {
        carried.push({ record, crc, at: record.pos as number, end: (record.pos as number) + line.bytes.length + 1 })
      }
    }
    return { carried, told }
  }
}

/** A segment, and up to where it was read. */
interface Known {
  readonly segment: number
  readonly end: number
}

interface Bounds {
  readonly first: number
  readonly last: number
}

function* decodedBackward(lines: readonly Line[], type: RecordType | undefined): Generator<Found> {
  for (let i = lines.length - 1; i >= 0; i--) {
    const line = lines[i] as Line
    const found = type !== undefined && isOfOtherType(line.bytes, type) ? undefined : recordIn(line)
    if (found !== undefined) yield found
  }
}

/** Records from the last one backwards, with those between them that are carried, in order; these are taken out. */
function* withCarried(several: Iterable<Found>, carried: Found[]): Generator<Found> {
  for (const found of several) {
    while ((carried.at(-1)?.at ?? -1) > found.at) yield carried.pop() as Found
    if (carried.at(-1)?.at === found.at) carried.pop()
    yield found
  }
}

/** The record of a line that stands where it says. */
export function recordIn(line: Line): Found | undefined {
  const { at, bytes } = line
  const decoded = readLine(line)
  if (decoded.kind !== 'record' || decoded.record.pos !== at) return undefined
  return { record: decoded.record, crc: decoded.crc, at, end: at + bytes.length + 1 }
}
