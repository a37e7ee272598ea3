/**
 * What must be left of a journal when some of its lines were hit. It knows the lines as they were written and what counted then, and
 * nothing of checksums or of the rules by which a reader judges bytes: so it can be held against those.
 */
import { JournalFold, type Verdict } from '../../src/record/fold.ts'
import { type Line, splitLines } from '../../src/record/line.ts'
import type { JournalRecord } from '../../src/record/record.ts'
import type { Files } from './bytes-journal.ts'
import { reducer, type Seen, seenAs } from './sample.ts'

export interface JudgedLine extends Line {
  readonly segment: number
  readonly verdict: Verdict
}

/** Folds a journal from its first segment on. */
export function judge(files: Files): JudgedLine[] {
  const firsts = [...files.keys()].sort((a, b) => a - b)
  const judged: JudgedLine[] = []
  const fold = new JournalFold(firsts[0] ?? 0, firsts[1])
  for (const [index, segment] of firsts.entries()) {
    if (index > 0) fold.enter(segment, firsts[index + 1])
    const { lines, next } = splitLines(files.get(segment) ?? Buffer.of(), segment)
    for (const line of lines) judged.push({ ...line, segment, verdict: fold.judge(line) })
    const missing = fold.missing(next)
    if (missing !== undefined) judged.push({ at: missing.at, bytes: Buffer.of(), segment, verdict: missing })
  }
  return judged
}

export function describeVerdict(verdict: Verdict): string {
  if (verdict.kind === 'nothing') return verdict.why
  if (verdict.kind === 'damage') return 'damage'
  return `${verdict.kind} ${verdict.record.id}`
}

/** What must be left when some lines were hit. */
export interface Left {
  /** What must be said to each line that was not hit: what was said before, but that a second copy stands in for the first. */
  readonly verdicts: ReadonlyMap<number, string>
  /** The state of the last checkpoint that is left, and of every record that is left behind it. */
  readonly state: Seen
}

export class Original {
  readonly files: Files
  readonly lines: readonly JudgedLine[]
  readonly #segments: readonly number[]
  readonly #byPlace: ReadonlyMap<number, JudgedLine>
  /** Many bits hit the same lines. */
  readonly #left = new Map<string, Left>()

  constructor(files: Files) {
    this.files = files
    this.lines = judge(files)
    this.#segments = [...files.keys()].sort((a, b) => a - b)
    this.#byPlace = new Map(this.lines.map((line) => [keyOf(line), line]))
  }

  /** The line that was written at a place. */
  lineAt(place: { segment: number; at: number }): JudgedLine | undefined {
    return this.#byPlace.get(keyOf(place))
  }

  /** First position of the segment that is written to. */
  get last(): number {
    return this.#segments.at(-1) ?? 0
  }

  /** First position of the segment behind one; infinite for the last. */
  successorOf(segment: number): number {
    return this.#segments.find((first) => first > segment) ?? Number.POSITIVE_INFINITY
  }

  get bits(): number {
    return [...this.files.values()].reduce((sum, { length }) => sum + length * 8, 0)
  }

  /** Every bit of every file. */
  *everyBit(step = 1, start = 0): Generator<{ readonly segment: number; readonly at: number; readonly bit: number }> {
    for (const [segment, { length }] of this.files) {
      for (let bit = start; bit < length * 8; bit += step) yield { segment, at: segment + (bit >>> 3), bit: bit & 7 }
    }
  }

  flipped(segment: number, at: number, bit: number): Files {
    const bytes = Buffer.from(this.files.get(segment) ?? Buffer.of())
    bytes[at - segment] = (bytes[at - segment] as number) ^ (1 << bit)
    return new Map(this.files).set(segment, bytes)
  }

  /** Every length to which a file can be cut. */
  *everyLength(): Generator<{ readonly segment: number; readonly length: number }> {
    for (const [segment, bytes] of this.files) for (let length = 0; length < bytes.length; length++) yield { segment, length }
  }

  cut(segment: number, length: number): Files {
    return new Map(this.files).set(segment, (this.files.get(segment) ?? Buffer.of()).subarray(0, length))
  }

  /** The lines that a flipped bit of this byte may cost: its own, and if it is a newline the one that is then glued to it. */
  hitBy(segment: number, at: number): ReadonlySet<JudgedLine> {
    const index = this.lines.findIndex((line) => line.segment === segment && line.at <= at && at <= line.at + line.bytes.length)
    const line = this.lines[index] as JudgedLine
    const next = this.lines[index + 1]
    return new Set(at === line.at + line.bytes.length && next?.segment === segment ? [line, next] : [line])
  }

  /** The lines that are gone, wholly or in part, when a file was cut. */
  cutOff(segment: number, length: number): ReadonlySet<JudgedLine> {
    return new Set(this.lines.filter((line) => line.segment === segment && line.at + line.bytes.length >= segment + length))
  }

  left(hit: ReadonlySet<JudgedLine>): Left {
    const key = [...hit].map(keyOf).join()
    const known = this.#left.get(key)
    if (known !== undefined) return known
    const verdicts = this.#verdicts(hit)
    const left = { verdicts, state: this.#state(verdicts) }
    this.#left.set(key, left)
    return left
  }

  #verdicts(hit: ReadonlySet<JudgedLine>): Map<number, string> {
    const verdicts = new Map<number, string>()
    const replaced = new Set<JudgedLine>()
    for (const line of this.lines) {
      if (hit.has(line)) continue
      const first = this.#firstCopyOf(line)
      const standsIn = first !== undefined && hit.has(first) && !replaced.has(first)
      if (standsIn) replaced.add(first)
      verdicts.set(keyOf(line), describeVerdict(standsIn ? first.verdict : line.verdict))
    }
    return verdicts
  }

  #state(verdicts: ReadonlyMap<number, string>): Seen {
    const isLeft = (line: JudgedLine): boolean => verdicts.has(keyOf(line))
    // With all the lines that it carries, or a record behind them: nobody places one behind half a preamble.
    const isWhole = (segment: number): boolean => {
      const lines = this.lines.filter(
        (line) => line.segment === segment && !['damage', 'blank', 'outside'].includes(describeVerdict(line.verdict)),
      )
      const carried = lines.filter(isCarried)
      return carried.every(isLeft) || lines.slice(lines.findLastIndex(isCarried) + 1).some(isLeft)
    }
    const isCheckpoint = (line: JudgedLine): boolean =>
      verdicts.get(keyOf(line))?.startsWith('checkpoint') === true && isWhole(line.segment)
    const base =
      this.#segments.findLast((first) => first === 0 || this.lines.some((line) => line.segment === first && isCheckpoint(line))) ?? 0
    const checkpoint = this.lines.find((line) => line.segment === base && isCheckpoint(line))
    const before = checkpoint === undefined ? reducer.initial : (recordOf(checkpoint).state as Seen)
    const behind = this.lines.filter((line) => line.segment >= base && verdicts.get(keyOf(line))?.startsWith('counted') === true)
    // The checkpoint covers what is carried behind it; without it, carried lines stand in for those that are gone.
    const applied = behind.filter((line) => recordOf(line).type !== 'segment.sealed' && !(isCarried(line) && line.segment === base))
    const records = applied.map(recordOf).sort((a, b) => (a.pos ?? 0) - (b.pos ?? 0))
    return { records: [...before.records, ...records.map(({ pos = 0, id }) => seenAs(pos, id))] }
  }

  /** The line that counts where this one does not: in the same segment, or in the one before if this line is carried. */
  #firstCopyOf(line: JudgedLine): JudgedLine | undefined {
    if (line.verdict.kind !== 'nothing' || (line.verdict.why !== 'repeated' && line.verdict.why !== 'checkpoint')) return undefined
    const { id, type } = recordOf(line)
    return this.lines.find(({ segment, verdict }) => {
      if (verdict.kind !== 'counted' && verdict.kind !== 'checkpoint') return false
      return verdict.record.id === id && verdict.record.type === type && (segment === line.segment || isCarried(line))
    })
  }
}

/** Lines of two segments may have one position: bytes behind a seal overlap with the segment that follows it. */
export function keyOf({ segment, at }: { segment: number; at: number }): number {
  return segment * 1_000_000 + at
}

function isCarried(line: JudgedLine): boolean {
  return (recordOf(line).pos ?? line.segment) < line.segment
}

function recordOf({ bytes }: Line): JournalRecord {
  return JSON.parse(Buffer.from(bytes).toString()) as JournalRecord
}
