/** The session as a model for a replica. */
import type { JsonObject } from '../record/record.ts'
import { apply } from './fold.ts'
import { keysOf, keysOfMade, madeIds, sentKeys } from './keys.ts'
import { INITIAL, type SessionState } from './state.ts'

export const sessionModel = {
  initial: INITIAL,
  apply,
  checkpoint: (state: SessionState): JsonObject => state as unknown as JsonObject,
  /** A field that an older version did not write has its initial value. */
  restore: (checkpoint: JsonObject): SessionState => ({ ...INITIAL, ...(checkpoint as unknown as SessionState) }),
  mayCheckpoint: (state: SessionState): boolean => !state.unknown,
  keysOf,
  keysInParts: { sent: sentKeys, made: madeIds, ofMade: keysOfMade },
  // Of what was purged, a process that had read it still knows the keys.
  keysFrom: ({ born, purged }: SessionState): number => (purged ? Number.POSITIVE_INFINITY : born),
}
