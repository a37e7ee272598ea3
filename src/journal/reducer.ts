/** What a replica keeps of a journal. Pure: a state is a value, and the same records give the same state in every process. */

import type { NoticedGap } from '../record/damage.ts'
import type { Counted } from '../record/fold.ts'
import type { KeyEntry, KeysOf, MadeIds } from '../record/key-hash.ts'
import type { Draft, JsonObject } from '../record/record.ts'

interface KeysInParts {
  /** Those that a caller sent. */
  readonly sent: KeysOf
  readonly made: (counted: Counted) => MadeIds | undefined
  readonly ofMade: (made: MadeIds) => readonly KeyEntry[]
}

export interface Reducer<S> {
  readonly initial: S
  /** Must not change the state that it is given. */
  apply(state: S, counted: Counted): S
  /** The state as JSON, for a checkpoint; `restore` gives it back. Helpers must make the same bytes from the same records. */
  checkpoint(state: S): JsonObject
  restore(checkpoint: JsonObject): S
  readonly keysOf: KeysOf
  /** The same in two parts, so that hashes are made of those only that somebody may ask for. All at once, unless given. */
  readonly keysInParts?: KeysInParts
  /** The record with which a writer begins if it has read that something was lost, and later records would not show it. */
  readonly notice?: (state: S, lost: readonly NoticedGap[]) => Pick<Draft, 'type' | 'payload'> | undefined
  /** Whether a checkpoint of this state tells everything: not if a record counted whose type this software does not know. Always, unless given. */
  readonly mayCheckpoint?: (state: S) => boolean
  /** Whether a journal of this state counts as one that does not exist, although it has records. Without this, only the initial state does. */
  readonly isAbsent?: (state: S) => boolean
  /** Whose journal this is, as its records say it; undefined if they say nothing. */
  readonly identity?: (state: S) => { readonly space: string; readonly id: string } | undefined
  /** Whether the first segment of a journal with this state may start at a position; if not, segments before it vanished. */
  readonly mayStartAt?: (state: S, first: number) => boolean
  /** Keys of segments that begin before this position belong to an earlier incarnation. */
  keysFrom(state: S): number
}
