import type { Counted, PlacedDraft } from '../record/fold.ts'
import type { Group } from '../record/line.ts'
import type { SegmentKeys } from './segment-keys.ts'

/** A group, and what it comes to if it stands. */
export interface PlacedGroup<S> {
  readonly group: Group
  readonly placed: readonly PlacedDraft[]
  /** Those of them that are in `keys` and `state` already: the last one need not be before the group stands. */
  readonly counted: readonly Counted[]
  readonly keys: SegmentKeys
  readonly state: S
}
