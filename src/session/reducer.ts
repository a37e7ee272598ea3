/** The session as a model for a replica. */

import type { NoticedGap } from '../record/damage.ts'
import type { JsonObject } from '../record/record.ts'
import { apply } from './apply.ts'
import { unnoticed } from './noticed.ts'
import { keysOf, keysOfMade, madeIds, sentKeys } from './record-keys.ts'
import { INITIAL, type SessionState } from './state.ts'

export const sessionReducer = {
  initial: INITIAL,
  apply,
  checkpoint: ({ noticed, accepted, ...state }: SessionState): JsonObject =>
    ({ ...state, ...(noticed.length === 0 ? {} : { noticed }), ...(accepted.length === 0 ? {} : { accepted }) }) as unknown as JsonObject,
  /** A field that an older version did not write has its initial value. Older versions let `updatedAt` go back with the clock. */
  restore: (checkpoint: JsonObject): SessionState => {
    const state: SessionState = { ...INITIAL, ...(checkpoint as unknown as SessionState) }
    return state.updatedAt < state.createdAt ? { ...state, updatedAt: state.createdAt } : state
  },
  notice: (state: SessionState, lost: readonly NoticedGap[]) => {
    const payload = unnoticed(state, lost)
    return payload === undefined ? undefined : { type: 'damage.noticed' as const, payload: payload as unknown as JsonObject }
  },
  isAbsent: ({ status }: SessionState): boolean => status === 'absent',
  mayCheckpoint: (state: SessionState): boolean => !state.unknown,
  identity: ({ space, id }: SessionState) => (space === null || id === null ? undefined : { space, id }),
  // Segments before the incarnation are purged sooner or later, and those that an accepted loss took are not missed again.
  mayStartAt: ({ born, purged, status, accepted }: SessionState, first: number): boolean =>
    status === 'absent' || purged || first <= born || accepted.some(({ position, to }) => position <= born && to >= first),
  keysOf,
  keysInParts: { sent: sentKeys, made: madeIds, ofMade: keysOfMade },
  // Of what was purged, a process that had read it still knows the keys.
  keysFrom: ({ born, purged }: SessionState): number => (purged ? Number.POSITIVE_INFINITY : born),
}
