/**
 * The time by which a store orders its changes. It is the wall clock, except after the clock was set back: then each change comes one millisecond
 * after the last one that any process of the store announced, until the clock has caught up (docs/decisions/0022).
 */
import type { Engine } from './port.ts'

export class StoreTime {
  readonly #engine: Pick<Engine, 'latest'>
  #last = 0

  constructor(engine: Pick<Engine, 'latest'>) {
    this.#engine = engine
  }

  /** The time of the last change that this process knows, in milliseconds since 1970. */
  get last(): number {
    return this.#last
  }

  /** Learns the time of the last change that was acknowledged before this call. Undefined if there is nothing to wait for. */
  catchUp(): Promise<void> | undefined {
    const latest = this.#engine.latest?.() ?? 0
    if (typeof latest !== 'number') return latest.then((time) => this.#learn(time))
    this.#learn(latest)
    return undefined
  }

  /** The time of a change that is made now: not before any other change. */
  next(now: number): number {
    this.#last = now >= this.#last ? now : this.#last + 1
    return this.#last
  }

  #learn(time: number): void {
    if (time > this.#last) this.#last = time
  }
}
