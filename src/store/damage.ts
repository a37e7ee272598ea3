/** What cannot be read in a journal, from its beginning to its end. */
import type { Journal } from '../engine/port.ts'
import { history } from './history.ts'
import type { Damage } from './tail.ts'

export interface DamageReport {
  /** First position of the segment, which is also the name of its file. */
  readonly segment: number
  /** Byte offset in that file. */
  readonly offset: number
  readonly length: number
  /** `torn`: half a line of a writer that died. `zeros`: a page that never reached the disk. `missing`: bytes that were there. `rotten`: anything else. */
  readonly kind: 'torn' | 'zeros' | 'missing' | 'rotten'
}

/** Why something that was written cannot be read. `vanished`: its bytes are no longer there. `identity`: the file belongs to another session. */
export type DamageReason = 'rotten' | 'zeros' | 'missing' | 'vanished' | 'identity'

/** One place in an answer where something is missing that was written. */
export interface DamagedPlace {
  /** Where it begins in the journal. */
  readonly position: number
  /** How many messages the answer lacks because of it; null if unknown. */
  readonly count: number | null
  readonly reason: DamageReason
  /** The session whose journal it is in, where that is another one: a fork reports what it inherits. */
  readonly session?: string
  /** A person has reviewed this loss, and the session continues without it. */
  readonly accepted?: true
  /** The time of the last record before the gap that can be read. */
  readonly since?: string
}

export async function damageOf(journal: Journal): Promise<DamageReport[]> {
  const reports: DamageReport[] = []
  for await (const { verdict, segment } of history(journal, { barrier: false })) {
    if (verdict.kind === 'damage') reports.push({ segment, offset: verdict.at - segment, length: verdict.length, kind: verdict.as })
  }
  return reports
}

/** What a replica knows to be damaged, as answers report it. A torn tail is not among it: it was never acknowledged. */
export function knownPlaces(damage: readonly Damage[]): DamagedPlace[] {
  return damage.flatMap(({ at, as }) => (as === 'torn' ? [] : [{ position: at, count: null, reason: as }]))
}
