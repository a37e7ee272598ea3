/**
 * Plans what one write holds: decides each pending operation on the state plus the operations before it, and stamps the records for the byte where
 * the journal ends. It awaits nothing and changes nothing but the operations' own caches, so a plan that lost a race is simply made again.
 */
import { isoTime } from '../engine/clock.ts'
import type { StoreTime } from '../engine/store-time.ts'
import { type Counted, countedAt, type PlacedDraft } from '../record/fold.ts'
import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import type { Limits } from '../record/limits.ts'
import { type Body, encodeBody, Group, type LinePlace } from '../record/line.ts'
import type { Decision } from '../record/operation.ts'
import type { Draft, SealReason } from '../record/record.ts'
import { decide, type PendingOperation, type Plan, type Planned } from './pending-operation.ts'
import type { Reducer } from './reducer.ts'
import { SegmentKeys } from './segment-keys.ts'
import { noticeBody, type RecordMaker, sealBody, withNotice } from './writer-records.ts'

/** The end of the journal that a plan starts from. */
export interface PlanBase<S> {
  readonly segment: number
  readonly end: number
  /** The checksum of the record that the next one follows. */
  readonly prev: string
  readonly state: S
  /** Losses that no record names yet. */
  readonly notice: Pick<Draft, 'type' | 'payload'> | undefined
  readonly keys: Pick<SegmentKeys, 'get'>
  readonly checkpointBytes: number
  isOpenedFor(why: SealReason): boolean
}

export interface PlanOptions<S> extends RecordMaker {
  readonly time?: StoreTime | undefined
  readonly reducer: Reducer<S>
  readonly limits: Pick<Limits, 'segmentBytes' | 'segmentPerCheckpoint' | 'groupTargetBytes'>
}

export function planGroup<S>(options: PlanOptions<S>, base: PlanBase<S>, pending: readonly PendingOperation<S>[]): Plan<S> {
  return new Planner(options, base).plan(pending)
}

class Planner<S> {
  readonly #options: PlanOptions<S>
  readonly #base: PlanBase<S>
  readonly #group: Group
  readonly #planned: Planned<S>[] = []
  readonly #placed: PlacedDraft[] = []
  /** Those of `#placed` that are in the state and the keys already. */
  readonly #counted: Counted[] = []
  readonly #keys: SegmentKeys
  #state: S
  #urgent = false

  constructor(options: PlanOptions<S>, base: PlanBase<S>) {
    this.#options = options
    this.#base = base
    this.#group = new Group(base.end, base.prev)
    this.#keys = new SegmentKeys(options.reducer)
    this.#state = withNotice(options.reducer, base.state, base.notice, base.end)
  }

  plan(pending: readonly PendingOperation<S>[]): Plan<S> {
    for (const item of pending) {
      this.#applyPlaced()
      const decision = decide(item, this.#state, (key, kind) => this.#keys.get(key, kind) ?? this.#known(item, key, kind))
      if (decision.opens !== undefined && !this.#base.isOpenedFor(decision.opens)) {
        if (this.#planned.length === 0) return this.#result(decision.opens)
        break
      }
      // A record that must be first in a segment does not share a group with records before it.
      if (decision.opens !== undefined && this.#placed.length > 0) break
      if (!this.#take(item, decision)) break
    }
    this.#sealIfFull()
    return this.#result()
  }

  /** False if its record belongs into a later group. */
  #take(item: PendingOperation<S>, decision: Decision<unknown>): boolean {
    const body = decision.write === undefined ? undefined : this.#encode(item, decision.write)
    if (body instanceof Error) item.operation.refused?.(body)
    if (body === undefined || body instanceof Error) {
      this.#planned.push({ waiting: item, decision: body === undefined ? decision : { refuse: body }, place: undefined })
      return true
    }
    if (this.#placed.length === 0) this.#begin(decision.opens)
    else if (!this.#group.fits(body) || this.#group.length > this.#options.limits.groupTargetBytes) return false
    this.#planned.push({ waiting: item, decision, place: this.#add(body) })
    this.#urgent ||= item.operation.urgent === true
    return true
  }

  /** The first record of a group follows a record of the losses that no record names yet; not if it must be first in its segment. */
  #begin(opens: SealReason | undefined): void {
    this.#state = this.#base.state
    const notice = opens === undefined ? noticeBody(this.#options, this.#base.notice) : undefined
    if (notice !== undefined) this.#add(notice)
  }

  #add(body: Body): LinePlace {
    const { prev } = this.#group
    const place = this.#group.add(body)
    this.#placed.push({ draft: body.draft, place, prev })
    return place
  }

  /** Not called for the last record of a group: that one is applied once the group is written, while the disk works. */
  #applyPlaced(): void {
    while (this.#counted.length < this.#placed.length) {
      const record = countedAt(this.#placed[this.#counted.length] as PlacedDraft)
      this.#counted.push(record)
      this.#state = this.#options.reducer.apply(this.#state, record)
      this.#keys.add(record)
    }
  }

  /** What is known of a key in this incarnation, in the segment that is written to or in those before it. */
  #known(item: PendingOperation<S>, key: KeyHash, kind?: 'operation'): KeyEntry | undefined {
    const entry = this.#base.keys.get(key, kind) ?? item.known.get(key)
    // By the state planned so far: an incarnation may begin in this very group.
    return entry !== undefined && entry.at >= this.#options.reducer.keysFrom(this.#state) ? entry : undefined
  }

  /** The body of a record, or why there can be none. */
  #encode(item: PendingOperation<S>, write: NonNullable<Decision<unknown>['write']>): Body | Error {
    const { id = item.id, type, payload, text, hashes, parent } = write
    // A lost race changes the end of a line, and seldom its payload.
    const same = item.body !== undefined && item.payload === payload && item.body.draft.type === type ? item.body : undefined
    const { at, order } = same?.draft ?? this.#timesOf(write.at)
    const draft: Draft = { id, at, order, type, payload, text, hashes, parent }
    try {
      item.body =
        same === undefined ? encodeBody(draft, this.#options.cipher) : { ...same, draft: { ...draft, payload: same.draft.payload } }
      item.payload = payload
      return item.body
    } catch (error) {
      return error as Error
    }
  }

  /**
   * The time is that of the decision, not that of the call: operations of other sessions may have been decided in between. What is imported keeps the time
   * that it has in its source, and does not come after what happens later.
   */
  #timesOf(imported: string | undefined): Pick<Draft, 'at' | 'order'> {
    const { time, clock } = this.#options
    const now = clock.now()
    if (imported !== undefined) {
      const latest = isoTime(Math.max(now, time?.last ?? now))
      return { at: imported < latest ? imported : latest, order: undefined }
    }
    const order = time?.next(now) ?? now
    return { at: isoTime(now), order: order > now ? isoTime(order) : undefined }
  }

  #sealIfFull(): void {
    const { segmentBytes, segmentPerCheckpoint } = this.#options.limits
    const size = this.#group.at + this.#group.length - this.#base.segment
    if (this.#placed.length === 0 || size < Math.max(segmentBytes, segmentPerCheckpoint * this.#base.checkpointBytes)) return
    this.#applyPlaced()
    if (this.#options.reducer.mayCheckpoint?.(this.#state) !== false) this.#add(sealBody(this.#options, 'size'))
  }

  #result(opens?: SealReason): Plan<S> {
    // Not spread: that alone took a twentieth of an append.
    return {
      group: this.#group,
      planned: this.#planned,
      placed: this.#placed,
      counted: this.#counted,
      keys: this.#keys,
      state: this.#state,
      urgent: this.#urgent,
      opens,
    }
  }
}
