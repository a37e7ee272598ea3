/** What cannot be read in a journal, from its beginning to its end. */
import type { Journal } from '../../engine/port.ts'
import { history } from '../../journal/history.ts'
import type { Loss } from '../../journal/loss.ts'
import { LostCopies } from '../../journal/lost-copies.ts'
import type { Replica } from '../../journal/replica.ts'
import type { DamageReason } from '../../record/damage.ts'
import type { Damaged } from '../../record/fold.ts'
import { type DamagedPlace, damagedPlaces } from '../../session/damaged-places.ts'
import type { SessionState } from '../../session/state.ts'

export type { DamagedPlace, DamageReason }

export interface DamageReport {
  /** First position of the segment, which is also the name of its file. */
  readonly segment: number
  /** Byte offset in that file. */
  readonly offset: number
  readonly length: number
  /**
   * `torn`: half a line of a writer that died. `zeros`: a page that never reached the disk. `missing`: bytes in front of a segment that is there.
   * `vanished`: bytes that were acknowledged and are no longer there. `identity`: the files belong to another session. `rotten`: anything else.
   */
  readonly kind: 'torn' | 'zeros' | 'missing' | 'rotten' | 'vanished' | 'identity'
}

/** All damage of a journal, which is read for it, with what is known to be lost. One spoiled copy of a record that is written twice is none. */
export async function damageOf(journal: Journal, loss?: Loss): Promise<DamageReport[]> {
  const reports: DamageReport[] = loss === undefined ? [] : [lossReport(loss, await journal.segments())]
  const copies = new LostCopies()
  let spoiled: Damaged[] = []
  const report = (lost: readonly Damaged[], segment: number): void => {
    for (const { at, length, as } of lost) reports.push({ segment, offset: at - segment, length, kind: as })
  }
  let last = 0
  for await (const { verdict, segment } of history(journal, { barrier: false })) {
    if (segment !== last) {
      report(spoiled, last)
      spoiled = []
      last = segment
    }
    if (verdict.kind === 'damage' && !copies.isSecond(verdict)) spoiled.push(verdict)
    if (verdict.kind !== 'counted') continue
    const copy = copies.count(verdict, spoiled)
    report(
      spoiled.filter((one) => one !== copy),
      segment,
    )
    spoiled = []
  }
  report(spoiled, last)
  return reports
}

function lossReport({ from, to, as }: Loss, segments: readonly number[]): DamageReport {
  const segment = segments.findLast((first) => first <= from) ?? from
  return { segment, offset: from - segment, length: to - from, kind: as }
}

/** What a replica knows to be damaged, as answers report it. A torn tail is not among it: it was never acknowledged. */
export function knownPlaces({ damage, known }: Pick<Replica<SessionState>, 'damage' | 'known'>): DamagedPlace[] {
  const lost = damage.flatMap(({ at, length, as }) => (as === 'torn' ? [] : [{ position: at, to: at + length, reason: as }]))
  const { noticed = [], accepted = [] } = known ?? {}
  return damagedPlaces({ gaps: [], lost, noticed, accepted, within: [-1, Number.POSITIVE_INFINITY], head: -1 })
}
