/** Time, injected so that tests own it. Wall clocks date records and decide nothing; waiting is measured on the monotonic one. */
export interface Clock {
  /** Milliseconds since 1970. May jump in both directions. */
  now(): number
  /** Milliseconds from some fixed moment; never goes back. */
  monotonicMs(): number
  /** Resolves after about this long. */
  sleep(ms: number): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}
