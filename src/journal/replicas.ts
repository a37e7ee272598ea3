/** The replicas that one store keeps: the longest unused one is dropped first. One that is dropped while somebody holds it still works. */
import type { DataKeys } from '../encryption/data-keys.ts'
import { sessionCipher } from '../encryption/session-cipher.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Engine, Journal } from '../engine/port.ts'
import { StoreTime } from '../engine/store-time.ts'
import type { Counted } from '../record/fold.ts'
import type { Limits } from '../record/limits.ts'
import { isNamedIn } from './loss.ts'
import { OwnJournal } from './own-journal.ts'
import type { Reducer } from './reducer.ts'
import { Replica } from './replica.ts'

export interface Held<S> {
  readonly journal: Journal
  readonly replica: Replica<S>
}

/** Of a text, as base64 has it. */
const ENCRYPTED_LENGTH = 4 / 3

export class Replicas<S> {
  readonly #reducer: Reducer<S>
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #ids: Ids
  readonly #limits: Pick<Limits, 'replicas' | 'segmentBytes'>
  readonly #dataKeys: DataKeys | undefined
  readonly #time: StoreTime
  /** In order of use. */
  readonly #held = new Map<string, Held<S>>()

  constructor(options: {
    readonly reducer: Reducer<S>
    readonly engine: Engine
    readonly clock: Clock
    readonly ids: Ids
    readonly limits: Pick<Limits, 'replicas' | 'segmentBytes'>
    /** Of an encrypted store. */
    readonly dataKeys?: DataKeys | undefined
  }) {
    this.#reducer = options.reducer
    this.#engine = options.engine
    this.#clock = options.clock
    this.#ids = options.ids
    this.#limits = options.limits
    this.#dataKeys = options.dataKeys
    this.#time = new StoreTime(options.engine)
  }

  /** The replica of a journal. */
  of(name: string): Held<S> {
    const known = this.#held.get(name)
    const held = known ?? this.once(name)
    this.#held.delete(name)
    this.#held.set(name, held)
    if (known === undefined) this.#evict()
    return held
  }

  /** A replica that is not kept: for whoever looks at many sessions once. A new one tells a witness which records it reads. */
  once(name: string, witness?: (counted: Counted) => void): Held<S> {
    const journal = this.#engine.journal(name)
    const isNamed = isNamedIn(this.#engine, name)
    // As many records, encrypted or not: a segment that is full sooner is followed by another sooner.
    const cipher = sessionCipher(name, this.#dataKeys)
    const segmentBytes = this.#limits.segmentBytes * (cipher === undefined ? 1 : ENCRYPTED_LENGTH)
    return (
      this.#held.get(name) ?? {
        journal: new OwnJournal(journal, isNamed),
        replica: new Replica({
          ...{ journal, reducer: this.#reducer, cipher, clock: this.#clock, ids: this.#ids, limits: { segmentBytes }, witness, isNamed },
          time: this.#time,
        }),
      }
    )
  }

  /** Keeps one that was made to be used once. */
  keep(name: string, held: Held<S>): void {
    if (this.#held.has(name)) return
    this.#held.set(name, held)
    this.#evict()
  }

  /** Keeps nothing of a journal: whoever asks next reads it anew. */
  forget(name: string): void {
    this.#held.delete(name)
  }

  /** Waits until nothing is under way. */
  async idle(): Promise<void> {
    await Promise.all([...this.#held.values()].map(({ replica }) => replica.idle()))
  }

  #evict(): void {
    for (const [name, { replica }] of this.#held) {
      if (this.#held.size <= this.#limits.replicas) return
      if (!replica.busy) this.#held.delete(name)
    }
  }
}
