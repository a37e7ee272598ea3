/**
 * How late the event loop is, seen by a timer of one millisecond. Stricter than `monitorEventLoopDelay`, which counts a stall of 100 ms
 * as one sample among thousands: here it counts as what a hundred timers would have seen, one for each millisecond of it.
 */
export class EventLoopDelay {
  readonly #samples: number[] = []
  #last = performance.now()
  #timer: NodeJS.Timeout | undefined

  start(): void {
    this.#last = performance.now()
    this.#timer = setTimeout(this.#tick, 1)
  }

  /** Delays in milliseconds. */
  stop(): readonly number[] {
    clearTimeout(this.#timer)
    return this.#samples
  }

  readonly #tick = (): void => {
    const now = performance.now()
    for (let late = now - this.#last - 1; late > 0; late--) this.#samples.push(late)
    this.#last = now
    this.#timer = setTimeout(this.#tick, 1)
  }
}
