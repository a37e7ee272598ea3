/** What a replica keeps of a journal. Pure: a state is a value, and the same records give the same state in every process. */
import type { Counted } from '../record/fold.ts'
import type { KeyEntry, KeyHash, KeysOf } from '../record/keys.ts'
import type { Place } from '../record/line.ts'
import type { Draft, JsonObject, SealReason } from '../record/record.ts'

export interface Model<S> {
  readonly initial: S
  /** Must not change the state that it is given. */
  apply(state: S, counted: Counted): S
  /** The state as JSON, for a checkpoint; `restore` gives it back. Helpers must make the same bytes from the same records. */
  checkpoint(state: S): JsonObject
  restore(checkpoint: JsonObject): S
  readonly keysOf: KeysOf
  /** Keys of segments that begin before this position belong to an earlier incarnation. */
  keysFrom(state: S): number
}

/** A record that was placed: its id, and where it stands. */
interface Written extends Place {
  readonly id: string
}

/** Something that a caller wants: decided again whenever others wrote first, on everything that stands in front of its place. */
export interface Operation<S, R> {
  /** Message ids and operation keys to look up before deciding. */
  readonly keys?: readonly KeyHash[]
  /** Decides nothing but reads: no segment is made for it. */
  readonly readOnly?: boolean
  /** Removes something, so it may use the space kept in reserve. */
  readonly urgent?: boolean
  decide(state: S, known: (key: KeyHash) => KeyEntry | undefined): Decision<R>
}

export type Decision<R> = {
  /** Holds only in a segment that was begun for this reason and has no record yet: the current one is sealed, and this is decided again. */
  readonly opens?: SealReason
} & (
  | /** A record. If the same `payload` object comes back after a lost race, it is not encoded again. */ {
      readonly write: Pick<Draft, 'type' | 'payload' | 'parent'>
      readonly answer: (written: Written) => R
    }
  /** Nothing to write: the first outcome of a repeated call, or what was read. */
  | { readonly answer: R; readonly write?: undefined }
  | { readonly refuse: Error; readonly write?: undefined }
)
