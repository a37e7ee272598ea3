/** What cannot be read in a journal, from its beginning to its end. */
import type { Journal } from '../engine/port.ts'
import { history } from './history.ts'

export interface DamageReport {
  /** First position of the segment, which is also the name of its file. */
  readonly segment: number
  /** Byte offset in that file. */
  readonly offset: number
  readonly length: number
  /** `torn`: half a line of a writer that died. `zeros`: a page that never reached the disk. `missing`: bytes that were there. `rotten`: anything else. */
  readonly kind: 'torn' | 'zeros' | 'missing' | 'rotten'
}

export async function damageOf(journal: Journal): Promise<DamageReport[]> {
  const reports: DamageReport[] = []
  for await (const { verdict, segment } of history(journal, { barrier: false })) {
    if (verdict.kind === 'damage') reports.push({ segment, offset: verdict.at - segment, length: verdict.length, kind: verdict.as })
  }
  return reports
}
