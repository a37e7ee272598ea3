/**
 * One process's copy of one journal: it folds what it reads, and decides what it writes. It is a prefix of the journal and catches up
 * by reading the bytes after it, so it can be late but never wrong.
 *
 * All pending operations are written together. Each attempt goes through these steps; if another process was first, it starts again:
 *
 *   load ──▶ prepare ──▶ plan ──▶ write ──▶ settle
 *
 * `prepare` leaves a segment that can be written to. `plan` decides each operation, for the byte where the journal ends (planner.ts). `write` appends
 * there if the journal still ends there. `settle` answers, and never before everything is durable: neither a record, nor a refusal or a
 * duplicate, which rest on what others wrote.
 *
 * The segment that is written to has these states:
 *
 *   loaded ──seal met──▶ sealed ──roll──▶ loaded
 *      └──a sync fails──▶ suspect ──load, seal with `from`, roll and carry──▶ loaded
 *
 * If the process dies: before `append`, nothing happened; after it, the records count and were not acknowledged; a caller that repeats
 * them under the same ids or key is answered with the first outcome.
 */
import { HoldfastError, withOutcomeUnknown } from '../errors.ts'
import type { Damage } from '../record/damage.ts'
import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import { LIMITS, type Limits } from '../record/limits.ts'
import type { Operation } from '../record/operation.ts'
import type { Draft } from '../record/record.ts'
import { acceptLoss } from './accept-loss.ts'
import { type Loss, lossError } from './loss.ts'
import {
  isDuplicate,
  isFleeting,
  lookUp,
  NOTHING_KNOWN,
  type PendingOperation,
  type Plan,
  rejectWith,
  settle,
  tooMany,
} from './pending-operation.ts'
import { planGroup } from './planner.ts'
import { Recovery } from './recovery.ts'
import type { ReplicaOptions } from './replica-options.ts'
import { Tail } from './tail.ts'

/** After so many lost races, an attempt waits for a random time before the next one. */
const RACES_WITHOUT_PAUSE = 8
const LONGEST_PAUSE_MS = 50

export class Replica<S> {
  readonly #options: Omit<ReplicaOptions<S>, 'limits'> & { readonly limits: Limits }
  readonly #tail: Tail<S>
  readonly #recovery: Recovery<S>
  #queue: PendingOperation<S>[] = []
  /** Work that must have the journal to itself. */
  readonly #alone: (() => Promise<void>)[] = []
  #draining: Promise<void> | undefined

  constructor(options: ReplicaOptions<S>) {
    this.#options = { ...options, limits: { ...LIMITS, ...options.limits } }
    this.#tail = new Tail(options.journal, options.reducer, options)
    this.#recovery = new Recovery(this.#options, this.#tail)
  }

  /** Carries out an operation. Resolves with its answer once everything that it rests on is durable. */
  submit<R>(operation: Operation<S, R>): Promise<R> {
    const { clock, ids, limits } = this.#options
    if (this.#queue.length >= limits.queueLength) return Promise.reject(tooMany(this.#queue.length, limits.queueLength))
    const now = clock.now()
    return new Promise((resolve, reject) => {
      this.#queue.push({
        operation,
        id: ids.next(now),
        body: undefined,
        payload: undefined,
        known: NOTHING_KNOWN,
        knownBefore: -1,
        resolve: resolve as (answer: unknown) => void,
        reject: (error) => {
          operation.refused?.(error)
          reject(error)
        },
      })
      this.#draining ??= this.#drain()
    })
  }

  /** The state of the journal as it is now. `barrier` is false where it could not be made durable first. */
  read(): Promise<{ state: S; barrier: boolean }> {
    return this.submit({ readOnly: true, decide: (state) => ({ answer: state }) }).then((state) => ({
      state,
      barrier: this.#tail.unsynced.barrier,
    }))
  }

  /**
   * Another reader of this journal in this process met a failed sync. Carries the lines that may be lost into a new segment, as if this replica had
   * met it; until then they cannot be shown. Throws every other error again.
   */
  async recoverFrom(failure: unknown): Promise<void> {
    if (!(failure instanceof HoldfastError) || failure.details.reason !== 'sync failed') throw failure
    while (this.busy) await this.idle()
    this.#tail.unload(failure)
    await this.read()
  }

  /** The state as it is now, which may vanish at a power loss: to find work, and never to be shown to a caller. */
  glance(): Promise<S> {
    return this.submit({ readOnly: true, fleeting: true, decide: (state) => ({ answer: state }) })
  }

  /** The state as this process knows it, without reading anything: it may be late. Undefined if nothing is known. */
  get known(): S | undefined {
    return this.#tail.loaded ? this.#tail.state : undefined
  }

  /** What is known of keys in the current incarnation: the last record that holds each. */
  find(keys: readonly KeyHash[]): Promise<(KeyEntry | undefined)[]> {
    return this.submit({ keys, readOnly: true, decide: (_, known) => ({ answer: keys.map((key) => known(key)) }) })
  }

  /** Stretches of what was read so far that are not as they were written; a thousand at most. */
  get damage(): readonly Damage[] {
    return this.#tail.wholeDamage
  }

  /** What this journal has lost and no one has accepted, as far as is known. */
  get loss(): Loss | undefined {
    return this.#tail.loss
  }

  /** Lets a journal that lost bytes continue (accept-loss.ts). Resolves with the loss, or with undefined if there is none by now. */
  accept(describe: (state: S, loss: Loss) => Pick<Draft, 'type' | 'payload'>): Promise<Loss | undefined> {
    return new Promise((resolve, reject) => {
      const { journal, cipher, clock, ids, limits } = this.#options
      const requireKnown = () => this.#recovery.requireKnown()
      const acceptance = { journal, cipher, clock, ids, tail: this.#tail, races: limits.races, describe, requireKnown }
      this.#alone.push(() => acceptLoss(acceptance).then(resolve, reject))
      this.#draining ??= this.#drain()
    })
  }

  /** Leaves a journal that can be written to at once: finishes a segment that was begun, and makes the next one after a seal. */
  recover(): Promise<void> {
    return this.submit({ urgent: true, decide: () => ({ answer: undefined }) })
  }

  /** Begins a segment that needs no earlier one, and returns its first position: what is before it may be purged. */
  async beginSegment(): Promise<number> {
    return (await this.beginSegmentIf(() => true)) as number
  }

  /** The same, if the state at the position of the seal still allows it; otherwise resolves with undefined. */
  beginSegmentIf(allowed: (state: S) => boolean): Promise<number | undefined> {
    return this.submit({
      urgent: true,
      decide: (state) => (allowed(state) ? { answer: this.#tail.segment, opens: 'purge' } : { answer: undefined }),
    })
  }

  /** Where the journal ends now. */
  end(): Promise<number> {
    return this.submit({ readOnly: true, decide: () => ({ answer: this.#tail.end }) })
  }

  /** The segment that is written to, and how far it reaches, as far as is known. */
  get newest(): { readonly segment: number; readonly end: number } | undefined {
    const { loaded, segment, end } = this.#tail
    return loaded ? { segment, end } : undefined
  }

  get busy(): boolean {
    return this.#draining !== undefined
  }

  /** Waits until no operation is pending. */
  async idle(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    // What is submitted in the same turn of the event loop goes together.
    await undefined
    while (this.#queue.length > 0 || this.#alone.length > 0) {
      await this.#alone.shift()?.()
      const waiting = this.#queue
      this.#queue = []
      let rest: PendingOperation<S>[] = []
      try {
        rest = await this.#carryOut(waiting)
      } catch (error) {
        this.#tail.unload(error)
        rest = rejectWith(error, waiting)
        if (this.#tail.suspect) await this.#recovery.afterFailedSync()
      }
      this.#queue = [...rest, ...this.#queue]
    }
    this.#draining = undefined
  }

  /** Settles what it can in one group, and returns the operations that belong into a later one. */
  async #carryOut(pending: PendingOperation<S>[]): Promise<PendingOperation<S>[]> {
    const tail = this.#tail
    const writes = pending.some(({ operation }) => operation.readOnly !== true)
    let loadedNow = false
    // What vanished may have been restored, or accepted by another process.
    if (tail.loss !== undefined) tail.unload()
    for (let races = 0; ; races++) {
      if (races > 0) await this.#pause(races)
      if (!tail.loaded) {
        await tail.load()
        loadedNow = true
      }
      await this.#prepare(pending, writes)
      const plan = planGroup(this.#options, tail, pending)
      if (plan.opens !== undefined) {
        this.#recovery.requireKnown()
        await this.#recovery.seal(plan.opens)
        continue
      }
      const settled = plan.placed.length === 0 ? await this.#answer(plan, loadedNow) : await this.#write(plan, races, pending)
      if (settled !== undefined) return pending.slice(settled.count).filter((item) => !settled.refused.includes(item))
    }
  }

  /** Gives up after too many lost races. */
  async #pause(races: number): Promise<void> {
    const { clock, ids, limits } = this.#options
    if (races > limits.races) {
      throw new HoldfastError('UNAVAILABLE', `Other writers were first ${races} times. Nothing was written; try again.`, {
        details: { races },
      })
    }
    if (races > RACES_WITHOUT_PAUSE) await clock.sleep(ids.random() * Math.min(races, LONGEST_PAUSE_MS))
  }

  /** Leaves a segment that can be written to, and looks up the keys of the operations in earlier segments. */
  async #prepare(pending: readonly PendingOperation<S>[], writes: boolean): Promise<void> {
    const { journal, cipher, reducer, time } = this.#options
    const tail = this.#tail
    if (writes && tail.loss !== undefined) throw lossError(tail.loss)
    if ((writes && !tail.writable) || tail.suspect) await this.#recovery.recover(pending.some(({ operation }) => operation.urgent === true))
    // The loss may have come to light just now.
    if (writes && tail.loss !== undefined) throw lossError(tail.loss)
    if (!writes && tail.leavesUncarried) await this.#recovery.beforeRead()
    const ready = writes ? cipher?.ready() : undefined
    if (ready !== undefined) await ready
    const caughtUp = writes ? time?.catchUp() : undefined
    if (caughtUp !== undefined) await caughtUp
    const asking = pending.filter(({ operation: { keys = [] }, knownBefore }) => keys.length > 0 && knownBefore !== tail.segment)
    if (asking.length > 0) await lookUp(journal, asking, reducer.keysFrom(tail.state), tail.segment)
  }

  /** Nothing is to be written. Undefined if others wrote first. */
  async #answer(plan: Plan<S>, loadedNow: boolean): Promise<Settled<S> | undefined> {
    const tail = this.#tail
    const fleeting = isFleeting(plan)
    // A journal that was loaded after the question is as new as it must be.
    if (!(fleeting && loadedNow) && (await tail.pull())) return undefined
    if (!fleeting) await tail.unsynced.sync()
    if (plan.planned.some(isDuplicate)) await tail.unsynced.announce(tail.end)
    return settleAll(plan)
  }

  /** Appends the group. Undefined if others wrote first. */
  async #write(plan: Plan<S>, races: number, pending: readonly PendingOperation<S>[]): Promise<Settled<S> | undefined> {
    const { journal, limits, time } = this.#options
    const tail = this.#tail
    const { bytes } = plan.group
    const synced = !isFleeting(plan)
    let accepted = false
    const appended = await journal.append(tail.segment, tail.end, bytes, {
      hurry: races >= limits.racesBeforeHurry,
      urgent: plan.urgent,
      later: !synced,
      opened: tail.opened,
      ...(time === undefined ? {} : { time: time.last }),
      standing: () => {
        tail.accept(plan, { synced })
        accepted = true
        this.#useDiskTime(plan)
      },
    })
    if (appended.moved) {
      await this.#followMove()
      return undefined
    }
    tail.restsOn(appended.opened)
    try {
      if (appended.placed < bytes.length) return await this.#settleSome(plan, pending, appended)
      if (!accepted) tail.accept(plan, { synced })
      if (!tail.unsynced.empty && synced) await tail.unsynced.sync()
      return settleAll(plan)
    } catch (error) {
      throw withOutcomeUnknown(error)
    }
  }

  /** Does what later writes need, while the disk works on this one. */
  #useDiskTime({ placed }: Plan<S>): void {
    const { cipher, limits } = this.#options
    const tail = this.#tail
    cipher?.prepare()
    // The keys that are handed over with a segment are hashed once it is half full: many never are.
    if (2 * (tail.end - tail.segment) > limits.segmentBytes) tail.keys.prepare(2 * placed.length)
  }

  /** Reads what others wrote. */
  async #followMove(): Promise<void> {
    const tail = this.#tail
    const { opened } = tail
    // Nothing new here although the journal moved, and not because its file was opened again: it continues in a later segment.
    if (!(await tail.pull()) && tail.opened === opened) tail.unload()
  }

  /** Part of a group was placed. Settles the operations before the first record that was not; that one is refused, or tried again. */
  async #settleSome(
    plan: Plan<S>,
    pending: readonly PendingOperation<S>[],
    { placed, refusal }: { readonly placed: number; readonly refusal?: HoldfastError | undefined },
  ): Promise<Settled<S>> {
    await this.#tail.pull()
    await this.#tail.unsynced.sync()
    const missing = plan.planned.findIndex(({ place }) => place !== undefined && place.end > plan.group.at + placed)
    // If no operation is, only the seal after the last one is missing.
    const count = missing === -1 ? plan.planned.length : missing
    plan.planned.slice(0, count).forEach(settle)
    // A full disk is reported to every writer; readers are decided again.
    const refused = refusal === undefined ? [] : pending.slice(count).filter(({ body }) => body !== undefined)
    for (const { reject } of refused) reject(refusal)
    return { count, refused }
  }
}

/** How many operations were settled, the first ones of the queue, and which later ones were refused. */
interface Settled<S> {
  readonly count: number
  readonly refused: readonly PendingOperation<S>[]
}

function settleAll<S>({ planned }: Plan<S>): Settled<S> {
  planned.forEach(settle)
  return { count: planned.length, refused: [] }
}
