/**
 * The breaker: one for the provider, not for a task. While it is open nothing is asked of the provider, and no attempt is spent; then one
 * task is let through to see.
 *
 *     closed ──the provider is unavailable──▶ open ──after a while──▶ probing ──a success──▶ closed
 *                                              ▲──────────failure────────┘
 */
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'

export interface BreakerStatus {
  readonly state: 'closed' | 'open' | 'probing'
  /** How long until somebody is let through. */
  readonly retryInMs: number
  readonly failures: number
}

const FIRST_MS = 1000
const LONGEST_MS = 120_000

export class Breaker {
  readonly #clock: Clock
  readonly #ids: Ids
  #failures = 0
  #openUntilMs = 0

  constructor({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }) {
    this.#clock = clock
    this.#ids = ids
  }

  get status(): BreakerStatus {
    const retryInMs = Math.max(0, this.#openUntilMs - this.#clock.monotonicMs())
    if (this.#failures === 0) return { state: 'closed', retryInMs: 0, failures: 0 }
    return { state: retryInMs > 0 ? 'open' : 'probing', retryInMs, failures: this.#failures }
  }

  /** Whether another task may begin while so many are running. */
  mayPass(running: number): boolean {
    const { state } = this.status
    return state === 'closed' || (state === 'probing' && running === 0)
  }

  succeeded(): void {
    this.#failures = 0
  }

  failed(retryAfterMs: number | undefined): void {
    this.#failures++
    const backOffMs = Math.min(FIRST_MS * 2 ** (this.#failures - 1), LONGEST_MS) * (0.5 + this.#ids.random() / 2)
    this.#openUntilMs = Math.max(this.#openUntilMs, this.#clock.monotonicMs() + (retryAfterMs ?? backOffMs))
  }
}
