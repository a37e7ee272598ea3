/**
 * Leaves a journal that records can be placed in, whatever an earlier process left: a segment that was begun and never finished, a seal without a
 * next segment, or lines whose sync failed. Each step can be repeated, so a process that dies in here leaves its work to the next one.
 */
import { HoldfastError } from '../errors.ts'
import type { Limits } from '../record/limits.ts'
import { Group } from '../record/line.ts'
import type { SealReason } from '../record/record.ts'
import type { Reducer } from './reducer.ts'
import type { Tail } from './tail.ts'
import { noticeBody, sealBody, type Writer } from './writer-records.ts'

export interface RecoveryOptions<S> extends Writer {
  readonly reducer: Reducer<S>
  readonly limits: Pick<Limits, 'races'>
}

export class Recovery<S> {
  readonly #options: RecoveryOptions<S>
  readonly #tail: Tail<S>

  constructor(options: RecoveryOptions<S>, tail: Tail<S>) {
    this.#options = options
    this.#tail = tail
  }

  /** Leaves a segment in which records may be placed: seals one that can no longer be synced, and makes the next one after a seal. */
  async recover(urgent: boolean): Promise<void> {
    const tail = this.#tail
    this.requireKnown()
    for (let rolls = 0; rolls <= this.#options.limits.races; rolls++) {
      // A checkpoint after a loss would hide it, and the loss may have come to light just now.
      if (tail.loss !== undefined || (tail.writable && !tail.suspect)) return
      if (tail.writable) await this.seal('sync failed')
      else await tail.roll(urgent)
    }
    throw new HoldfastError('UNAVAILABLE', 'The next segment of this journal could not be made. Run `holdfast doctor`.')
  }

  /**
   * After a failed sync, carries all lines that can still be read into a new segment at once: other processes may take them for durable. If that
   * fails too, the next operation tries again.
   */
  async afterFailedSync(): Promise<void> {
    try {
      await this.#tail.load()
      await this.recover(true)
    } catch (error) {
      this.#tail.unload(error)
    }
  }

  /** Carries lines that another process may have lost by a failed sync, before a caller sees them. If nothing can be written, callers see them anyway. */
  async beforeRead(): Promise<void> {
    try {
      await this.recover(true)
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
    }
  }

  /** A checkpoint by software that does not know every record would forget what they say. */
  requireKnown(): void {
    if (this.#options.reducer.mayCheckpoint?.(this.#tail.state) !== false) return
    throw new HoldfastError(
      'UNSUPPORTED_VERSION',
      'A newer Holdfast has written records here whose type this one does not know, so it must not begin a new segment. Use the newer one.',
    )
  }

  /** Tries to place a seal. If another process was first, the caller decides again whether it still wants one. */
  async seal(why: SealReason): Promise<void> {
    const { journal, cipher } = this.#options
    const tail = this.#tail
    const sync = why !== 'sync failed'
    const group = new Group(tail.end, tail.prev)
    const { carryFrom } = tail
    const ready = cipher?.ready()
    if (ready !== undefined) await ready
    const notice = noticeBody(this.#options, tail.notice)
    if (notice !== undefined) group.add(notice)
    group.add(sealBody(this.#options, why, sync || carryFrom === undefined ? {} : { from: carryFrom }))
    const appended = await journal.append(tail.segment, tail.end, group.bytes, { hurry: true, urgent: true, sync })
    if (appended.refusal !== undefined) throw appended.refusal
    if (await tail.pull()) return
    tail.unload()
    await tail.load()
  }
}
