/**
 * What was let in under a quota, counted by all processes together: of each key of a server the sessions and bytes that it added, since no journal tells with which key
 * something was written, and of keys and spaces the messages. Counted in this process, and added up in the store's own space as soon as enough has come together, when
 * somebody comes again after some seconds, and when the store is closed; so other servers know of it, and the next one goes on from there. A process
 * that dies takes what it let in since with it; what was let in and then refused, or had been written before, counts too.
 */

import { STORE_SPACE } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { Handle } from '../handle.ts'
import { putEntries, readEntry } from '../messages/entries.ts'
import type { SessionParts } from '../parts.ts'

export interface Added {
  readonly sessions: number
  readonly bytes: number
  readonly messages: number
}

const SESSION = 'quota-usage'
const CHANNEL = 'added'
/** Every time costs a record. */
const SETTLE_MS = 10_000
const TRIES = 20
const PARTS = 10
const NONE: Added = { sessions: 0, bytes: 0, messages: 0 }

interface Known {
  readonly stored: Added
  /** Not yet in the store. */
  readonly since: Added
  /** Messages that other processes have let in since this one looked first. */
  readonly others: number
  readonly atMs: number
}

export class Tally {
  readonly #parts: SessionParts
  readonly #known = new Map<string, Known>()
  readonly #settling = new Map<string, Promise<Known>>()

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  /** Looks at the store, unless what is known is new. What this process counted is settled when it is old, or a good part of the limits. */
  async look(who: string, limits: Partial<Added>): Promise<void> {
    const known = this.#known.get(who)
    const isOld = known === undefined || this.#parts.clock.monotonicMs() - known.atMs >= SETTLE_MS
    if (isOld || isMuch(known.since, limits)) await this.#settled(who)
  }

  /** All that was added, as far as it is known, and how many messages others have let in. To be asked right before something is added. */
  of(who: string): Added & { readonly others: number } {
    const { stored, since, others } = this.#known.get(who) ?? { stored: NONE, since: NONE, others: 0 }
    return { ...sum(stored, since), others }
  }

  /**
   * Of somebody who was looked for. It counts at once, and is settled if it makes a good part of the limits: perhaps nobody comes here again. Never fails: what was added was
   * let in, and what cannot be settled now stays counted here until the next time.
   */
  async add(who: string, added: Partial<Added>, limits: Partial<Added>): Promise<void> {
    const known = this.#known.get(who)
    if (known === undefined) return
    const since = sum(known.since, { ...NONE, ...added })
    this.#known.set(who, { ...known, since })
    if (!isMuch(since, limits)) return
    // One that is under way may have begun before this was counted.
    await this.#settling.get(who)?.catch(() => undefined)
    if (isMuch(this.#known.get(who)?.since ?? NONE, limits)) await this.#settled(who).catch(() => undefined)
  }

  /** What the store has of somebody, without what was counted since. */
  async stored(who: string): Promise<Added> {
    const handle = this.#handle
    if ((await handle.state()).status !== 'live') return NONE
    return { ...NONE, ...((await readEntry(handle, CHANNEL, who))?.value as Partial<Added> | undefined) }
  }

  /** Nothing was added so far. */
  async forget(who: string): Promise<void> {
    this.#known.delete(who)
    await putEntries(this.#handle, [{ channel: CHANNEL, key: who }], {})
  }

  /** Everything that was counted here is in the store. */
  async settle(): Promise<void> {
    for (const [who, { since }] of this.#known) if (!isNothing(since)) await this.#settled(who)
  }

  /** One at a time: two that settle at once would both add what was counted. */
  #settled(who: string): Promise<Known> {
    const settling = this.#settling.get(who) ?? this.#settle(who).finally(() => this.#settling.delete(who))
    this.#settling.set(who, settling)
    return settling
  }

  /** Adds what was counted here to what the store has, unless another process does so in the same moment: then again. */
  async #settle(who: string): Promise<Known> {
    for (let tries = 1; ; tries++) {
      const { version } = await this.#handle.state()
      const stored = await this.stored(who)
      const before = this.#known.get(who)
      const others = before === undefined ? 0 : before.others + Math.max(0, stored.messages - before.stored.messages)
      // What is counted from here on comes after.
      const since = before?.since ?? NONE
      const total = sum(stored, since)
      const atMs = this.#parts.clock.monotonicMs()
      if (isNothing(since)) return this.#keep(who, { stored, since, others, atMs })
      try {
        await putEntries(this.#handle, [{ channel: CHANNEL, key: who, value: { ...total } }], { expect: version })
        const now = this.#known.get(who)?.since
        return this.#keep(who, { stored: total, since: now === undefined ? NONE : sum(now, since, -1), others, atMs })
      } catch (error) {
        if (!(error instanceof HoldfastError && error.code === 'CONFLICT')) throw error
        // Everybody settles at once: what was counted stays here until the next time.
        if (tries === TRIES) return this.#keep(who, { stored, since: this.#known.get(who)?.since ?? NONE, others, atMs })
      }
    }
  }

  #keep(who: string, known: Known): Known {
    this.#known.set(who, known)
    return known
  }

  get #handle(): Handle {
    return new Handle({ ...this.#parts, space: STORE_SPACE }, SESSION)
  }
}

/** Whether something is so much of a limit that others must know of it: together they may let in that much too much. */
export function isMuch(added: Partial<Added>, limits: Partial<Added>): boolean {
  return Object.entries(limits).some(([what, limit]) => (added[what as keyof Added] ?? 0) >= Math.max(1, limit / PARTS))
}

function isNothing({ sessions, bytes, messages }: Added): boolean {
  return sessions + bytes + messages === 0
}

function sum(a: Added, b: Added, sign: 1 | -1 = 1): Added {
  return { sessions: a.sessions + sign * b.sessions, bytes: a.bytes + sign * b.bytes, messages: a.messages + sign * b.messages }
}
