/**
 * Requests of one key wait for each other, so that those of other keys do not wait for them.
 *
 *   - A key that is alone runs all its requests at once.
 *   - As long as several keys send requests, they share what runs at once. The other requests of a key wait here, oldest first, before their
 *     bodies are read. A connection whose request waits sends no further one, so a key that asks faster than it is served is slowed down.
 *   - A request weighs as much as the bytes that it and its answer have, since the time that it takes grows with them. That is known only when it ends, so
 *     the next requests of a key weigh what its last ones have come to.
 *   - Requests of one key beyond `requestsOfKey` are refused, so that no key takes all the places of the server.
 *
 * A request waits only while others of its key run, and each of those lets the next ones in when it ends.
 */
import type { Clock } from '../engine/clock.ts'
import { HoldfastError } from '../errors.ts'
import { SERVER_LIMITS } from './limits.ts'

interface Line {
  /** The weight of what runs. */
  running: number
  /** The weight of an ordinary request of this key, by those that ended last. */
  usual: number
  requests: number
  usedMs: number
  readonly waiting: { readonly weight: number; readonly begin: () => void }[]
}

/** How long a key counts as one of several after its last request. */
const RECENT_MS = 10_000

/** So many bytes weigh as much as one small request. */
const BYTES_OF_ONE = 64 * 1024
/** How much the last request counts for the usual weight. */
const SHARE_OF_LAST = 0.25

/** What the requests of one key may weigh together, if so many keys send some. */
function shareOfKey(keys: number): number {
  if (keys <= 1) return Number.POSITIVE_INFINITY
  return Math.max(SERVER_LIMITS.runningOfKey, Math.floor(SERVER_LIMITS.runningOfKeys / keys))
}

export class FairQueue {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #shareOf: (keys: number) => number
  /** In order of use. */
  readonly #lines = new Map<string, Line>()

  constructor(clock: Pick<Clock, 'monotonicMs'>, shareOf: (keys: number) => number = shareOfKey) {
    this.#clock = clock
    this.#shareOf = shareOf
  }

  get waiting(): number {
    let count = 0
    for (const { waiting } of this.#lines.values()) count += waiting.length
    return count
  }

  /** The place of one request. `least` is how many small requests it is worth, or more. */
  placeOf(key: string, least = 1): Place {
    const line = this.#lineOf(key)
    if (line.requests >= SERVER_LIMITS.requestsOfKey) throw tooMany()
    const weight = Math.max(least, line.usual)
    return new Place(
      () => this.#enter(line, weight),
      (bytes) => this.#leave(line, weight, bytes),
    )
  }

  #enter(line: Line, weight: number): Promise<void> | undefined {
    line.requests++
    if (line.waiting.length > 0 || !this.#fits(line, weight)) return new Promise((begin) => line.waiting.push({ weight, begin }))
    line.running += weight
    return undefined
  }

  #leave(line: Line, weight: number, bytes: number): void {
    line.requests--
    line.running -= weight
    line.usual += SHARE_OF_LAST * (Math.max(1, bytes / BYTES_OF_ONE) - line.usual)
    for (let next = line.waiting[0]; next !== undefined && this.#fits(line, next.weight); next = line.waiting[0]) {
      line.waiting.shift()
      line.running += next.weight
      next.begin()
    }
  }

  /** One that weighs more than the share of its key runs alone. */
  #fits({ running }: Line, weight: number): boolean {
    return running === 0 || running + weight <= this.#shareOf(this.#lines.size)
  }

  #lineOf(key: string): Line {
    const nowMs = this.#clock.monotonicMs()
    const line = this.#lines.get(key) ?? { running: 0, usual: 1, requests: 0, usedMs: nowMs, waiting: [] }
    line.usedMs = nowMs
    this.#lines.delete(key)
    this.#lines.set(key, line)
    this.#forgetOld(nowMs)
    return line
  }

  #forgetOld(nowMs: number): void {
    for (const [key, { usedMs, requests }] of this.#lines) {
      if (usedMs > nowMs - RECENT_MS) return
      if (requests === 0) this.#lines.delete(key)
    }
  }
}

export class Place {
  readonly #enter: () => Promise<void> | undefined
  readonly #leave: (bytes: number) => void
  #isEntered = false

  constructor(enter: () => Promise<void> | undefined, leave: (bytes: number) => void) {
    this.#enter = enter
    this.#leave = leave
  }

  /** Resolves when the request may run. */
  async enter(): Promise<void> {
    await this.#enter()
    this.#isEntered = true
  }

  /** Lets the next ones in. `bytes`: of the request and of its answer. Nothing happens if it has left. */
  leave(bytes = 0): void {
    if (this.#isEntered) this.#leave(bytes)
    this.#isEntered = false
  }
}

function tooMany(): HoldfastError {
  return new HoldfastError('RESOURCE_EXHAUSTED', `This key has ${SERVER_LIMITS.requestsOfKey} requests in progress. Wait for some of them.`)
}
