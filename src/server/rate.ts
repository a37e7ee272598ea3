/** How often somebody may come: a bucket of tokens for each, filled at a steady rate. */
import type { Clock } from '../engine/clock.ts'
import { HoldfastError } from '../errors.ts'
import { SERVER_LIMITS } from './limits.ts'

interface Bucket {
  tokens: number
  filledMs: number
}

export class Rate {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #burst: number
  /** In order of use. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
  }

  /** Counts one; RESOURCE_EXHAUSTED if it is one too many. */
  spend(who: string): void {
    const nowMs = this.#clock.monotonicMs()
    let bucket = this.#buckets.get(who)
    if (bucket === undefined) {
      bucket = { tokens: this.#burst, filledMs: nowMs }
      this.#buckets.set(who, bucket)
      if (this.#buckets.size > SERVER_LIMITS.counted) this.#forgetOldest()
    }
    bucket.tokens = this.#filled(bucket)
    bucket.filledMs = nowMs
    if (bucket.tokens < 1) throw tooOften(Math.ceil((1 - bucket.tokens) / this.#perSecond))
    bucket.tokens--
  }

  #filled({ tokens, filledMs }: Bucket): number {
    return Math.min(this.#burst, tokens + ((this.#clock.monotonicMs() - filledMs) / 1000) * this.#perSecond)
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys()
    if (oldest !== undefined) this.#buckets.delete(oldest)
  }
}

function tooOften(retryAfterSeconds: number): HoldfastError {
  return new HoldfastError('RESOURCE_EXHAUSTED', `Too many requests. Come back in ${retryAfterSeconds} s.`, {
    details: { retry_after: retryAfterSeconds },
  })
}
