/**
 * The tasks that a worker holds: shows for each of them that the worker lives, and ends an attempt that takes too long, whose lease is lost, or
 * whose worker is stopped. One timer does for all: each lasts as long as the others, so whatever begins later is due later.
 */
import type { Clock } from '../engine/clock.ts'
import { HoldfastError } from '../errors.ts'

export interface HeldLease {
  /** Aborted when the attempt has to end. */
  readonly signal: AbortSignal
  /** It has ended because it took too long. */
  readonly late: boolean
  /** The attempt is over. */
  release(): void
}

interface Held {
  readonly over: AbortController
  /** By the monotonic clock. */
  renewMs: number
  readonly endMs: number
  readonly renew: () => Promise<unknown>
  late: boolean
}

interface LeasesOptions {
  readonly clock: Clock
  /** How long a task is held without a sign of life. */
  readonly leaseMs: number
  /** How long one attempt may take. */
  readonly attemptMs: number
}

/** Reasons at hand: without one, an error is made each time, with its trace. */
const STOPPED = 'The worker was stopped.'
const LATE = 'The attempt took too long.'
const RESTING = 'Nothing is held.'
const LOST = 'The lease was lost.'

export class Leases {
  readonly #options: LeasesOptions
  readonly #held = new Set<Held>()
  #tending: AbortController | undefined
  #stopped = false

  constructor(options: LeasesOptions) {
    this.#options = options
  }

  hold(renew: () => Promise<unknown>): HeldLease {
    const { clock, leaseMs, attemptMs } = this.#options
    const now = clock.monotonicMs()
    const held: Held = { over: new AbortController(), renewMs: now + leaseMs / 3, endMs: now + attemptMs, renew, late: false }
    this.#held.add(held)
    if (this.#stopped) held.over.abort(STOPPED)
    if (this.#tending === undefined) void this.#tend()
    return {
      signal: held.over.signal,
      get late() {
        return held.late
      },
      release: () => {
        this.#held.delete(held)
      },
    }
  }

  /** Ends every attempt, also those that begin later. */
  stop(): void {
    this.#stopped = true
    for (const { over } of this.#held) over.abort(STOPPED)
  }

  /** Nothing is held any more, nor will be soon: keeps no process alive. */
  rest(): void {
    this.#tending?.abort(RESTING)
    this.#tending = undefined
  }

  /** Also while nothing is held for a moment: in a busy worker, something is again in the next. */
  async #tend(): Promise<void> {
    const { clock, leaseMs } = this.#options
    const tending = new AbortController()
    this.#tending = tending
    while (this.#held.size > 0) {
      let next = Number.POSITIVE_INFINITY
      for (const { renewMs, endMs } of this.#held) next = Math.min(next, renewMs, endMs)
      await clock.sleep(Math.max(0, next - clock.monotonicMs()), tending.signal)
      if (tending.signal.aborted) return
      const now = clock.monotonicMs()
      for (const held of this.#held) {
        if (held.endMs <= now) {
          held.late = true
          this.#held.delete(held)
          held.over.abort(LATE)
        } else if (held.renewMs <= now) {
          held.renewMs = now + leaseMs / 3
          this.#renew(held)
        }
      }
    }
    this.#tending = undefined
  }

  /** If the lease is lost, so is the attempt; if the store fails, it is tried again the next time. */
  #renew({ renew, over }: Held): void {
    renew().catch((error: unknown) => {
      if (error instanceof HoldfastError && error.retryable) return
      over.abort(LOST)
    })
  }
}
