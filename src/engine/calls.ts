/** The calls of an engine that are running: closing it waits for them, and later ones are refused. Of too many at once, some wait for others to end. */
import { HoldfastError } from '../errors.ts'

export class Calls {
  #underWay = 0
  #idle: (() => void) | undefined
  #closed = false
  readonly #most: number
  /** Calls that begin when others end. */
  readonly #waiting: (() => void)[] = []

  /** `most`: calls that may run at once. A call must not wait for another one that begins after it. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  get closed(): boolean {
    return this.#closed
  }

  refuseClosed(): void {
    if (this.#closed) throw closed()
  }

  /** Runs at once if not too many run: the first part of an append must not leave the thread. */
  track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closed())
    return this.#underWay < this.#most ? this.#begin(work) : this.#beginLater(work)
  }

  #begin<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++
    const result = work()
    // Beside the caller's way, not in it: every step between the disk and the caller delays an append.
    result.then(this.#ended, this.#ended)
    return result
  }

  #beginLater<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => this.#begin(work).then(resolve, reject))
    })
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
    this.#waiting.shift()?.()
    if (this.#underWay === 0) this.#idle?.()
  }
}

function closed(): HoldfastError {
  return new HoldfastError('CLOSED', 'The store is closed. Open it again.')
}
