/**
 * The keys of the segment that is written to. Of messages whose ids were made for them, only where they stand is held, until somebody asks
 * for a message by its id: so a session can be read, and written to, without a hash for each of its messages.
 */
import type { Counted } from '../record/fold.ts'
import type { KeyEntry, KeyHash, MadeIds } from '../record/key-hash.ts'
import type { Reducer } from './reducer.ts'

type Keys = Pick<Reducer<never>, 'keysOf' | 'keysInParts'>

export class SegmentKeys {
  readonly #reducer: Keys
  readonly #entries = new Map<KeyHash, KeyEntry>()
  readonly #made: MadeIds[] = []

  constructor(reducer: Keys) {
    this.#reducer = reducer
  }

  add(counted: Counted): void {
    const { keysOf, keysInParts } = this.#reducer
    for (const entry of (keysInParts?.sent ?? keysOf)(counted)) this.#entries.set(entry.key, entry)
    const made = keysInParts?.made(counted)
    if (made !== undefined) this.#made.push(made)
  }

  /** Takes over all that another one holds, which was added later. */
  addAll(later: SegmentKeys): void {
    for (const [key, entry] of later.#entries) this.#entries.set(key, entry)
    for (const made of later.#made) this.#made.push(made)
  }

  /** The last entry of a key. Of an operation's, none is looked for among messages. */
  get(key: KeyHash, kind?: 'operation'): KeyEntry | undefined {
    return this.#entries.get(key) ?? (kind === 'operation' || this.#made.length === 0 ? undefined : this.all().get(key))
  }

  all(): ReadonlyMap<KeyHash, KeyEntry> {
    this.prepare(this.#made.length)
    return this.#entries
  }

  /** Finds out the keys of so many records, the oldest first: whoever asks for all of them waits for the rest only. */
  prepare(records: number): void {
    for (const made of this.#made.splice(0, records)) {
      for (const entry of this.#reducer.keysInParts?.ofMade(made) ?? []) {
        if ((this.#entries.get(entry.key)?.at ?? -1) < entry.at) this.#entries.set(entry.key, entry)
      }
    }
  }
}
