/** What a newly started process finds in the journals: every counted record, every checkpoint, and the state that it loads. */

import { systemClock } from '../../src/engine/clock.ts'
import { systemIds } from '../../src/engine/ids.ts'
import type { Engine } from '../../src/engine/port.ts'
import type { Counted } from '../../src/record/fold.ts'
import { history } from '../../src/store/history.ts'
import { Replica } from '../../src/store/replica.ts'
import { model, type Seen } from './model.ts'

export interface JournalFound {
  /** By position. */
  readonly counted: readonly Counted[]
  readonly checkpoints: readonly { readonly base: number; readonly seen: Seen }[]
  readonly loaded: Seen
  /** The first position that is still there. */
  readonly kept: number
}

export type Journals = readonly JournalFound[]

export async function readJournals(engine: Engine, names: readonly string[]): Promise<Journals> {
  const journals: JournalFound[] = []
  for (const name of names) {
    const journal = engine.journal(name)
    const counted = new Map<number, Counted>()
    let kept = 0
    let sealedAt = 0
    const checkpoints: { base: number; seen: Seen }[] = []
    for await (const { verdict, segment } of history(journal)) {
      // What stands in front of a gap is a purged segment that a late writer made again, or one whose removal was not durable.
      if (segment > sealedAt) kept = segment
      if (verdict.kind === 'counted') {
        counted.set(verdict.at, verdict)
        sealedAt = verdict.record.type === 'segment.sealed' ? verdict.end : segment
      }
      if (verdict.kind === 'checkpoint') checkpoints.push({ base: verdict.record.base as number, seen: verdict.record.state as Seen })
    }
    const replica = new Replica({ journal, model, clock: systemClock, ids: systemIds })
    const { state } = await replica.read()
    journals.push({
      counted: [...counted.values()].filter(({ at }) => at >= kept).sort((a, b) => a.at - b.at),
      checkpoints: checkpoints.filter(({ base }) => base >= kept),
      loaded: state,
      kept,
    })
  }
  return journals
}
