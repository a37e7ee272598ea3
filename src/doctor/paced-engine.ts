/**
 * An engine whose reads let other work of the process go on. Reading small journals waits for nothing: without a pause, no signal would be noticed
 * and no request answered until the last one was read.
 */
import type { Clock } from '../engine/clock.ts'
import { EngineWrapper } from '../engine/engine-wrapper.ts'
import { JournalWrapper } from '../engine/journal-wrapper.ts'
import type { Chunk, Engine, Journal } from '../engine/port.ts'

/** So long one turn of the event loop may last. */
const TURN_MS = 20

export class PacedEngine extends EngineWrapper {
  readonly #clock: Clock
  readonly #signal: AbortSignal | undefined
  #turnAt: number

  constructor(inner: Engine, clock: Clock, signal: AbortSignal | undefined) {
    super(inner)
    this.#clock = clock
    this.#signal = signal
    this.#turnAt = clock.monotonicMs()
  }

  override journal(name: string): Journal {
    return new PacedJournal(this.inner.journal(name), () => this.pause())
  }

  /** Ends the turn if it has lasted long enough. Throws if the signal is aborted. Undefined if there is nothing to wait for. */
  pause(): Promise<void> | undefined {
    this.#signal?.throwIfAborted()
    if (this.#clock.monotonicMs() - this.#turnAt < TURN_MS) return undefined
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#turnAt = this.#clock.monotonicMs()
        if (this.#signal?.aborted === true) reject(this.#signal.reason as Error)
        else resolve()
      })
    })
  }
}

class PacedJournal extends JournalWrapper {
  readonly #pause: () => Promise<void> | undefined

  constructor(inner: Journal, pause: () => Promise<void> | undefined) {
    super(inner)
    this.#pause = pause
  }

  override async read(segment: number, from: number, limit?: number): Promise<Chunk | undefined> {
    const paused = this.#pause()
    if (paused !== undefined) await paused
    return this.inner.read(segment, from, limit)
  }
}
