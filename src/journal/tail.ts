/**
 * The end of one journal as this process knows it: the segment that is written to, the state up to its end, and the keys in it. It
 * loads from the last segment that has an intact checkpoint, pulls what others wrote, and makes the next segment when one is sealed.
 */
import type { Chunk, Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import type { Damage } from '../record/damage.ts'
import { type Counted, isAcceptance } from '../record/fold.ts'
import type { LineCipher } from '../record/line-cipher.ts'
import type { SealReason } from '../record/record.ts'
import { findLoss, type IsNamed, type Loss } from './loss.ts'
import { makeNextSegment } from './next-segment.ts'
import type { PlacedGroup } from './placed-group.ts'
import { Reading, type ReadingOptions } from './reading.ts'
import type { Reducer } from './reducer.ts'
import { SegmentCursor } from './segment-cursor.ts'
import type { SegmentKeys } from './segment-keys.ts'
import { startOf } from './start.ts'
import { Unsynced } from './unsynced.ts'

interface TailOptions {
  /** False if the reader needs no keys. */
  readonly readsKeys?: boolean
  readonly isNamed?: IsNamed | undefined
  readonly cipher?: LineCipher | undefined
  /** Called with each record that is read, in order. */
  readonly witness?: ((counted: Counted) => void) | undefined
}

/** How often a journal is loaded while others purge it. */
const LOADS = 5

export class Tail<S> {
  readonly #journal: Journal
  readonly #reducer: Reducer<S>
  readonly #options: TailOptions
  readonly #readingOptions: ReadingOptions<S>
  readonly #cursor: SegmentCursor
  #reading: Reading<S>

  /** What this journal has lost, and no one has accepted: nothing may be placed in it. */
  loss: Loss | undefined
  /** What was taken in and is not durable yet. */
  readonly unsynced: Unsynced
  #loaded = false
  /** The damage that was known when the journal was last unloaded. */
  #lastDamage: readonly Damage[] = []
  /** The journal was there once. */
  #known = false
  /** A file was replaced or cut while the journal was loaded. */
  #changed = false

  constructor(journal: Journal, reducer: Reducer<S>, options: TailOptions = {}) {
    this.#journal = journal
    this.#reducer = reducer
    this.#options = options
    this.#cursor = new SegmentCursor(journal)
    this.unsynced = new Unsynced(journal)
    this.#readingOptions = { reducer, cursor: this.#cursor, readsKeys: options.readsKeys ?? true, witness: options.witness }
    this.#reading = new Reading(this.#readingOptions, 0)
  }

  get loaded(): boolean {
    return this.#loaded
  }

  get state(): S {
    return this.#reading.state.value
  }

  /** Of the segment that is written to. */
  get keys(): SegmentKeys {
    return this.#reading.keys
  }

  get segment(): number {
    return this.#cursor.segment
  }

  /** The append point. */
  get end(): number {
    return this.#cursor.end
  }

  /** The opening of that segment on which everything here rests, as `Chunk.opened`. */
  get opened(): number | undefined {
    return this.#cursor.opened
  }

  get prev(): string {
    return this.#reading.prev
  }

  get notice(): Reading<S>['notice'] {
    return this.#reading.notice
  }

  get checkpointBytes(): number {
    return this.#reading.fold.checkpointBytes
  }

  get damage(): readonly Damage[] {
    return this.#reading.damage.places
  }

  /** The damage of all that was loaded. While it is loaded again, the damage known before: an answer that is made at that time reports it. */
  get wholeDamage(): readonly Damage[] {
    return this.#loaded ? this.damage : this.#lastDamage
  }

  get sealed(): boolean {
    return this.#reading.fold.seal !== undefined
  }

  /** Whether records may be placed in this segment: it has all that it must begin with, and no seal. */
  get writable(): boolean {
    return !this.sealed && this.#reading.fold.ready
  }

  get suspect(): boolean {
    return this.unsynced.suspectFrom !== undefined
  }

  /** Its seal says that lines before it may not be on the disk, and no later segment carries them yet. */
  get leavesUncarried(): boolean {
    return this.#reading.fold.seal?.from !== undefined
  }

  /** The position from which the next segment must carry lines, as far as this process knows. */
  get carryFrom(): number | undefined {
    return this.unsynced.carryFrom(this.#reading.fold)
  }

  isOpenedFor(why: SealReason): boolean {
    return this.#reading.isOpenedFor(why)
  }

  async load(): Promise<void> {
    if (this.#loaded) return
    for (let attempt = 1; ; attempt++) {
      const segments = await this.#load()
      if (attempt === LOADS) break
      // What was purged in between would seem to be missing.
      if (!this.#changed && (this.loss === undefined || (await this.#journal.segments()).join() === segments.join())) break
    }
    this.#loaded = true
  }

  async #load(): Promise<readonly number[]> {
    this.#changed = false
    // Before the journal is read: what is appended in between must not seem to be missing.
    const vanished = await this.#journal.vanished?.()
    const segments = await this.#journal.segments()
    if (segments.length === 0 && this.#known && vanished === undefined) {
      throw new HoldfastError(
        'UNREADABLE',
        'The files of this journal have vanished while it was in use. Restore them from a backup, or open the store again.',
      )
    }
    // Before the last segment is read: that one should stay open.
    const start = await startOf(this.#journal, segments)
    await this.#loadSegments(segments)
    const { fold, state, damage, stated, displaced } = this.#reading
    if (!fold.ready) damage.neverMade(this.segment)
    const loaded = {
      ...{ state: state.value, start, end: this.end, rooted: state.isRooted, vanished, stated, displaced, damage },
      accepted: isAcceptance(fold.seal),
    }
    this.loss = findLoss(this.#reducer, loaded, this.#options.isNamed)
    if (this.loss !== undefined) damage.addLoss(this.loss, segments)
    this.#known ||= segments.length > 0
    return segments
  }

  /** Loads from the last segment that tells the state before it. If none does, loads what the records say without it. */
  async #loadSegments(segments: readonly number[]): Promise<void> {
    for (let i = segments.length - 1; i >= 0; i--) if (await this.#loadFrom(segments, i)) return
    if (segments.length === 0) this.#reading = new Reading(this.#readingOptions, 0)
    else {
      await this.#loadFrom(segments, 0, { unrooted: true })
      this.#reading.state.isRooted = false
    }
  }

  async #loadFrom(
    segments: readonly number[],
    index: number,
    { unrooted = false }: { readonly unrooted?: boolean } = {},
  ): Promise<boolean> {
    this.#reading = new Reading(this.#readingOptions, segments[index] as number, segments[index + 1])
    for (let i = index; ; i++) {
      this.#reading.fold.rooted ||= unrooted
      const rooted = await this.#readSegment()
      if (!rooted && !unrooted) return false
      const next = segments[i + 1]
      if (next === undefined) return true
      this.#reading.addMissing()
      this.#enter(next, segments[i + 2])
    }
  }

  /** Judges all lines of the current segment. False if they rest on a state that is not known. */
  async #readSegment(): Promise<boolean> {
    const { fold } = this.#reading
    for (;;) {
      const chunk = await this.#journal.read(this.segment, this.#cursor.next)
      if (chunk === undefined) return false
      if (this.opened !== chunk.opened && !(await this.#cursor.isSame(chunk))) this.#changed = true
      for (const line of chunk.lines) {
        this.#reading.take(line)
        if (!fold.rooted && !fold.fresh) return false
      }
      if (this.#moveTo(chunk)) return fold.rooted
    }
  }

  /** True if the segment has nothing more. */
  #moveTo({ lines, next, end }: Chunk): boolean {
    const isDone = next === this.#cursor.next || next >= end
    if (lines.length > 0) this.unsynced.add(this.segment)
    this.#cursor.next = next
    this.#cursor.end = end
    return isDone
  }

  #enter(segment: number, successor?: number): void {
    const keys = this.#reading.keysBefore(segment)
    if (keys !== undefined) this.#journal.storeKeys(this.segment, segment, keys)
    this.#reading.enter(segment, successor)
  }

  /** Forgets everything but the segments themselves. If the reason is a failed sync, remembers from where on they cannot be trusted. */
  unload(error?: unknown): void {
    this.#lastDamage = this.wholeDamage
    this.#loaded = false
    this.unsynced.clear()
    this.unsynced.suspect(error)
  }

  async #reload(): Promise<true> {
    this.unload()
    await this.load()
    return true
  }

  /** Reads what others wrote. True if there was something. It is not durable yet. If it need not be `confirmed`, its segment may not be the last one. */
  async pull({ confirmed = true }: { readonly confirmed?: boolean } = {}): Promise<boolean> {
    let news = false
    for (;;) {
      const chunk = await this.#journal.read(this.segment, this.#cursor.next)
      // Of a journal that vanished, nothing more can be read.
      if (chunk === undefined && this.loss !== undefined) return news
      if (chunk === undefined) return this.#known || !(await this.#cursor.isEnd()) ? this.#reload() : news
      this.#known = true
      if (!(await this.#cursor.isSame(chunk))) return this.#reload()
      news = this.#take(chunk) || news
      const isDone = this.#moveTo(chunk)
      const found = await this.#isEnd(chunk, { isDone, confirmed })
      if (found === 'changed') return this.#reload()
      if (found === 'end') return news
    }
  }

  /** True if there was something new. */
  #take({ lines, end }: Chunk): boolean {
    for (const line of lines) this.#reading.take(line)
    this.#reading.hasGrown ||= lines.length > 0
    return lines.length > 0 || this.end !== end
  }

  /** Whether the journal ends after this chunk. If it continues in the next segment, enters that. `changed`: what was read is no longer the journal. */
  async #isEnd({ opened }: Chunk, { isDone, confirmed }: { isDone: boolean; confirmed: boolean }): Promise<'end' | 'more' | 'changed'> {
    const { seal } = this.#reading.fold
    if (seal === undefined) {
      if (!isDone) return 'more'
      return !confirmed || (await this.#cursor.isLast(opened, this.loss)) ? 'end' : 'changed'
    }
    if ((await this.#journal.read(seal.next, seal.next, 1)) === undefined) return (await this.#cursor.isEnd()) ? 'end' : 'changed'
    // What was read before a loss that was accepted may be lost. And the process that made the next segment need not know that this one was cut.
    if (isAcceptance(seal) || !(await this.#cursor.isLastLineThere())) return 'changed'
    this.#enter(seal.next)
    return 'more'
  }

  /**
   * Takes in a group that this process has placed and is syncing, unless `synced` is false: if that fails, everything is unloaded. What others wrote
   * before it in other segments is not durable yet.
   */
  accept(group: PlacedGroup<S>, { synced = true }: { readonly synced?: boolean } = {}): void {
    this.#reading.accept(group)
    this.#known = true
    if (synced) this.unsynced.delete(this.segment)
    else this.unsynced.add(this.segment)
  }

  /** What was placed now is in this opening of the segment. */
  restsOn(opened: number | undefined): void {
    this.#cursor.opened = opened ?? this.#cursor.opened
  }

  /** Makes the segment after a sealed one, or finishes it (next-segment.ts). */
  async roll(urgent: boolean): Promise<void> {
    // If the seal is no longer there, others may write where it was, and the journal must not continue after it. And a new epoch continues what is
    // left: what was read before the loss is no part of it.
    const isStale = isAcceptance(this.#reading.fold.seal) && this.#reading.hasGrown
    if (isStale || (this.sealed && !(await this.#cursor.isLastLineThere()))) return void (await this.#reload())
    const maker = { journal: this.#journal, reducer: this.#reducer, cipher: this.#options.cipher, urgent, lostFrom: this.loss?.from }
    const { first, from, carried } = await makeNextSegment(maker, this.#reading, this.unsynced)
    // A writer or a reader checks whether it is the last segment. Carried lines must not be put where no one reads them.
    await this.pull({ confirmed: carried.length > 0 })
    // A process that did not know of the failed sync may have been first, and placed records without them. Then what is carried here came too
    // late to count, and is carried into the segment after this one.
    const late = carried[0] !== undefined && (this.segment !== first || this.#reading.fold.carriedFrom > carried[0].at)
    this.unsynced.suspectFrom = late && this.suspect ? from : undefined
  }
}
