/**
 * What is true in a run with harms, whatever the processes believe: which watermarks reached a file and are still there, which lines were destroyed,
 * when, and whether somebody had accepted that. It watches the machine and asks no code of the engine but what makes a line intact.
 */
import { crc32 } from 'node:zlib'
import { intactCrc, splitLines } from '../../../src/record/line.ts'
import type { SimulatedMachine } from '../disk.ts'
import type { SimulatedFile } from '../file.ts'
import type { Tamperer } from '../tamper.ts'
import { journalInMarks, type MarkOnDisk, marksIn, storeId } from './marks-on-disk.ts'

const EPOCH = 2 ** 32

/** A watermark that reached a file which counts. */
interface Mark extends MarkOnDisk {
  readonly flushed: number
  /** It would have survived a power loss at some time. */
  durable: boolean
}

export interface BrokenMark extends Mark {
  /** When its line was destroyed. */
  readonly lost: number
}

interface PlacedLine {
  readonly segment: number
  readonly idHash: number
  readonly attempt: string | undefined
  /** Where a seal for a purge ends; otherwise 0. */
  readonly purgesTo: number
  /** Where the journal continues after a seal that accepts a loss; otherwise 0. */
  readonly continuesAt: number
}

interface LostLine extends PlacedLine {
  readonly step: number
  /** No later segment was left: what vanished was the end of the journal. */
  readonly wasLast: boolean
  /** What was in place before it was destroyed. */
  readonly beside: ReadonlyMap<number, PlacedLine>
}

/** What is known of one journal. */
class JournalTruth {
  readonly directory: string
  readonly hash: string
  marks = new Map<string, Mark>()
  /** By position and id. */
  lost = new Map<string, LostLine>()
  /** Attempts whose record was destroyed. */
  destroyed = new Set<string>()
  /** Steps at which its files were tampered with. */
  harms: number[] = []
  /** When a loss was accepted. */
  acceptances: { readonly begun: number; readonly ended: number }[] = []
  /** Segments before this position may have been purged. */
  purgedTo = 0
  /** The segments before this position were destroyed, and later ones are left. */
  beginning: { readonly to: number; readonly step: number } | undefined

  constructor(directory: string, hash: string) {
    this.directory = directory
    this.hash = hash
  }
}

export class Ledger {
  readonly #machine: SimulatedMachine
  readonly #tamperer: Tamperer
  readonly #root: string
  readonly #births: boolean
  readonly #step: () => number
  readonly journals: readonly JournalTruth[]
  /** When a record of an attempt was written. */
  readonly landed = new Map<string, number>()
  /** Harms that destroyed bytes which a watermark in a file covered. */
  harmsToMarked = 0
  #writeBacks = ''
  #store: string | undefined

  constructor(
    machine: SimulatedMachine,
    root: string,
    names: readonly string[],
    { births, step }: { readonly births: boolean; readonly step: () => number },
  ) {
    this.#births = births
    this.#machine = machine
    this.#tamperer = machine.tamperer()
    this.#root = root
    this.#step = step
    this.journals = names.map((name) => new JournalTruth(`${root}/sessions/${name}`, journalInMarks(name)))
    machine.landed = (file, bytes) => this.#land(file, bytes)
  }

  /** Looks what the disk has written back by now. To be called at each step. */
  tick(): void {
    const files = this.#tamperer.durableFiles(`${this.#root}/watermarks`)
    const now = [...files].map(([name, { inode, writeBacks }]) => `${name} ${inode} ${writeBacks}`).join()
    if (now === this.#writeBacks) return
    this.#writeBacks = now
    const paths = new Map([...files].map(([name, file]) => [`/${name}`, file]))
    for (const { journal, mark } of this.#known(marksIn(paths, this.#origin(), (file) => file.durable))) {
      const known = journal.marks.get(keyOf(mark))
      // Without birth times, no file of watermarks counts after a restart of the machine.
      if (known !== undefined) known.durable = this.#births
    }
  }

  /** Has the files tampered with, and notes what that destroyed. `kind`: a journal's files, or those of watermarks. */
  tamper(change: () => void, kind: 'journals' | 'watermarks' = 'journals'): void {
    const before = this.journals.map((journal) => ({
      lines: this.linesOf(journal),
      segments: this.segmentsOf(journal),
      files: this.#idsOf(journal),
    }))
    change()
    // One that is about to be removed does not make up for what was done to the others: where there are several of a shard, the newest one counts.
    const newest = new Map([...this.#tamperer.files(`${this.#root}/watermarks`).keys()].sort().map((path) => [shardOf(path), path]))
    if (kind === 'watermarks')
      this.#keepOnly(
        () => false,
        (path) => newest.get(shardOf(path)) === path,
      )
    for (const [i, journal] of this.journals.entries()) {
      const was = before[i] as (typeof before)[number]
      if (was.files === this.#idsOf(journal)) continue
      this.#note(journal, was.lines, was.segments)
    }
  }

  /** The power failed: watermarks that were in the cache alone may be lost with it. */
  losePower(): void {
    this.#keepOnly(({ durable }) => durable && this.#isSameStore)
  }

  /** The store is another one from here on: restored from a copy. */
  restart(): void {
    for (const journal of this.journals) {
      journal.marks.clear()
      journal.lost.clear()
      journal.purgedTo = 0
      // The copy may hold what was done to the store before.
      if (journal.harms.length > 0) journal.harms.push(this.#step())
    }
    this.#store = undefined
    this.#scan()
  }

  /**
   * A watermark of a journal that is in a file, or must be, and whose line was at the end of the journal when it was destroyed, both before a step; and
   * that nothing has made void since. One in front of the first segment is for those to miss who load the journal.
   */
  brokenMark(index: number, before: number, epoch: number, { loads }: { readonly loads: boolean }): BrokenMark | undefined {
    const journal = this.journals[index] as JournalTruth
    if (journal.lost.size === 0) return undefined
    const lines = this.linesOf(journal)
    const first = loads ? 0 : (this.segmentsOf(journal)[0] ?? 0)
    for (const mark of journal.marks.values()) {
      if (mark.start < first) continue
      const lost = journal.lost.get(lineKey(mark.start, mark.idHash))
      if (lost === undefined || !lost.wasLast) continue
      if (mark.flushed >= before || lost.step >= before || mark.start < journal.purgedTo) continue
      if (epochOf(mark.start) < epoch || lines.get(mark.start)?.idHash === mark.idHash) continue
      return { ...mark, lost: lost.step }
    }
    return undefined
  }

  /** Watermarks that were in a file and are in none now, although nothing covers them. */
  forgotten(those: (mark: { readonly durable: boolean }) => boolean): { readonly journal: number; readonly mark: MarkOnDisk }[] {
    if (!this.#isSameStore) return []
    const present = this.#present()
    return this.journals.flatMap((journal, index) => {
      const epoch = this.epochOf(index)
      return [...journal.marks.values()]
        .filter((mark) => {
          if (!those(mark) || present.get(journal)?.has(keyOf(mark)) === true) return false
          if (mark.start < journal.purgedTo || epochOf(mark.start) < epoch) return false
          return !this.#isCovered(journal, mark, [...(present.get(journal)?.values() ?? [])])
        })
        .map((mark) => ({ journal: index, mark }))
    })
  }

  /** Whether there is a reason to report a loss of this journal to a caller who asked from a step to another. */
  mayReport(index: number, begun: number, ended: number): boolean {
    const { harms, acceptances } = this.journals[index] as JournalTruth
    return harms.some((harm) => harm <= ended && !acceptances.some((one) => one.begun > harm && one.ended < begun))
  }

  /**
   * The epoch that a journal was in last. A seal that accepts a loss begins the next one, also before there is a segment of it. `since`: a seal counts that
   * was destroyed at this step or later, because a caller may have seen it.
   */
  epochOf(index: number, since = Number.POSITIVE_INFINITY): number {
    const journal = this.journals[index] as JournalTruth
    const marked = [...journal.marks.values()].map(({ start }) => start)
    const continued = [...this.linesOf(journal).values()].map(({ continuesAt }) => continuesAt)
    const seen = [...journal.lost.values()].filter(({ step }) => step >= since).map(({ continuesAt }) => continuesAt)
    return epochOf(Math.max(this.segmentsOf(journal).at(-1) ?? 0, ...marked, ...continued, ...seen))
  }

  /** Whether the files of a journal were tampered with between two steps. */
  wasHarmedWithin(index: number, begun: number, ended: number): boolean {
    return (this.journals[index] as JournalTruth).harms.some((harm) => harm >= begun && harm <= ended)
  }

  /** Whether a watermark in a file covers the end of a journal. */
  isMarked(journal: JournalTruth): boolean {
    const lines = this.linesOf(journal)
    const last = this.segmentsOf(journal).at(-1) ?? 0
    return [...journal.marks.values()].some(({ start, idHash }) => start >= last && lines.get(start)?.idHash === idHash)
  }

  /** Whether a record is at its place, in a segment that ends before it. */
  isShadowed(index: number, at: number, attempt: string): boolean {
    const journal = this.journals[index] as JournalTruth
    const line = this.linesOf(journal).get(at)
    return line?.attempt === attempt && this.segmentsOf(journal).some((first) => first > line.segment && first <= at)
  }

  /** Every line that is at its place, by position. */
  linesOf(journal: JournalTruth): Map<number, PlacedLine> {
    const lines = new Map<number, PlacedLine>()
    for (const { at, pos, placed } of this.#intactLines(journal)) if (pos === at) lines.set(at, placed)
    return lines
  }

  *#intactLines({ directory }: JournalTruth): Generator<{ readonly at: number; readonly pos: number; readonly placed: PlacedLine }> {
    for (const [path, file] of this.#tamperer.files(directory)) {
      if (!path.endsWith('.jsonl')) continue
      const segment = Number(path.slice(-22, -6))
      for (const { at, bytes } of splitLines(file.read(0, file.size), segment).lines) {
        if (intactCrc(bytes) === undefined) continue
        const { pos, id, attempt, why, next } = JSON.parse(Buffer.from(bytes).toString()) as Partial<Record<string, string>>
        const end = at + bytes.length + 1
        const placed = {
          segment,
          idHash: crc32(id as string),
          attempt,
          purgesTo: why === 'purge' ? end : 0,
          continuesAt: Number(next ?? 0),
        }
        yield { at, pos: Number(pos), placed }
      }
    }
  }

  segmentsOf({ directory }: JournalTruth): number[] {
    return [...this.#tamperer.files(directory).keys()]
      .filter((path) => path.endsWith('.jsonl'))
      .map((path) => Number(path.slice(-22, -6)))
      .sort((a, b) => a - b)
  }

  #note(journal: JournalTruth, before: ReadonlyMap<number, PlacedLine>, segmentsBefore: readonly number[]): void {
    const step = this.#step()
    const after = this.linesOf(journal)
    const segments = this.segmentsOf(journal)
    const last = segments.at(-1) ?? -1
    journal.harms.push(step)
    // What was put back is not lost any more.
    for (const [at, { idHash }] of after) journal.lost.delete(lineKey(at, idHash))
    let marked = false
    for (const [at, line] of before) {
      if (after.get(at)?.idHash === line.idHash) continue
      const lost = { ...line, step, wasLast: line.segment >= last, beside: before }
      journal.lost.set(lineKey(at, line.idHash), lost)
      if (line.attempt !== undefined) journal.destroyed.add(line.attempt)
      marked ||= lost.wasLast && [...journal.marks.values()].some(({ start, idHash }) => start === at && idHash === line.idHash)
    }
    if (marked) this.harmsToMarked++
    const [first] = segments
    if (first === undefined) journal.beginning = undefined
    else if (segmentsBefore[0] !== undefined && first > segmentsBefore[0]) journal.beginning = { to: first, step }
  }

  #land(file: SimulatedFile, bytes: Uint8Array): void {
    const text = Buffer.from(bytes).toString('latin1')
    for (const [, attempt] of text.matchAll(/"attempt":"([^"]+)"/g)) this.landed.set(attempt as string, this.#step())
    if (text.includes('"why":"purge"')) this.#meetPurge()
    for (const journal of this.journals) if (journal.lost.size > 0) this.#meetReturned(journal)
    if ([...this.#tamperer.files(`${this.#root}/watermarks`).values()].includes(file)) this.#scan()
  }

  /** A process that is unaware of the harm may write a line again, in the same place, or carry it into a later segment. Then it is not lost any more. */
  #meetReturned(journal: JournalTruth): void {
    for (const { pos, placed } of this.#intactLines(journal)) journal.lost.delete(lineKey(pos, placed.idHash))
  }

  /** Once a purge has sealed a segment, what is before its end may be removed by anyone who carries it out. */
  #meetPurge(): void {
    for (const journal of this.journals) {
      for (const { purgesTo } of this.linesOf(journal).values()) journal.purgedTo = Math.max(journal.purgedTo, purgesTo)
    }
  }

  #scan(): void {
    this.#store ??= this.#origin().store
    for (const { journal, mark } of this.#known(this.#onDisk())) {
      if (!journal.marks.has(keyOf(mark))) journal.marks.set(keyOf(mark), { ...mark, flushed: this.#step(), durable: false })
    }
  }

  #keepOnly(survives: (mark: Mark) => boolean, counts?: (path: string) => boolean): void {
    const present = this.#present(counts)
    for (const journal of this.journals) {
      for (const [key, mark] of journal.marks) if (present.get(journal)?.has(key) !== true && !survives(mark)) journal.marks.delete(key)
    }
  }

  /** Whether a watermark that is present was made when the line of this one was there, and of a later line. */
  #isCovered(journal: JournalTruth, mark: Mark, present: readonly MarkOnDisk[]): boolean {
    const lost = journal.lost.get(lineKey(mark.start, mark.idHash))
    // A later segment that was left says that it is there; what vanished in front of it is missed in another way.
    if (lost === undefined || !lost.wasLast) return present.some(({ end }) => end >= mark.end)
    const wasBefore = ({ start, idHash }: MarkOnDisk): boolean =>
      lost.beside.has(start) || (journal.lost.get(lineKey(start, idHash))?.step ?? Number.POSITIVE_INFINITY) <= lost.step
    return present.some((other) => other.end >= mark.end && wasBefore(other))
  }

  #present(counts?: (path: string) => boolean): Map<JournalTruth, Map<string, MarkOnDisk>> {
    const present = new Map<JournalTruth, Map<string, MarkOnDisk>>()
    for (const { journal, mark } of this.#known(this.#onDisk(counts))) {
      const marks = present.get(journal) ?? new Map<string, MarkOnDisk>()
      present.set(journal, marks.set(keyOf(mark), mark))
    }
    return present
  }

  #onDisk(counts: (path: string) => boolean = () => true): MarkOnDisk[] {
    const files = new Map([...this.#tamperer.files(`${this.#root}/watermarks`)].filter(([path]) => counts(path)))
    return marksIn(files, this.#origin(), (file) => file.read(0, file.size))
  }

  /** The id of a store is lost with its file, if the disk fails to write that back and the power goes. Then no watermark counts any more. */
  get #isSameStore(): boolean {
    return this.#store === undefined || this.#origin().store === this.#store
  }

  #origin(): { readonly store: string | undefined; readonly boot: string } {
    const file = this.#tamperer.file(`${this.#root}/holdfast.json`)
    return { store: storeId(file?.read(0, file.size)), boot: this.#machine.bootId }
  }

  *#known(marks: readonly MarkOnDisk[]): Generator<{ readonly journal: JournalTruth; readonly mark: MarkOnDisk }> {
    for (const mark of marks) {
      const journal = this.journals.find(({ hash }) => hash === mark.journal)
      if (journal !== undefined) yield { journal, mark }
    }
  }

  /** Which files a journal consists of, and what is in them. */
  #idsOf({ directory }: JournalTruth): string {
    return [...this.#tamperer.files(directory)]
      .filter(([path]) => path.endsWith('.jsonl'))
      .map(([path, file]) => `${path} ${file.inode} ${file.createdMs} ${crc32(file.read(0, file.size))}`)
      .sort()
      .join()
  }
}

function keyOf({ start, end, idHash }: MarkOnDisk): string {
  return `${start} ${end} ${idHash}`
}

function lineKey(position: number, idHash: number): string {
  return `${position} ${idHash}`
}

export function epochOf(position: number): number {
  return Math.floor(position / EPOCH)
}

/** The first two hex digits of a file of watermarks. */
function shardOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).slice(0, 2)
}
