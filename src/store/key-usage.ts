/**
 * What each key of a server has added since it has a quota, since no journal tells with which key something was written. Counted in this process, and added up
 * in the store's own space when the key comes again after some seconds and when the store is closed, so that other servers know of it and the next one goes on
 * from there. A process that dies takes what it let in since with it; what was let in and then refused, or had been written before, counts too.
 */
import { HoldfastError } from '../errors.ts'
import { putEntries, readEntry } from './entries.ts'
import { Handle } from './handle.ts'
import { STORE_SPACE, type StoreParts } from './parts.ts'

export interface Added {
  readonly sessions: number
  readonly bytes: number
}

const SESSION = 'quota-usage'
const CHANNEL = 'added'
/** Every time costs a record. */
const SETTLE_MS = 10_000
const TRIES = 20
const NONE: Added = { sessions: 0, bytes: 0 }

interface Known {
  readonly stored: Added
  /** Not yet in the store. */
  readonly since: Added
  readonly atMs: number
}

export class KeyUsage {
  readonly #parts: StoreParts
  readonly #known = new Map<string, Known>()

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async of(key: string): Promise<Added> {
    const known = this.#known.get(key)
    const isFresh = known !== undefined && this.#parts.clock.monotonicMs() - known.atMs < SETTLE_MS
    const { stored, since } = isFresh ? known : await this.#settle(key)
    return sum(stored, since)
  }

  /** Of a key whose usage was asked for. */
  add(key: string, added: Added): void {
    const known = this.#known.get(key)
    if (known !== undefined) this.#known.set(key, { ...known, since: sum(known.since, added) })
  }

  /** Nothing was added by it so far. */
  async forget(key: string): Promise<void> {
    this.#known.delete(key)
    await putEntries(this.#handle, [{ channel: CHANNEL, key }], {})
  }

  /** Everything that was counted here is in the store. */
  async settle(): Promise<void> {
    for (const [key, { since }] of this.#known) if (since.sessions + since.bytes > 0) await this.#settle(key)
  }

  /** Adds what was counted here to what the store has, unless another process does so in the same moment: then again. */
  async #settle(key: string): Promise<Known> {
    for (let tries = 1; ; tries++) {
      const state = await this.#handle.state()
      const value = state.status === 'live' ? (await readEntry(this.#handle, CHANNEL, key))?.value : undefined
      const stored = (value ?? NONE) as unknown as Added
      // What is counted from here on comes after.
      const since = this.#known.get(key)?.since ?? NONE
      const sumOfBoth = sum(stored, since)
      const atMs = this.#parts.clock.monotonicMs()
      if (since.sessions + since.bytes === 0) return this.#keep(key, { stored, since, atMs })
      try {
        await putEntries(this.#handle, [{ channel: CHANNEL, key, value: { ...sumOfBoth } }], { expect: state.version })
        return this.#keep(key, { stored: sumOfBoth, since: sum(this.#known.get(key)?.since ?? NONE, since, -1), atMs })
      } catch (error) {
        if (tries === TRIES || !(error instanceof HoldfastError && error.code === 'CONFLICT')) throw error
      }
    }
  }

  #keep(key: string, known: Known): Known {
    this.#known.set(key, known)
    return known
  }

  get #handle(): Handle {
    return new Handle({ ...this.#parts, space: STORE_SPACE }, SESSION)
  }
}

function sum(a: Added, b: Added, sign: 1 | -1 = 1): Added {
  return { sessions: a.sessions + sign * b.sessions, bytes: a.bytes + sign * b.bytes }
}
