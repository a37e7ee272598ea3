/** Time, injected so that tests own it. Wall clocks date records and decide nothing; waiting is measured on the monotonic one. */
export interface Clock {
  /** Milliseconds since 1970. May jump in both directions. */
  now(): number
  /** Milliseconds from some fixed moment; never goes back. */
  monotonicMs(): number
  /** Resolves after about this long, or soon after it was told to end. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

let lastNow = Number.NaN
let lastText = ''

/** A moment as records write it. Many of them fall into one millisecond. */
export function isoTime(now: number): string {
  if (now !== lastNow) {
    lastText = new Date(now).toISOString()
    lastNow = now
  }
  return lastText
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal?.addEventListener('abort', end)
    }),
}
