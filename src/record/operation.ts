/** How operations are decided: on a state, to a record, a refusal or an answer. */
import type { KeyEntry, KeyHash } from './key-hash.ts'
import type { Draft, SealReason } from './record.ts'

/** Something that a caller wants: decided again whenever others wrote first, on everything that stands in front of its place. */
export interface Operation<S, R> {
  /** Message ids and operation keys to look up before deciding. */
  readonly keys?: readonly KeyHash[] | undefined
  /** Decides nothing but reads: no segment is made for it. */
  readonly readOnly?: boolean
  /** Removes something, so it may use the space kept in reserve. */
  readonly urgent?: boolean | undefined
  /**
   * Of use to living processes alone, such as a lease: neither what it writes nor what it was decided on need be durable when it is answered.
   * Whoever shows it to anybody makes it durable first.
   */
  readonly fleeting?: boolean
  decide(state: S, known: Known): Decision<R>
  /** Called at once when it is refused or fails, before anything that waits behind it is decided. */
  readonly refused?: (error: unknown) => void
}

/** What is known of a key: the last record that holds it. To say that it is an operation's spares looking for it among messages. */
export type Known = (key: KeyHash, kind?: 'operation') => KeyEntry | undefined

/** A record that was placed. */
export interface Placed {
  readonly id: string
  readonly at: number
  readonly end: number
  readonly crc: string
}

export type Decision<R> = {
  /** Holds only in a segment that was begun for this reason and has no record yet: the current one is sealed, and this is decided again. */
  readonly opens?: SealReason
} & (
  | /** A record. If the same `payload` object comes back after a lost race, it is not encoded again. */ {
      readonly write: Pick<Draft, 'type' | 'payload' | 'text' | 'hashes' | 'parent'> & {
        readonly id?: string | undefined
        readonly at?: string | undefined
      }
      readonly answer: (placed: Placed) => R
    }
  /** Nothing to write: the first outcome of a repeated call, or what was read. */
  | { readonly answer: R; readonly write?: undefined }
  | { readonly refuse: Error; readonly write?: undefined }
)
