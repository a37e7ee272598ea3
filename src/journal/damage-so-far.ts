/** The damage that was met in a journal up to where it was read, and what the records after it say about it. */

import type { Extent } from '../record/copies.ts'
import type { NoticedGap } from '../record/damage.ts'
import { type Damage, reasonOf } from '../record/damage.ts'
import type { ErasedLine } from '../record/erasure.ts'
import type { Counted, Damaged, JournalFold } from '../record/fold.ts'
import type { JournalRecord } from '../record/record.ts'
import type { Loss } from './loss.ts'
import { LostCopies } from './lost-copies.ts'

/** How many places are kept. */
const MOST = 1000

export class DamageSoFar {
  places: Damage[] = []
  readonly #copies = new LostCopies()
  /** The first record names one before it, so the beginning of the journal is lost. */
  isOrphaned = false

  /** What was a record for certain, and cannot be read. */
  get lost(): NoticedGap[] {
    const inLines = this.places.filter(({ as }) => as !== 'vanished' && as !== 'identity')
    return inLines.filter(({ checksum, isMissed }) => checksum !== undefined || isMissed === true).map(stretchOf)
  }

  /** Where zeros begin after the last record. */
  get lastZeros(): number | undefined {
    return this.places.find(({ as, isMissed }) => as === 'zeros' && isMissed === undefined)?.at
  }

  /** Whether a line was torn after the last record. */
  get isAfterTorn(): boolean {
    return this.places.some(({ as, isMissed }) => as === 'torn' && isMissed === undefined)
  }

  /** Whether a spoiled line is the second copy of the record before it: that one can be read. */
  isCopy(damaged: Damaged): boolean {
    return this.#copies.isSecond(damaged)
  }

  /** `checksum`: of the record that this was; undefined if it may never have been one. */
  add({ segment, prev, ready }: JournalFold, { at, length, as }: Omit<Damaged, 'kind'>, checksum?: string): void {
    // Where nothing counts yet, it may be all that is left, unless it is zeros: their watermark would show that they were more. Before a segment is
    // ready, it may be a carried line, which no record names.
    const mayBeAll = prev === '' && as !== 'zeros'
    const isMissed = as === 'torn' ? undefined : as === 'missing' || mayBeAll || !ready || undefined
    if (this.places.length < MOST) this.places.push({ segment, at, length, as, checksum, isMissed })
  }

  /** The engine found something to be missing, or the journal belongs to another session. */
  addLoss({ from, to, as }: Loss, segments: readonly number[]): void {
    this.places.push({ segment: segments.findLast((segment) => segment <= from) ?? 0, at: from, length: to - from, as })
  }

  /** The next record that counted. `before`: what had been read of its segment, and `last`: the last record, or the checkpoint. */
  count(counted: Counted, { segment, prev, fresh }: Pick<JournalFold, 'segment' | 'prev' | 'fresh'>, last: Extent | undefined): void {
    this.isOrphaned ||= !counted.carried && prev === '' && counted.record.prev !== ''
    if (counted.carried) this.places = this.places.filter((one) => !isCarried(one, counted))
    else if (!this.#copies.mayDiffer) this.#decide(counted.record.prev !== prev, last?.at ?? 0)
    // Several processes may have written a checkpoint: the first record may name one that was lost.
    if (!counted.carried && !fresh && last !== undefined && counted.record.prev !== prev) this.#addHole(segment, last, counted)
    if (counted.record.type === 'message.erased') this.#forgive(counted.record)
    const copy = this.#copies.count(counted, this.places)
    if (copy !== undefined) this.places = this.places.filter((one) => one !== copy)
  }

  /** A segment has all that it begins with: what is damaged before that are pieces of checkpoints that several processes wrote. */
  pass(segment: number): void {
    this.places = this.places.map((one) => (one.segment === segment ? { ...one, checksum: undefined, isMissed: false } : one))
  }

  /** The last segment was named and never made. Nothing that was acknowledged needs it: it holds pieces, and the seal before it did not reach the disk either. */
  neverMade(segment: number): void {
    const isUnwritten = (one: Damage): boolean => (one.as === 'missing' ? one.at + one.length === segment : one.segment === segment)
    this.places = this.places.map((one) => (isUnwritten(one) ? { ...one, isMissed: false } : one))
  }

  /** A second copy of the last record. */
  repeat(): void {
    this.#copies.repeat()
  }

  /** A record names one before it that is not there, and no damaged line is in its place: the line was blanked. As the doctor, names where the record is. */
  #addHole(segment: number, { end }: Extent, { at, record }: Counted): void {
    const isKnown = (this.places.at(-1)?.at ?? -1) >= end
    if (isKnown || this.#copies.isAlone || this.places.length >= MOST) return
    this.places.push({ segment, at, length: 0, as: 'missing', checksum: record.prev, isMissed: true })
  }

  /** An erasure writes over lines, so the records after those name checksums that are no longer there. */
  #forgive(erased: JournalRecord): void {
    const old = new Set((erased.lines as readonly ErasedLine[] | undefined)?.map((line) => line.old))
    this.places = this.places.filter(({ as, checksum }) => as !== 'missing' || checksum === undefined || !old.has(checksum))
  }

  /** This process placed a record, and knew of none that is missing after the one before it, which was at `last`. */
  follow(last: number): void {
    this.#decide(false, last)
  }

  /** The next segment begins: its records name none of this one. */
  leave(last: number): void {
    this.places = this.places.map((one) => (one.as === 'torn' && one.isMissed === undefined ? { ...one, isMissed: false } : one))
    this.#decide(true, last)
  }

  /** Whether a record misses what was after a position. Where several lines are damaged there, it does not miss one that looks torn. */
  #decide(isMissed: boolean, after: number): void {
    if ((this.places.at(-1)?.at ?? -1) <= after) return
    const hasOther = this.places.some(({ at, as }) => at > after && as !== 'torn')
    this.places = this.places.map((one) =>
      one.at > after ? { ...one, isMissed: one.isMissed ?? (isMissed && !(hasOther && one.as === 'torn')) } : one,
    )
  }
}

/** Whether a later segment carries all that was lost in a place. It carries every line from some position on, but for seals. */
function isCarried({ at, as }: Damage, carried: Counted): boolean {
  return as === 'rotten' ? carried.at === at : carried.at <= at
}

function stretchOf({ at, length, as }: Damage): NoticedGap {
  return { position: at, to: at + length, reason: reasonOf(as) }
}
