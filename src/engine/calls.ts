/** The calls of an engine that are under way: closing it waits for them, and later ones are refused. */
import { HoldfastError } from '../errors.ts'

export class Calls {
  #underWay = 0
  #idle: (() => void) | undefined
  #closed = false

  get closed(): boolean {
    return this.#closed
  }

  refuseClosed(): void {
    if (this.#closed) throw closed()
  }

  /** Runs at once: the first part of an append must not leave the thread. */
  track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closed())
    this.#underWay++
    const result = work()
    // Beside the caller's way, not in it: every step between the disk and the caller delays an append.
    result.then(this.#ended, this.#ended)
    return result
  }

  /** Refuses from now on, and waits until nothing is under way. */
  async close(): Promise<void> {
    this.#closed = true
    while (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
  }

  readonly #ended = (): void => {
    this.#underWay--
    if (this.#underWay === 0) this.#idle?.()
  }
}

function closed(): HoldfastError {
  return new HoldfastError('CLOSED', 'The store is closed. Open it again.')
}
