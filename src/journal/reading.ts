/**
 * What one load of a journal has read, and what this process placed since: the lines judged, the state and the keys that they come to, and what
 * points to a loss. A journal that is loaded again gets a new one.
 */
import { checksumOfDamaged } from '../record/damaged-line.ts'
import { type Counted, countedAt, JournalFold, type PlacedDraft, type Seal, type Verdict } from '../record/fold.ts'
import type { Line } from '../record/line.ts'
import type { JsonObject, SealReason } from '../record/record.ts'
import { DamageSoFar } from './damage-so-far.ts'
import { type Displaced, displacement, statedIdentity } from './loss.ts'
import type { PlacedGroup } from './placed-group.ts'
import type { Reducer } from './reducer.ts'
import type { SegmentCursor } from './segment-cursor.ts'
import { SegmentKeys } from './segment-keys.ts'
import { StateSoFar } from './state-so-far.ts'

export interface ReadingOptions<S> {
  readonly reducer: Reducer<S>
  readonly cursor: SegmentCursor
  /** False if the reader needs no keys. */
  readonly readsKeys: boolean
  /** Called with each record that is read, in order. */
  readonly witness: ((counted: Counted) => void) | undefined
}

export class Reading<S> {
  readonly #options: ReadingOptions<S>
  readonly fold: JournalFold
  readonly state: StateSoFar<S>
  readonly damage = new DamageSoFar()
  keys: SegmentKeys
  /** The seal of the segment before. */
  lastSeal: Seal | undefined
  /** The first intact line that is ahead of its place, or else the last one that is behind it. One ahead was moved there: no writer is ever too early. */
  displaced: { readonly how: Displaced; readonly at: number } | undefined
  /** Whose journal this is, by an intact line that the key of this session does not open. */
  stated: ReturnType<typeof statedIdentity>
  /** Something was read or placed since the journal was loaded. */
  hasGrown = false
  /** The checksum of a record that rotted, if no intact record follows it. */
  #rotten: string | undefined
  /** A record of this segment erases something, perhaps in this very segment. */
  #hasErasure = false

  constructor(options: ReadingOptions<S>, segment: number, successor = Number.POSITIVE_INFINITY) {
    this.#options = options
    this.fold = new JournalFold(segment, successor)
    this.state = new StateSoFar(options.reducer, segment)
    this.keys = new SegmentKeys(options.reducer)
    options.cursor.begin(segment)
  }

  /** The checksum of the record that the next one follows. */
  get prev(): string {
    return this.#rotten ?? this.fold.prev
  }

  /** The next record must come after this one, because no later one would show it: losses that no record names yet. */
  get notice(): ReturnType<NonNullable<Reducer<S>['notice']>> {
    return this.damage.places.length === 0 ? undefined : this.#options.reducer.notice?.(this.state.value, this.damage.lost)
  }

  /**
   * Whether a record placed now would be the first in a segment that was begun for this reason. Two copies of a checkpoint alone do not show
   * that it was a purge: two processes may have written one each.
   */
  isOpenedFor(why: SealReason): boolean {
    if (this.fold.seal !== undefined || !this.fold.fresh) return false
    return this.fold.segment === 0 || why !== 'purge' || (this.lastSeal?.why === why && this.fold.checkpointCopies > 1)
  }

  /** Judges a line, and keeps what it says. */
  take(line: Line): void {
    const { fold, damage } = this
    const { root, segment, prev, fresh } = fold
    const verdict = fold.judge(line)
    if (fold.root !== undefined && fold.root !== root) this.#takeRoot(fold.root)
    if (verdict.kind === 'damage' && !damage.isCopy(verdict)) this.#takeDamage(line, verdict)
    else if (verdict.kind === 'checkpoint' || (verdict.kind === 'nothing' && verdict.why === 'repeated')) {
      this.#options.cursor.endsWith(line)
      damage.repeat()
    } else if (verdict.kind === 'nothing' && verdict.why === 'misplaced' && this.displaced?.how !== 'ahead')
      this.displaced = { how: displacement(line), at: line.at }
    else if (verdict.kind === 'counted') {
      damage.count(verdict, { segment, prev, fresh }, this.#options.cursor.last)
      this.#takeRecord(verdict)
    }
  }

  #takeRoot({ state, unrooted }: NonNullable<JournalFold['root']>): void {
    const { segment } = this.fold
    this.state.restore(segment, { state: state as JsonObject, isRooted: unrooted !== true })
    if (this.fold.complete) this.damage.pass(segment)
  }

  #takeDamage(line: Line, verdict: Extract<Verdict, { kind: 'damage' }>): void {
    const checksum = checksumOfDamaged(line, this.damage.isAfterTorn)
    this.damage.add(this.fold, verdict, checksum)
    if (verdict.as === 'rotten') this.stated ??= statedIdentity(line)
    if (this.fold.ready) this.#rotten = checksum ?? this.#rotten
  }

  #takeRecord(counted: Counted): void {
    const { cursor, readsKeys, witness } = this.#options
    this.state.add(counted)
    if (!counted.carried) [cursor.last, this.#rotten] = [counted, undefined]
    this.#noteErasure(counted)
    if (readsKeys) this.keys.add(counted)
    witness?.(counted)
  }

  /** Takes in a group that this process has placed, without reading it back. */
  accept({ group, placed, counted, keys, state }: PlacedGroup<S>): void {
    const { cursor, reducer } = this.#options
    if (cursor.next < group.at) this.damage.add(this.fold, { at: cursor.next, length: group.at - cursor.next + 1, as: 'torn' })
    for (const record of counted) this.#acceptRecord(record)
    this.keys.addAll(keys)
    let reached = state
    // As a rule the last record only.
    for (let i = counted.length; i < placed.length; i++) {
      const record = countedAt(placed[i] as PlacedDraft)
      this.#acceptRecord(record)
      this.keys.add(record)
      reached = reducer.apply(reached, record)
    }
    this.damage.follow(cursor.last?.at ?? 0)
    this.state.replace(reached)
    this.hasGrown = true
    this.#rotten = undefined
    cursor.last = group.last ?? cursor.last
    cursor.end = group.at + group.length
    cursor.next = cursor.end
  }

  #acceptRecord(record: Counted): void {
    this.fold.accept(record)
    this.#noteErasure(record)
  }

  /** The segment was read to its end, and a later one begins elsewhere: what lies between is missing. */
  addMissing(): void {
    const missing = this.fold.missing(this.#options.cursor.next)
    if (missing !== undefined) this.damage.add(this.fold, missing)
  }

  /**
   * The keys to hand to the engine when the next segment begins; undefined if they are not complete. Keys of carried lines are known to the segment
   * that those came from; a purge of that one has to find them here. After an erasure, the digests that are held here are of what was erased.
   */
  keysBefore(next: number): ReturnType<SegmentKeys['all']> | undefined {
    const { seal, carriedFrom, segment } = this.fold
    const isComplete = this.#options.readsKeys && seal?.next === next && carriedFrom === segment && !this.#hasErasure
    return isComplete ? this.keys.all() : undefined
  }

  /** Continues in the next segment. */
  enter(segment: number, successor = Number.POSITIVE_INFINITY): void {
    const { cursor, reducer } = this.#options
    this.lastSeal = this.fold.seal
    this.damage.leave(cursor.last?.at ?? 0)
    this.fold.enter(segment, successor)
    cursor.begin(segment)
    this.keys = new SegmentKeys(reducer)
    this.#rotten = undefined
    this.#hasErasure = false
  }

  #noteErasure({ record }: Counted): void {
    this.#hasErasure ||= record.type === 'message.erased'
  }
}
