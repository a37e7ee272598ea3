/**
 * Following a session: every record that counts, once and in order, as it becomes durable, whichever process wrote it. The engine's
 * hints make it quick; the journal itself is what it reads, so a missing hint costs a little time and nothing else.
 */

import { ChangeWaiter } from '../../engine/change-waiter.ts'
import type { Clock } from '../../engine/clock.ts'
import type { Engine, Journal } from '../../engine/port.ts'
import { lossError } from '../../journal/loss.ts'
import { type Found, Records } from '../../journal/records.ts'
import type { Held } from '../../journal/replicas.ts'
import { scanLines } from '../../journal/scan.ts'
import type { Message } from '../../message/shapes.ts'
import type { DamageReason } from '../../record/damage.ts'
import { reasonOf } from '../../record/damage.ts'
import { type Counted, type Damaged, JournalFold } from '../../record/fold.ts'
import type { JournalRecord, JsonObject } from '../../record/record.ts'
import { type ChangeCursor, parseCursor } from '../../session/change-cursor.ts'
import { type MessagesAppended, messageId } from '../../session/records.ts'
import type { SessionState } from '../../session/state.ts'
import { versionOf } from '../../session/state.ts'
import type { DamagedPlace } from '../damage/damage.ts'
import { isCarried, lostIn } from '../damage/damage-scan.ts'

/** Something that happened to a session. */
export interface Change<M extends object = Message> {
  /** Continues after this change: `follow({ after: cursor })`. Opaque. */
  readonly cursor: string
  /**
   * The type of the record; or `reset`: the cursor no longer fits, and changes were missed, so read the session again; or `damage`:
   * something was written here that cannot be read.
   */
  readonly type: string
  readonly at: string
  readonly version: string
  /** The messages of a `messages.appended`. */
  readonly messages: readonly { readonly id: string; readonly message: M }[]
  /** Of a change of type `damage`: the place. */
  readonly damage: readonly DamagedPlace[]
  /** The record itself, as docs/format.md describes it. */
  readonly record: JournalRecord
}

export interface FollowOptions {
  /** The cursor of the change to continue after. Defaults to now. */
  readonly after?: string
  /** Whether to begin with the first record. Defaults to false. */
  readonly fromStart?: boolean
  /** Ends the iteration. */
  readonly signal?: AbortSignal
}

export async function* follow(
  { engine, clock }: { readonly engine: Engine; readonly clock: Clock },
  held: Held<SessionState>,
  end: Promise<number>,
  options: FollowOptions,
): AsyncGenerator<Change<JsonObject>> {
  const waiter = new ChangeWaiter(engine, clock, options.signal)
  try {
    const reader = new ChangeReader(held, options.after ?? (options.fromStart === true ? 0 : await end))
    while (!waiter.ended) {
      for await (const change of reader.news()) {
        yield change
        if (waiter.ended) return
      }
      await waiter.wait()
    }
  } finally {
    waiter.close()
  }
}

function cursorOf({ at, crc }: Counted): string {
  return `${at}-${crc}`
}

/** Reads what is new since the last time. Keeps its own fold; the replica only carries what a failed sync may have lost. */
export class ChangeReader {
  readonly #journal: Journal
  readonly #replica: Held<SessionState>['replica']
  #fold: JournalFold | undefined
  #next = 0
  #cursor: ChangeCursor
  /** The opening of a segment that was found to belong to this session. */
  #opened: number | undefined
  /** Up to here, messages that others may follow were shown, or reported as lost. */
  #accounted: number
  /** Where the journal begins. What was before it was purged. */
  #first = 0
  /** Where bytes have vanished, if that was reported. */
  #vanished: number | undefined

  /** `behind`: the cursor of a change, or the position with which to begin. INVALID_ARGUMENT if it is no cursor of ours. */
  constructor({ journal, replica }: Held<SessionState>, behind: string | number) {
    this.#journal = journal
    this.#replica = replica
    this.#cursor = typeof behind === 'string' ? parseCursor(behind) : { position: behind - 1, crc: '' }
    this.#accounted = this.#cursor.position
  }

  async *news(): AsyncGenerator<Change<JsonObject>> {
    const segments = await this.#journal.segments()
    let index = this.#indexOf(segments)
    if (index === -1) return this.#requireNoLoss()
    this.#first = segments[0] as number
    let anew = this.#fold?.segment !== segments[index]
    if (anew) {
      const fits = await this.#fits(segments, index)
      if (!fits) yield this.#reset(segments[index] as number)
      this.#begin(segments[index] as number, segments[index + 1])
    }
    for (;;) {
      const next = segments[++index]
      // Lines that a later segment carries come in their place: what stands behind them here may have been kept.
      const mayBeCarried = anew || next !== undefined
      yield* this.#readSegment(mayBeCarried ? await new Records(this.#journal).carried((this.#fold as JournalFold).segment) : [])
      if (next === undefined) return yield* this.#tellVanished()
      const missing = this.#fold?.missing(this.#next)
      if (missing !== undefined && (await this.#isLost(missing.at))) yield* this.#tellDamage(missing, [])
      anew = false
      this.#fold?.enter(next, segments[index + 1] ?? Number.POSITIVE_INFINITY)
      this.#next = next
    }
  }

  /** A journal of which nothing is there, although something was, will bring no news. */
  async #requireNoLoss(): Promise<void> {
    const vanished = await this.#journal.vanished?.()
    if (vanished !== undefined) throw lossError({ ...vanished, as: 'vanished' })
  }

  #indexOf(segments: readonly number[]): number {
    const current = this.#fold?.segment
    if (current !== undefined) {
      const index = segments.indexOf(current)
      if (index !== -1) return index
      // It was purged while it was followed; all of it had been read, or a reset tells.
      this.#fold = undefined
    }
    return Math.max(
      segments.findLastIndex((first) => first <= this.#cursor.position),
      segments.length === 0 ? -1 : 0,
    )
  }

  #begin(segment: number, successor: number | undefined): void {
    this.#fold = new JournalFold(segment, successor ?? Number.POSITIVE_INFINITY)
    this.#next = segment
  }

  /** Whether the record of the cursor stands where it says. */
  async #fits(segments: readonly number[], index: number): Promise<boolean> {
    const segment = segments[index] as number
    // From the start: that is the first record there is. Otherwise what lies between was purged, unless nothing lies between.
    if (this.#cursor.crc === '') return this.#cursor.position >= segment - 1 || this.#cursor.position === -1
    if (this.#cursor.position < segment) return false
    const carried = await new Records(this.#journal).carried(segment)
    if (carried.some(({ at, crc }) => at === this.#cursor.position && crc === this.#cursor.crc)) return true
    const fold = new JournalFold(segment, segments[index + 1] ?? Number.POSITIVE_INFINITY)
    for await (const line of scanLines(this.#journal, segment)) {
      const verdict = fold.judge(line)
      if (verdict.kind === 'counted' && verdict.at === this.#cursor.position) return verdict.crc === this.#cursor.crc
    }
    return false
  }

  async *#readSegment(carried: readonly Found[]): AsyncGenerator<Change<JsonObject>> {
    const fold = this.#fold as JournalFold
    let waiting = carried.map((found): Counted => ({ ...found, kind: 'counted', carried: true }))
    for (;;) {
      const chunk = await this.#journal.read(fold.segment, this.#next)
      if (chunk === undefined) break
      if (chunk.opened !== this.#opened) {
        await this.#checkIdentity(chunk.opened)
        // It was read before the check: the file may have been another session's, and moved back since.
        continue
      }
      if (chunk.next === this.#next) break
      await this.#journal.sync(fold.segment).catch((error: unknown) => this.#replica.recoverFrom(error))
      const verdicts = chunk.lines.map((line) => fold.judge(line))
      // What its seal says may not be on the disk is carried before it is shown.
      if (fold.seal?.from !== undefined) await this.#replica.read()
      for (const verdict of verdicts) {
        if (verdict.kind === 'damage') yield* this.#tellDamage(verdict, waiting)
        if (verdict.kind !== 'counted') continue
        yield* this.#tell([...waiting.filter(({ at }) => at < verdict.at), verdict])
        waiting = waiting.filter(({ at }) => at > verdict.at)
      }
      this.#next = chunk.next
    }
    yield* this.#tell(waiting)
  }

  /** Another file may be in the place of this one: what it holds belongs to another session, and is shown to no one here. */
  async #checkIdentity(opened: number): Promise<void> {
    await this.#replica.read()
    const { loss } = this.#replica
    if (loss?.as === 'identity') throw lossError(loss)
    this.#opened = opened
  }

  *#tell(counted: readonly Counted[]): Generator<Change<JsonObject>> {
    for (const one of counted) {
      if (one.at <= this.#cursor.position) continue
      if (one.record.type === 'messages.appended') {
        const [parent] = one.record.parent ?? []
        if (parent !== undefined && parent > this.#accounted && parent >= this.#first) yield this.#damage(parent, 'missing')
        this.#accounted = one.at
      }
      this.#cursor = { position: one.at, crc: one.crc }
      if (one.record.type !== 'segment.sealed') yield changeOf(one)
    }
  }

  /** Whether records were lost there: it may never have held any, or only one of two copies. The records around it show that. */
  async #isLost(at: number): Promise<boolean> {
    const from = Math.max((this.#fold?.segment ?? 0) - 1, 0)
    return (await lostIn(this.#journal, { from })).some(({ position, to }) => position === at || (position < at && at < to))
  }

  /** A line that cannot be read, unless a writer left it half-written, or a later segment carries it. */
  async *#tellDamage({ at, length, as }: Damaged, carried: readonly { readonly at: number }[]): AsyncGenerator<Change<JsonObject>> {
    const lost = { position: at, to: at + length, reason: reasonOf(as) }
    if (as === 'torn' || at <= this.#cursor.position || isCarried(lost, carried)) return
    if (!(await this.#isLost(at))) return
    this.#cursor = { position: at, crc: '' }
    this.#accounted = at + length
    yield this.#damage(at, lost.reason)
  }

  /** Bytes at the end that are no longer there: once, until they were restored. */
  async *#tellVanished(): AsyncGenerator<Change<JsonObject>> {
    const mayHave = this.#journal.mayHaveVanished?.((this.#fold as JournalFold).segment) === true
    const from = mayHave ? (await this.#journal.vanished?.())?.from : this.#replica.loss?.from
    if (from !== undefined && from !== this.#vanished) yield this.#damage(from, 'vanished')
    this.#vanished = from
  }

  #damage(position: number, reason: DamageReason): Change<JsonObject> {
    const place: DamagedPlace = { position, count: null, reason }
    const record: JournalRecord = { v: 1, id: '', at: '', type: 'damage', prev: '', ...place }
    const cursor = `${this.#cursor.position + 1}-reset`
    return { cursor, type: 'damage', at: '', version: '', messages: [], damage: [place], record }
  }

  #reset(segment: number): Change<JsonObject> {
    const record: JournalRecord = { v: 1, id: '', at: '', type: 'reset', prev: '' }
    this.#cursor = { position: segment - 1, crc: '' }
    return { cursor: `${segment}-reset`, type: 'reset', at: '', version: '', messages: [], damage: [], record }
  }
}

function changeOf(counted: Counted): Change<JsonObject> {
  const { record } = counted
  const appended = record.type === 'messages.appended' ? (record as unknown as MessagesAppended) : undefined
  const messages = appended?.messages.map((message, index) => ({
    id: messageId(record.id, appended.ids, index),
    message: message as JsonObject,
  }))
  return {
    cursor: cursorOf(counted),
    type: record.type,
    at: record.at,
    version: versionOf(counted),
    messages: messages ?? [],
    damage: [],
    record,
  }
}
