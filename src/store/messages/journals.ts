/** The journals that the messages of one session stand in: its own, and those that its past names. */

import type { Journal } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import { Records } from '../../journal/records.ts'
import type { Held } from '../../journal/replicas.ts'
import { reasonOf } from '../../record/damage.ts'
import type { KeyEntry, KeyHash } from '../../record/key-hash.ts'
import type { LostStretch } from '../../session/damaged-places.ts'
import type { AcceptedGap, Past, SessionState } from '../../session/state.ts'
import type { SpaceParts } from '../parts.ts'

/** What is known of a journal that others inherit from. */
export interface Condition {
  /** The file belongs to another session: nothing in it may be shown. */
  readonly foreign: boolean
  /** Why all of it may be missing. */
  readonly gone: LostStretch | undefined
  readonly accepted: readonly AcceptedGap[]
}

export class Journals {
  readonly #parts: SpaceParts
  readonly #session: string
  readonly #records = new Map<string, Records>()
  readonly #conditions = new Map<string, Promise<Condition>>()

  constructor(parts: SpaceParts, session: string) {
    this.#parts = parts
    this.#session = session
  }

  records(session: string): Records {
    const known = this.#records.get(session)
    if (known !== undefined) return known
    const { journal, replica } = this.#held(session)
    const records = new Records(journal, replica.newest)
    this.#records.set(session, records)
    return records
  }

  journal(session: string): Journal {
    return this.#held(session).journal
  }

  newest(session: string): Held<SessionState>['replica']['newest'] {
    return this.#held(session).replica.newest
  }

  /** Where this process found damage when it loaded a journal. */
  damage(session: string): Held<SessionState>['replica']['damage'] {
    return this.#held(session).replica.damage
  }

  /** Whether a journal that is inherited from can be trusted. Loads its end, once. */
  condition(session: string): Promise<Condition> {
    const known = this.#conditions.get(session)
    if (known !== undefined) return known
    const condition = this.#condition(session)
    this.#conditions.set(session, condition)
    return condition
  }

  async #condition(session: string): Promise<Condition> {
    const { replica } = this.#held(session)
    try {
      const { state } = await replica.read()
      const whole = replica.damage.map(({ at, length, as }) => ({ position: at, to: at + length, reason: reasonOf(as) }))
      const gone = whole.find(({ reason }) => reason === 'vanished' || reason === 'identity')
      return { foreign: gone?.reason === 'identity', gone, accepted: state.accepted }
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      // Its lines may still be readable one by one. Whoever reads them gets the error, if they are not.
      const reason = typeof error.details.reason === 'string' ? reasonOf(error.details.reason) : 'rotten'
      const gone = reason === 'rotten' ? undefined : { position: 0, to: Number.POSITIVE_INFINITY, reason }
      return { foreign: reason === 'identity', gone, accepted: [] }
    }
  }

  /** What is known of keys in the session itself: the last record that holds each. */
  find(keys: readonly KeyHash[]): Promise<(KeyEntry | undefined)[]> {
    return this.#held(this.#session).replica.find(keys)
  }

  /**
   * The same in the session that a piece of the past belongs to. It may have been deleted and created anew, perhaps more than once: then
   * the keys are those of a former incarnation, which ended with a segment.
   */
  async findInPiece({ session, born, end }: Past, keys: readonly KeyHash[]): Promise<(KeyEntry | undefined)[]> {
    const { replica, journal } = this.#held(session)
    const state = await replica.read().then((read) => read.state, ifVanished)
    if (state === undefined) return []
    if (state.born === born) return replica.find(keys)
    const before = (await journal.segments()).find((first) => first >= end)
    return before === undefined ? [] : journal.lookup(keys, born, before)
  }

  #held(session: string): Held<SessionState> {
    const { engine, space, replicas } = this.#parts
    return replicas.of(engine.name(space, session))
  }
}

/** A journal that vanished has no keys either. The fork that inherited from it continues, and reports what it lacks. */
function ifVanished(error: unknown): undefined {
  if (error instanceof HoldfastError && error.code === 'DAMAGED' && error.details.reason === 'vanished') return undefined
  throw error
}
