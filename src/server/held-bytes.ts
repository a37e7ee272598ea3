/**
 * The bytes of requests and answers that a server holds in memory: bodies that arrive, and answers that their clients have not read yet. Both the key
 * that caused them and all keys together have a limit. What exceeds it is refused, so that slow clients cannot use up the memory of the process.
 */
import { HoldfastError } from '../errors.ts'

export interface HeldBytesLimits {
  readonly total: number
  readonly ofKey: number
}

export class HeldBytes {
  readonly #limits: HeldBytesLimits
  readonly #byKey = new Map<string, number>()
  #total = 0

  constructor(limits: HeldBytesLimits) {
    this.#limits = limits
  }

  get total(): number {
    return this.#total
  }

  /** What one request of a key holds. */
  of(key: string): Holding {
    return new Holding((bytes) => this.#add(key, bytes))
  }

  #add(key: string, bytes: number): void {
    const held = (this.#byKey.get(key) ?? 0) + bytes
    if (bytes > 0 && held > this.#limits.ofKey) throw exhausted('The requests of this key hold', this.#limits.ofKey)
    if (bytes > 0 && this.#total + bytes > this.#limits.total) throw exhausted('All requests together hold', this.#limits.total)
    this.#total += bytes
    if (held > 0) this.#byKey.set(key, held)
    else this.#byKey.delete(key)
  }
}

export class Holding {
  readonly #add: (bytes: number) => void
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  constructor(add: (bytes: number) => void) {
    this.#add = add
  }

  /** RESOURCE_EXHAUSTED if the limit would be exceeded; then nothing is added. */
  add(bytes: number): void {
    this.#add(bytes)
    this.#bytes += bytes
  }

  end(): void {
    this.#add(-this.#bytes)
    this.#bytes = 0
  }
}

function exhausted(what: string, limit: number): HoldfastError {
  const mebibytes = Math.round(limit / 1024 / 1024)
  return new HoldfastError(
    'RESOURCE_EXHAUSTED',
    `${what} more than ${mebibytes} MiB in memory. Send fewer large requests at once, and read their answers.`,
    { details: { limit } },
  )
}
