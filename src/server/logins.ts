/** The ready link: a code that works once, for a while, and becomes a cookie. Only a digest of it is kept, and only in memory. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { KeyRecord } from './api-keys.ts'

/** Long enough to find the terminal's window, and to start a browser. */
const GOOD_MS = 3_600_000

export class Logins {
  readonly #clock: Clock
  readonly #ids: Ids
  #waiting: { readonly digest: Buffer; readonly record: KeyRecord; readonly untilMs: number } | undefined

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock
    this.#ids = ids
  }

  /** A code for whoever is to have what the key opens. One from before is no longer good. */
  make(record: KeyRecord): string {
    const code = this.#ids.hex(64)
    this.#waiting = { digest: digestOf(code), record, untilMs: this.#clock.monotonicMs() + GOOD_MS }
    return code
  }

  /** The key that the code stands for, the first time. */
  use(code: string): KeyRecord | undefined {
    const waiting = this.#waiting
    if (waiting === undefined || !timingSafeEqual(waiting.digest, digestOf(code))) return undefined
    this.#waiting = undefined
    return waiting.untilMs > this.#clock.monotonicMs() ? waiting.record : undefined
  }
}

function digestOf(code: string): Buffer {
  return hash('sha256', code, 'buffer')
}
