/** Waiting for other processes: the engine's hints make it quick, and a slow poll behind them makes up for those that are missing. */
import type { Clock } from './clock.ts'
import type { Engine } from './port.ts'

/** Without a hint, look this often. */
const POLL_MS = 1000

/** Sleeps until something may have changed. */
export class ChangeWaiter {
  readonly #clock: Clock
  readonly #signal: AbortSignal | undefined
  readonly #stop: () => void
  /** A timer that is left behind would keep the program running. */
  readonly #closing = new AbortController()
  #hinted = false
  #wake: (() => void) | undefined
  #sleep: Promise<void> | undefined

  constructor(engine: Engine, clock: Clock, signal: AbortSignal | undefined) {
    this.#clock = clock
    this.#signal = signal
    this.#stop = engine.watch(() => this.#hint())
    signal?.addEventListener('abort', this.#hint)
  }

  get ended(): boolean {
    return this.#signal?.aborted === true
  }

  /** Waits for a hint, or so long at most. */
  async wait(mostMs = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#hinted && !this.ended) {
      const hint = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      // One timer at a time, however many hints come.
      this.#sleep ??= this.#clock.sleep(POLL_MS, this.#closing.signal).then(() => {
        this.#sleep = undefined
      })
      const sooner = mostMs < POLL_MS ? [this.#clock.sleep(mostMs, this.#closing.signal)] : []
      await Promise.race([hint, this.#sleep, ...sooner])
    }
    this.#hinted = false
  }

  /** As if a hint had come. */
  wake(): void {
    this.#hint()
  }

  close(): void {
    this.#closing.abort()
    this.#stop()
    this.#signal?.removeEventListener('abort', this.#hint)
  }

  readonly #hint = (): void => {
    this.#hinted = true
    this.#wake?.()
  }
}
