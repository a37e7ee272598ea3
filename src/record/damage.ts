/** Places of a journal that cannot be read. */
import type { Damaged } from './fold.ts'

/** Why something that was written cannot be read. `vanished`: its bytes are no longer there. `identity`: the file belongs to another session. */
export type DamageReason = 'rotten' | 'zeros' | 'missing' | 'vanished' | 'identity'

/** A loss after what was the last message then. How many messages it took is unknown, because the next one has the depth of the first of them. */
export interface NoticedGap {
  /** The positions that were lost: from here up to `to`. */
  readonly position: number
  readonly to: number
  readonly reason: DamageReason
}

/**
 * A stretch of a journal that could not be read as what was written. `vanished`: its bytes are no longer there. `identity`: the files belong to
 * another session.
 */
export interface Damage {
  readonly segment: number
  readonly at: number
  readonly length: number
  readonly as: Damaged['as'] | 'vanished' | 'identity'
  /** Of the record that it was; undefined if it may never have been one. */
  readonly checksum?: string | undefined
  /** Whether the next record misses something here; undefined as long as there is none. */
  readonly isMissed?: boolean | undefined
}

/**
 * What a writer that died left half-written was never acknowledged, unless the next record misses something there: then the newline of a record rotted. Nor were pieces of lines and pages that never reached the disk, if the next record
 * misses nothing there. If there is none, only such a page is none: its watermark would show that it vanished.
 */
export function isDamaged(damage: readonly Damage[]): boolean {
  return damage.some(({ as, checksum, isMissed = as !== 'zeros' && as !== 'torn' }) => checksum !== undefined || isMissed)
}

/** How reads name the reason. */
export function reasonOf(as: string): DamageReason {
  return as === 'zeros' || as === 'missing' || as === 'vanished' || as === 'identity' ? as : 'rotten'
}
