/**
 * The end of one journal as this process knows it: the segment that is written to, the state up to its end, and the keys in it. It
 * loads from the last segment that has an intact checkpoint, pulls what others wrote, and makes the next segment when one is sealed.
 */
import type { Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import type { Damage } from '../record/damage.ts'
import { checksumOfDamaged } from '../record/damaged-line.ts'
import { type Counted, countedAt, isAcceptance, JournalFold, type Seal } from '../record/fold.ts'
import { encodeCheckpoint, LEAD_IN, type Line } from '../record/line.ts'
import type { LineCipher } from '../record/line-cipher.ts'
import type { JsonObject, SealReason } from '../record/record.ts'
import { carryErasures, countedLines } from './carried-lines.ts'
import { DamageSoFar } from './damage-so-far.ts'
import { type Displaced, displacement, findLoss, type IsNamed, type Loss, statedIdentity } from './loss.ts'
import { withNotice } from './own-records.ts'
import type { PlacedGroup } from './placed-group.ts'
import { ReadSoFar } from './read-so-far.ts'
import type { Reducer } from './reducer.ts'
import { SegmentKeys } from './segment-keys.ts'
import { startOf } from './start.ts'
import { least, Unsynced } from './unsynced.ts'

interface TailOptions {
  /** False for who needs no keys. */
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
  readonly #readsKeys: boolean
  readonly #witness: TailOptions['witness']
  readonly #cipher: TailOptions['cipher']
  readonly #isNamed: TailOptions['isNamed']

  keys: SegmentKeys
  /** What this journal has lost, and no one has accepted: nothing may be placed in it. */
  loss: Loss | undefined
  /** The append point. */
  end = 0
  /** What was taken in and is not durable yet. */
  readonly unsynced: Unsynced

  #fold = new JournalFold(0)
  #damage = new DamageSoFar()
  #state: S
  /** The state began with a checkpoint that covers everything below this position. */
  #covered = 0
  /** Records that were read and are not in the state yet. */
  #unapplied: Counted[] = []
  #loaded = false
  /** The damage that was known when the journal was last unloaded. */
  #lastDamage: readonly Damage[] = []
  /** The journal was there once. */
  #known = false
  /** Up to here, lines were judged. */
  #next = 0
  readonly #read: ReadSoFar
  /** The seal of the segment before. */
  #lastSeal: Seal | undefined
  /** The state before the first record is known. */
  #rooted = true
  /** An intact line was met that is not at its place: the first one ahead of it, if there is one. That one was moved there: no writer is ever too early. */
  #displaced: { readonly how: Displaced; readonly at: number } | undefined
  /** A file was replaced or cut while the journal was loaded. */
  #changed = false
  /** Something was read or placed since the journal was loaded. */
  #grown = false
  /** The checksum of a record that rotted, if no intact record follows it. */
  #rotten: string | undefined
  /** Whose journal an intact line says that this is, which the key of this session does not open. */
  #stated: ReturnType<typeof statedIdentity>
  /** A record of this segment erases something, perhaps in this very segment. */
  #hasErasure = false

  constructor(journal: Journal, reducer: Reducer<S>, { readsKeys = true, witness, isNamed, cipher }: TailOptions = {}) {
    this.#journal = journal
    this.#cipher = cipher
    this.#read = new ReadSoFar(journal)
    this.unsynced = new Unsynced(journal)
    this.#reducer = reducer
    this.#readsKeys = readsKeys
    this.#witness = witness
    this.#isNamed = isNamed
    this.#state = reducer.initial
    this.keys = new SegmentKeys(reducer)
  }

  /**
   * The state up to the end. Records are applied in the order of their positions: where the checkpoint in front of carried lines has
   * rotted, those are met behind later ones, which the segment before still has.
   */
  get state(): S {
    if (this.#unapplied.length > 0) {
      const records = this.#unapplied.sort((a, b) => a.at - b.at)
      this.#setState(records.reduce((state, counted) => this.#reducer.apply(state, counted), this.#state))
    }
    return this.#state
  }

  /** The damage of all that was loaded. While it is loaded again, what was known before: an answer that is made in the meantime reports that. */
  get wholeDamage(): readonly Damage[] {
    return this.#loaded ? this.damage : this.#lastDamage
  }

  get damage(): readonly Damage[] {
    return this.#damage.places
  }

  /** What the next record must come after, because no later one would show it: losses that nothing has written down yet. */
  get notice(): ReturnType<NonNullable<Reducer<S>['notice']>> {
    return this.damage.length === 0 ? undefined : this.#reducer.notice?.(this.state, this.#damage.lost)
  }

  get loaded(): boolean {
    return this.#loaded
  }

  get segment(): number {
    return this.#fold.segment
  }

  /** The opening of that segment on which everything here rests, as `Chunk.opened`. */
  get opened(): number | undefined {
    return this.#read.opened
  }

  /** The checksum of the record that the next one follows. */
  get prev(): string {
    return this.#rotten ?? this.#fold.prev
  }

  get checkpointBytes(): number {
    return this.#fold.checkpointBytes
  }

  get sealed(): boolean {
    return this.#fold.seal !== undefined
  }

  /** Whether records may be placed in this segment: it has all that it must begin with, and no seal. */
  get writable(): boolean {
    return !this.sealed && this.#fold.ready
  }

  get suspect(): boolean {
    return this.unsynced.suspectFrom !== undefined
  }

  /** Its seal says that lines in front of it may not be on the disk, and nothing carries them yet. */
  get leavesUncarried(): boolean {
    return this.#fold.seal?.from !== undefined
  }

  /** From where on the next segment must carry: also what this segment carries itself, if it was never synced. */
  get suspectFrom(): number | undefined {
    const { suspectFrom } = this.unsynced
    return suspectFrom !== undefined && suspectFrom <= this.segment ? Math.min(suspectFrom, this.#fold.carriedFrom) : suspectFrom
  }

  /**
   * Whether a record placed now would stand first in a segment that was begun for this reason. Two copies of a checkpoint alone do not tell
   * that it was a purge: two helpers may have written one each.
   */
  isOpenedFor(why: SealReason): boolean {
    if (this.sealed || !this.#fold.fresh) return false
    return this.segment === 0 || why !== 'purge' || (this.#lastSeal?.why === why && this.#fold.checkpointCopies > 1)
  }

  async load(): Promise<void> {
    if (this.#loaded) return
    for (let attempt = 1; ; attempt++) {
      const segments = await this.#load()
      if (attempt === LOADS) break
      // What was purged in the meantime would seem to be missing.
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
    if (!this.#fold.ready) this.#damage.neverMade(this.segment)
    const loaded = {
      ...{ state: this.state, start, end: this.end, rooted: this.#rooted, vanished },
      ...{ stated: this.#stated, displaced: this.#displaced, damage: this.#damage },
      accepted: isAcceptance(this.#fold.seal),
    }
    this.loss = findLoss(this.#reducer, loaded, this.#isNamed)
    if (this.loss !== undefined) this.#damage.addLoss(this.loss, segments)
    this.#known ||= segments.length > 0
    return segments
  }

  /** Loads from the last segment that tells the state before it. If none does, what records say by themselves is loaded. */
  async #loadSegments(segments: readonly number[]): Promise<void> {
    for (let i = segments.length - 1; i >= 0; i--) if (await this.#loadFrom(segments, i)) return
    if (segments.length === 0) this.#begin(0, Number.POSITIVE_INFINITY)
    else await this.#loadFrom(segments, 0, { unrooted: true })
    this.#rooted = segments.length === 0
  }

  /** Forgets everything but the segments themselves. Remembers from where on they cannot be trusted, if that is why. */
  unload(error?: unknown): void {
    this.#lastDamage = this.wholeDamage
    this.#loaded = false
    this.unsynced.clear()
    this.unsynced.suspect(error)
  }

  /** Reads what others wrote. True if there was something. Not durable yet, and where it need not be `confirmed`, perhaps of a segment that is not the last. */
  async pull({ confirmed = true }: { readonly confirmed?: boolean } = {}): Promise<boolean> {
    let news = false
    for (;;) {
      const chunk = await this.#journal.read(this.segment, this.#next)
      // Of a journal that vanished, nothing more can be read.
      if (chunk === undefined && this.loss !== undefined) return news
      if (chunk === undefined) return this.#known || !(await this.#read.isEnd(this.segment)) ? this.#loadAnew() : news
      this.#known = true
      if (!(await this.#read.isSame(this.segment, this.#next, chunk))) return this.#loadAnew()
      for (const line of chunk.lines) this.#take(line)
      if (chunk.lines.length > 0) this.unsynced.add(this.segment)
      news ||= chunk.lines.length > 0 || this.end !== chunk.end
      const stuck = chunk.next === this.#next
      this.#next = chunk.next
      this.end = chunk.end
      this.#grown ||= chunk.lines.length > 0
      const { seal } = this.#fold
      if (seal !== undefined && (await this.#journal.read(seal.next, seal.next, 1)) !== undefined) {
        // What was read before a loss that was accepted may be lost. And the process that made the next segment need not know that this one was cut.
        if (isAcceptance(seal) || !(await this.#read.isLastLineThere(this.segment))) return this.#loadAnew()
        this.#enter(seal.next)
      } else if (seal !== undefined) return (await this.#read.isEnd(this.segment)) ? news : this.#loadAnew()
      else if (stuck || chunk.next >= chunk.end)
        return !confirmed || (await this.#read.isLast(this.segment, chunk.opened, this.loss)) ? news : this.#loadAnew()
    }
  }

  async #loadAnew(): Promise<true> {
    this.unload()
    await this.load()
    return true
  }

  /**
   * Takes in a group that this process has placed and is syncing, unless `synced` is false: if that fails, everything is unloaded. What others wrote before it in
   * other segments is not durable yet.
   */
  accept({ group, placed, counted, keys, state }: PlacedGroup<S>, { synced = true }: { readonly synced?: boolean } = {}): void {
    if (this.#next < group.at) this.#damage.add(this.#fold, { at: this.#next, length: group.at - this.#next + 1, as: 'torn' })
    const last = placed.slice(counted.length).map(countedAt)
    for (const record of [...counted, ...last]) {
      this.#fold.accept(record)
      this.#hasErasure ||= record.record.type === 'message.erased'
    }
    this.#damage.follow(this.#read.last?.at ?? 0)
    this.#read.last = group.last ?? this.#read.last
    this.#grown = true
    this.#rotten = undefined
    this.keys.addAll(keys)
    for (const record of last) this.keys.add(record)
    this.#setState(last.reduce((before, record) => this.#reducer.apply(before, record), state))
    this.#known = true
    this.end = group.at + group.length
    this.#next = this.end
    if (synced) this.unsynced.delete(this.segment)
    else this.unsynced.add(this.segment)
  }

  /** What was placed now is in this opening of the segment. */
  restsOn(opened: number | undefined): void {
    this.#read.opened = opened ?? this.#read.opened
  }

  /**
   * Makes the segment after a sealed one, or finishes it. Its checkpoint is the state up to the seal and nothing behind it; if the
   * sealed segment cannot be synced, its lines are carried along.
   */
  async roll(urgent: boolean): Promise<void> {
    // If the seal is no longer there, others may write where it was, and the journal must not continue after it. And a new epoch continues what is
    // left: what was read before the loss is no part of it.
    const isStale = isAcceptance(this.#fold.seal) && this.#grown
    if (isStale || (this.sealed && !(await this.#read.isLastLineThere(this.segment)))) return void (await this.#loadAnew())
    const seal = this.#fold.seal ?? this.#lastSeal
    const first = this.#fold.seal?.next ?? this.segment
    let from = least(seal?.from, this.suspectFrom)
    if (from === undefined && this.#fold.seal !== undefined) {
      try {
        await this.#journal.sync(this.segment)
        this.unsynced.delete(this.segment)
      } catch (error) {
        if (!this.unsynced.suspect(error)) throw error
        from = this.suspectFrom
      }
    }
    const carried = from === undefined ? [] : await countedLines(this.#journal, from, first)
    await this.#cipher?.ready()
    const checkpoint = encodeCheckpoint(
      {
        base: first,
        id: this.#fold.lastId,
        at: this.#fold.lastAt,
        prev: this.#fold.prev,
        carries: carried.length,
        unrooted: !this.#rooted && !isAcceptance(seal),
        state: this.#reducer.checkpoint(withNotice(this.#reducer, this.state, this.notice, first)),
      },
      this.#cipher,
    )
    // Where earlier segments are about to go, nothing else could tell the state if this line rotted.
    const checkpoints = seal?.why === 'purge' ? [checkpoint, checkpoint] : [checkpoint]
    await this.#journal.roll(
      first,
      Buffer.concat([...checkpoints, ...carried.map(({ bytes }) => bytes)].flatMap((line) => [LEAD_IN, line])),
      { urgent },
    )
    this.unsynced.clear()
    if (from !== undefined) await carryErasures(this.#journal, first, from, carried)
    // Whoever places something in it, or shows it, looks whether it is the last one. What is carried must not be put where nobody looks.
    await this.pull({ confirmed: carried.length > 0 })
    // Who did not know that a sync had failed may have been first, and placed records without them: then what is carried here came too
    // late to count, and is carried into the segment after this one.
    const late = carried[0] !== undefined && (this.segment !== first || this.#fold.carriedFrom > carried[0].at)
    this.unsynced.suspectFrom = late && this.suspect ? from : undefined
  }

  async #loadFrom(
    segments: readonly number[],
    index: number,
    { unrooted = false }: { readonly unrooted?: boolean } = {},
  ): Promise<boolean> {
    this.#begin(segments[index] as number, segments[index + 1] ?? Number.POSITIVE_INFINITY)
    for (let i = index; ; i++) {
      this.#fold.rooted ||= unrooted
      const rooted = await this.#readSegment()
      if (!rooted && !unrooted) return false
      const next = segments[i + 1]
      if (next === undefined) return true
      const missing = this.#fold.missing(this.#next)
      if (missing !== undefined) this.#damage.add(this.#fold, missing)
      this.#enter(next, segments[i + 2])
    }
  }

  /** Judges all lines of the current segment. False if they stand on a state that is not known. */
  async #readSegment(): Promise<boolean> {
    for (;;) {
      const chunk = await this.#journal.read(this.segment, this.#next)
      if (chunk === undefined) return false
      if (this.#read.opened !== chunk.opened && !(await this.#read.isSame(this.segment, this.#next, chunk))) this.#changed = true
      for (const line of chunk.lines) {
        this.#take(line)
        if (!this.#fold.rooted && !this.#fold.fresh) return false
      }
      if (chunk.lines.length > 0) this.unsynced.add(this.segment)
      const done = chunk.next === this.#next || chunk.next >= chunk.end
      this.#next = chunk.next
      this.end = chunk.end
      if (done) return this.#fold.rooted
    }
  }

  #begin(segment: number, successor: number): void {
    this.#fold = new JournalFold(segment, successor)
    this.#setState(this.#reducer.initial)
    this.#covered = segment
    this.keys = new SegmentKeys(this.#reducer)
    this.#damage = new DamageSoFar()
    this.#rooted = true
    this.#read.begin()
    this.#displaced = undefined
    this.#grown = false
    this.#rotten = undefined
    this.#stated = undefined
    this.#hasErasure = false
    this.#lastSeal = undefined
    this.#next = segment
    this.end = segment
  }

  #enter(segment: number, successor = Number.POSITIVE_INFINITY): void {
    // Keys of carried lines are known to the segment that they came from; whoever purges that one has to find them here.
    // Nor are they handed over where something was erased: the digests that are held here are of what it was.
    if (this.#readsKeys && this.#fold.seal?.next === segment && this.#fold.carriedFrom === this.segment && !this.#hasErasure)
      this.#journal.storeKeys(this.segment, segment, this.keys.all())
    this.#lastSeal = this.#fold.seal
    this.#damage.leave(this.#read.last?.at ?? 0)
    this.#fold.enter(segment, successor)
    this.#read.begin()
    this.#rotten = undefined
    this.#hasErasure = false
    this.keys = new SegmentKeys(this.#reducer)
    this.#next = segment
    this.end = segment
  }

  #take(line: Line): void {
    const { root, segment, prev, fresh } = this.#fold
    const verdict = this.#fold.judge(line)
    if (this.#fold.root !== undefined && this.#fold.root !== root) {
      this.#setState(this.#reducer.restore(this.#fold.root.state as JsonObject))
      this.#covered = this.segment
      this.#rooted = this.#fold.root.unrooted !== true
      if (this.#fold.complete) this.#damage.pass(this.segment)
    }
    if (verdict.kind === 'damage' && !this.#damage.isCopy(verdict)) {
      const checksum = checksumOfDamaged(line, this.#damage.isAfterTorn)
      this.#damage.add(this.#fold, verdict, checksum)
      if (verdict.as === 'rotten') this.#stated ??= statedIdentity(line)
      if (this.#fold.ready) this.#rotten = checksum ?? this.#rotten
    } else if (verdict.kind === 'checkpoint' || (verdict.kind === 'nothing' && verdict.why === 'repeated')) {
      this.#read.endsWith(line)
      this.#damage.repeat()
    } else if (verdict.kind === 'nothing' && verdict.why === 'misplaced' && this.#displaced?.how !== 'ahead')
      this.#displaced = { how: displacement(line), at: line.at }
    else if (verdict.kind === 'counted') {
      this.#damage.count(verdict, { segment, prev, fresh }, this.#read.last)
      if (verdict.at >= this.#covered) this.#unapplied.push(verdict)
      if (!verdict.carried) [this.#read.last, this.#rotten] = [verdict, undefined]
      this.#hasErasure ||= verdict.record.type === 'message.erased'
      if (this.#readsKeys) this.keys.add(verdict)
      this.#witness?.(verdict)
    }
  }

  #setState(state: S): void {
    this.#state = state
    this.#unapplied = []
  }
}
