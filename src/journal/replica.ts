/**
 * One process's copy of one journal: it folds what it reads, and decides what it writes. It is a prefix of the journal and catches up
 * by reading the bytes behind it, so it can be late but never wrong.
 *
 * All that waits is written together. A group is decided on everything in front of its place, stamped for that place, and appended
 * there if the journal still ends there; if another process was first, it reads what came and decides again. Nothing is answered
 * before it is durable: neither what was written, nor a refusal or a duplicate, which rest on what others wrote.
 *
 *   loaded ──seal met──▶ sealed ──roll──▶ loaded
 *      └──a sync fails──▶ suspect ──load, seal with `from`, roll and carry──▶ loaded
 *
 * If the process dies: before `append`, nothing happened; after it, the records count and were not acknowledged; a caller that repeats
 * them under the same ids or key is answered with the first outcome.
 */
import { isoTime } from '../engine/clock.ts'
import { HoldfastError, withOutcomeUnknown } from '../errors.ts'
import type { Damage } from '../record/damage.ts'
import { type Counted, countedAt, type PlacedDraft } from '../record/fold.ts'
import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import { LIMITS, type Limits } from '../record/limits.ts'
import { type Body, encodeBody, Group, type LinePlace } from '../record/line.ts'
import type { Decision, Operation } from '../record/operation.ts'
import type { Draft, SealReason } from '../record/record.ts'
import { acceptLoss } from './accept-loss.ts'
import { type Loss, lossError } from './loss.ts'
import { noticeBody, sealBody, withNotice } from './own-records.ts'
import {
  decide,
  isDuplicate,
  lookUp,
  NOTHING_KNOWN,
  type PendingOperation,
  type Plan,
  type Planned,
  rejectWith,
  settle,
  tooMany,
} from './pending-operation.ts'
import type { ReplicaOptions } from './replica-options.ts'
import { SegmentKeys } from './segment-keys.ts'
import { Tail } from './tail.ts'

export class Replica<S> {
  readonly #options: ReplicaOptions<S>
  readonly #limits: Limits
  readonly #tail: Tail<S>
  #queue: PendingOperation<S>[] = []
  /** Work that must have the journal for itself. */
  readonly #alone: (() => Promise<void>)[] = []
  #draining: Promise<void> | undefined

  constructor(options: ReplicaOptions<S>) {
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    this.#tail = new Tail(options.journal, options.reducer, options)
  }

  /** Carries out an operation. Resolves with its answer once everything that it rests on is durable. */
  submit<R>(operation: Operation<S, R>): Promise<R> {
    if (this.#queue.length >= this.#limits.queueLength) {
      return Promise.reject(tooMany(this.#queue.length, this.#limits.queueLength))
    }
    const { clock, ids } = this.#options
    const now = clock.now()
    return new Promise((resolve, reject) => {
      this.#queue.push({
        operation,
        id: ids.next(now),
        at: isoTime(now),
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
   * Somebody else who reads this journal here met a failed sync: what may be lost is carried into a new segment, as if this one had met it. Until then it
   * cannot be shown. Throws whatever is no failed sync.
   */
  async carry(failure: unknown): Promise<void> {
    if (!(failure instanceof HoldfastError) || failure.details.reason !== 'sync failed') throw failure
    while (this.busy) await this.idle()
    this.#tail.unload(failure)
    await this.read()
  }

  /** The state as it is now, which may vanish at a power loss: to find out what there is to do, and to be shown to nobody. */
  glance(): Promise<S> {
    return this.submit({ readOnly: true, fleeting: true, decide: (state) => ({ answer: state }) })
  }

  /** The state as this process knows it, without asking anybody: it may be late. Undefined if nothing is known. */
  get known(): S | undefined {
    return this.#tail.loaded ? this.#tail.state : undefined
  }

  /** What is known of keys in the current incarnation: the last record that holds each. */
  find(keys: readonly KeyHash[]): Promise<(KeyEntry | undefined)[]> {
    return this.submit({ keys, readOnly: true, decide: (_, known) => ({ answer: keys.map((key) => known(key)) }) })
  }

  /** Stretches of what was read so far that nobody wrote like that; a thousand at most. */
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
      const { journal, cipher, clock, ids } = this.#options
      const acceptance = { journal, cipher, clock, ids, tail: this.#tail, races: this.#limits.races, describe }
      this.#alone.push(() => acceptLoss({ ...acceptance, requireKnown: () => this.#requireKnown() }).then(resolve, reject))
      this.#draining ??= this.#drain()
    })
  }

  /** Leaves a journal that can be written to at once: a segment that somebody has begun is finished, and behind a seal the next one is made. */
  makeWritable(): Promise<void> {
    return this.submit({ urgent: true, decide: () => ({ answer: undefined }) })
  }

  /** Begins a segment that needs nothing in front of it, and tells its first position: what stands before it may be purged. */
  async beginAnew(): Promise<number> {
    return (await this.beginAnewIf(() => true)) as number
  }

  /** The same, if the state still allows it where the seal would stand; otherwise undefined. */
  beginAnewIf(allowed: (state: S) => boolean): Promise<number | undefined> {
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

  /** Waits until nothing is under way. */
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
        if (this.#tail.suspect) await this.#rescue()
      }
      this.#queue = [...rest, ...this.#queue]
    }
    this.#draining = undefined
  }

  /** Settles what it can in one group, and returns what has to go into a later one. */
  async #carryOut(waiting: PendingOperation<S>[]): Promise<PendingOperation<S>[]> {
    const tail = this.#tail
    const writes = waiting.some(({ operation }) => operation.readOnly !== true)
    let loadedNow = false
    // What vanished may have been restored, or accepted by another process.
    if (tail.loss !== undefined) tail.unload()
    for (let races = 0; ; races++) {
      if (races > this.#limits.races) {
        throw new HoldfastError('UNAVAILABLE', `Other writers were first ${races} times. Nothing was written; try again.`, {
          details: { races },
        })
      }
      if (races > 8) await this.#options.clock.sleep(this.#options.ids.random() * Math.min(races, 50))
      if (!tail.loaded) {
        await tail.load()
        loadedNow = true
      }
      if (writes && tail.loss !== undefined) throw lossError(tail.loss)
      if ((writes && !tail.writable) || tail.suspect) await this.#makeWritable(waiting.some(({ operation }) => operation.urgent === true))
      // The loss may have come to light just now.
      if (writes && tail.loss !== undefined) throw lossError(tail.loss)
      if (!writes && tail.leavesUncarried) await this.#help()
      const ready = writes ? this.#options.cipher?.ready() : undefined
      if (ready !== undefined) await ready
      const asking = waiting.filter((item) => this.#mustLookUp(item))
      if (asking.length > 0) await lookUp(this.#options.journal, asking, this.#options.reducer.keysFrom(tail.state), tail.segment)
      const plan = this.#plan(waiting)
      const fleeting = plan.planned.every(({ waiting: { operation } }) => operation.fleeting === true)
      if (plan.opens !== undefined) {
        this.#requireKnown()
        await this.#seal(plan.opens)
        continue
      }
      if (plan.placed.length === 0) {
        // What was loaded after it was asked for is as new as it must be.
        if (!(fleeting && loadedNow) && (await tail.pull())) continue
        if (!fleeting) await tail.unsynced.sync()
        if (plan.planned.some(isDuplicate)) await tail.unsynced.announce(tail.end)
        plan.planned.forEach(settle)
        return waiting.slice(plan.planned.length)
      }
      const { bytes } = plan.group
      let accepted = false
      const appended = await this.#options.journal.append(tail.segment, tail.end, bytes, {
        hurry: races >= this.#limits.racesBeforeHurry,
        urgent: plan.urgent,
        later: fleeting,
        opened: tail.opened,
        standing: () => {
          tail.accept(plan, { synced: !fleeting })
          accepted = true
          this.#options.cipher?.prepare()
          // The keys that are handed over with a segment are found out while the disk works, from when it is half full: many never are.
          if (2 * (tail.end - tail.segment) > this.#limits.segmentBytes) tail.keys.prepare(2 * plan.placed.length)
        },
      })
      if (appended.moved) {
        const { opened } = tail
        // Nothing new here although the journal moved, and not because its file was opened again: it continues in a later segment.
        if (!(await tail.pull()) && tail.opened === opened) tail.unload()
        continue
      }
      tail.restsOn(appended.opened)
      try {
        if (appended.placed < bytes.length) return await this.#settleSome(waiting, plan, appended.placed, appended.refusal)
        if (!accepted) tail.accept(plan, { synced: !fleeting })
        if (!tail.unsynced.empty && !fleeting) await tail.unsynced.sync()
        plan.planned.forEach(settle)
        return waiting.slice(plan.planned.length)
      } catch (error) {
        throw withOutcomeUnknown(error)
      }
    }
  }

  /** Part of a group stands. Settles what comes before the first record that does not; that one is refused, or tried again. */
  async #settleSome(
    waiting: PendingOperation<S>[],
    plan: Plan<S>,
    placed: number,
    refusal: HoldfastError | undefined,
  ): Promise<PendingOperation<S>[]> {
    await this.#tail.pull()
    await this.#tail.unsynced.sync()
    const stands = plan.planned.findIndex(({ place }) => place !== undefined && place.end > plan.group.at + placed)
    // Only the seal behind the last operation is missing.
    const settled = stands === -1 ? plan.planned.length : stands
    plan.planned.slice(0, settled).forEach(settle)
    const left = waiting.slice(settled)
    if (refusal === undefined) return left
    // A full disk is told to everybody who wanted to write; who only reads is decided again.
    const refused = left.filter(({ body }) => body !== undefined)
    for (const { reject } of refused) reject(refusal)
    return left.filter((item) => !refused.includes(item))
  }

  /** Decides each operation on the state plus those before it, and builds the bytes. Nothing in here waits. */
  #plan(waiting: readonly PendingOperation<S>[]): Plan<S> {
    const { reducer } = this.#options
    const tail = this.#tail
    const group = new Group(tail.end, tail.prev)
    const planned: Planned<S>[] = []
    const placed: PlacedDraft[] = []
    const add = (body: Body): LinePlace => {
      const { prev } = group
      const place = group.add(body)
      placed.push({ draft: body.draft, place, prev })
      return place
    }
    const counted: Counted[] = []
    const keys = new SegmentKeys(reducer)
    let state = withNotice(reducer, tail.state, tail.notice, tail.end)
    let urgent = false
    // What the last record of a group comes to is seen to once it stands, while the disk works.
    const applyAll = (): void => {
      while (counted.length < placed.length) {
        const record = countedAt(placed[counted.length] as PlacedDraft)
        counted.push(record)
        state = reducer.apply(state, record)
        keys.add(record)
      }
    }
    for (const item of waiting) {
      applyAll()
      const decision = decide(item, state, (key, kind) => keys.get(key, kind) ?? this.#known(item, key, state, kind))
      if (decision.opens !== undefined && !tail.isOpenedFor(decision.opens)) {
        if (planned.length === 0) return { group, planned, placed, counted, keys, state, urgent, opens: decision.opens }
        break
      }
      // What must stand first in a segment does not share a group with what comes before it.
      if (decision.opens !== undefined && placed.length > 0) break
      const body = decision.write === undefined ? undefined : this.#encode(item, decision.write)
      if (body instanceof Error) item.operation.refused?.(body)
      if (body === undefined || body instanceof Error) {
        planned.push({ waiting: item, decision: body === undefined ? decision : { refuse: body }, place: undefined })
        continue
      }
      if (placed.length > 0 && (!group.fits(body) || group.length > this.#limits.groupTargetBytes)) break
      if (placed.length === 0) {
        state = tail.state
        const notice = decision.opens === undefined ? noticeBody(this.#options, tail.notice) : undefined
        if (notice !== undefined) add(notice)
      }
      const place = add(body)
      urgent ||= item.operation.urgent === true
      planned.push({ waiting: item, decision, place })
    }
    const size = group.at + group.length - tail.segment
    const full = size >= Math.max(this.#limits.segmentBytes, this.#limits.segmentPerCheckpoint * tail.checkpointBytes)
    if (full) applyAll()
    if (placed.length > 0 && full && reducer.mayCheckpoint?.(state) !== false) add(sealBody(this.#options, 'size'))
    return { group, planned, placed, counted, keys, state, urgent }
  }

  /** What is known of a key in this incarnation, in the segment that is written to or in those before it. */
  #known(item: PendingOperation<S>, key: KeyHash, state: S, kind?: 'operation'): KeyEntry | undefined {
    const entry = this.#tail.keys.get(key, kind) ?? item.known.get(key)
    // By the state planned so far: an incarnation may begin in this very group.
    return entry !== undefined && entry.at >= this.#options.reducer.keysFrom(state) ? entry : undefined
  }

  /** The body of a record, or why there can be none. */
  #encode(item: PendingOperation<S>, write: NonNullable<Decision<unknown>['write']>): Body | Error {
    const { id = item.id, at = item.at, type, payload, text, hashes, parent } = write
    const draft: Draft = { id, at, type, payload, text, hashes, parent }
    try {
      // A lost race changes what stands at the end of a line, and seldom its payload.
      const same = item.body !== undefined && item.payload === payload && item.body.draft.type === type
      item.body =
        same && item.body !== undefined
          ? { ...item.body, draft: { ...draft, payload: item.body.draft.payload } }
          : encodeBody(draft, this.#options.cipher)
      item.payload = payload
      return item.body
    } catch (error) {
      return error as Error
    }
  }

  #mustLookUp({ operation: { keys }, knownBefore }: PendingOperation<S>): boolean {
    return keys !== undefined && keys.length > 0 && knownBefore !== this.#tail.segment
  }

  /**
   * After a failed sync, carries what can still be read into a new segment at once: other processes may take it for durable. If that
   * fails too, the next operation tries again.
   */
  async #rescue(): Promise<void> {
    try {
      await this.#tail.load()
      await this.#makeWritable(true)
    } catch (error) {
      this.#tail.unload(error)
    }
  }

  /** Carries what somebody whose sync failed may have lost, before it is shown. Where nothing can be written, it is shown all the same. */
  async #help(): Promise<void> {
    try {
      await this.#makeWritable(true)
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
    }
  }

  /** Leaves a segment in which records may be placed: seals one that can no longer be synced, and makes the next where one is sealed. */
  async #makeWritable(urgent: boolean): Promise<void> {
    const tail = this.#tail
    this.#requireKnown()
    for (let rolls = 0; rolls <= this.#limits.races; rolls++) {
      // A checkpoint after a loss would hide it, and the loss may have come to light just now.
      if (tail.loss !== undefined || (tail.writable && !tail.suspect)) return
      if (tail.writable) await this.#seal('sync failed')
      else await tail.roll(urgent)
    }
    throw new HoldfastError('UNAVAILABLE', 'The next segment of this journal could not be made. Run `holdfast doctor`.')
  }

  /** A checkpoint by software that does not know every record would forget what they say. */
  #requireKnown(): void {
    if (this.#options.reducer.mayCheckpoint?.(this.#tail.state) !== false) return
    throw new HoldfastError(
      'UNSUPPORTED_VERSION',
      'A newer Holdfast has written records here whose type this one does not know, so it must not begin a new segment. Use the newer one.',
    )
  }

  /** Tries to place a seal. If another process was first, whoever wanted it decides again whether it still does. */
  async #seal(why: SealReason): Promise<void> {
    const { journal, cipher } = this.#options
    const tail = this.#tail
    const sync = why !== 'sync failed'
    const group = new Group(tail.end, tail.prev)
    const { suspectFrom } = tail
    const ready = cipher?.ready()
    if (ready !== undefined) await ready
    const notice = noticeBody(this.#options, tail.notice)
    if (notice !== undefined) group.add(notice)
    group.add(sealBody(this.#options, why, sync || suspectFrom === undefined ? {} : { from: suspectFrom }))
    const appended = await journal.append(tail.segment, tail.end, group.bytes, { hurry: true, urgent: true, sync })
    if (appended.refusal !== undefined) throw appended.refusal
    if (await tail.pull()) return
    tail.unload()
    await tail.load()
  }
}
