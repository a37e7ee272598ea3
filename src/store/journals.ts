/** The journals that the messages of one session stand in: its own, and those that its past names. */
import type { KeyEntry, KeyHash } from '../record/keys.ts'
import type { Past } from '../session/state.ts'
import type { StoreParts } from './parts.ts'
import { Records } from './records.ts'
import type { Held } from './replicas.ts'

export class Journals {
  readonly #parts: StoreParts
  readonly #session: string
  readonly #records = new Map<string, Records>()

  constructor(parts: StoreParts, session: string) {
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
    const { state } = await replica.read()
    if (state.born === born) return replica.find(keys)
    const before = (await journal.segments()).find((first) => first >= end)
    return before === undefined ? [] : journal.lookup(keys, born, before)
  }

  #held(session: string): Held {
    const { engine, space, replicas } = this.#parts
    return replicas.of(engine.name(space, session))
  }
}
