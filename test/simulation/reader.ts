/** What a newly started process finds in the journals: every counted record, every checkpoint, and the state that it loads. */

import { systemClock } from '../../src/engine/clock.ts'
import { systemIds } from '../../src/engine/ids.ts'
import type { Engine } from '../../src/engine/port.ts'
import { history } from '../../src/journal/history.ts'
import { Replica } from '../../src/journal/replica.ts'
import type { Counted } from '../../src/record/fold.ts'
import { reducer, type Seen } from './reducer.ts'

/** `stands` is where its line begins: for a carried one not at its position. */
export type FoundRecord = Counted & { readonly stands: number }

export interface JournalFound {
  /** By position. */
  readonly counted: readonly FoundRecord[]
  readonly checkpoints: readonly { readonly base: number; readonly seen: Seen }[]
  readonly loaded: Seen
  /** Where the end of a segment is missing. */
  readonly missing: readonly number[]
  /** The first position that is still there. */
  readonly kept: number
}

export type Journals = readonly JournalFound[]

export async function readJournals(engine: Engine, names: readonly string[]): Promise<Journals> {
  const journals: JournalFound[] = []
  for (const name of names) {
    const journal = engine.journal(name)
    const counted = new Map<number, FoundRecord>()
    let kept = 0
    let current = 0
    let placed = false
    const missing: number[] = []
    const checkpoints: { base: number; seen: Seen }[] = []
    for await (const { verdict, line, segment } of history(journal)) {
      // A segment that others follow holds a record at least. If not, it was purged, and a late writer has made it again.
      if (segment !== current && !placed) kept = segment
      if (segment !== current) placed = false
      current = segment
      if (verdict.kind === 'counted') {
        counted.set(verdict.at, { ...verdict, stands: line.at })
        placed ||= !verdict.carried
      }
      if (verdict.kind === 'damage' && verdict.as === 'missing') missing.push(verdict.at)
      if (verdict.kind === 'checkpoint') checkpoints.push({ base: verdict.record.base as number, seen: verdict.record.state as Seen })
    }
    const replica = new Replica({ journal, reducer, clock: systemClock, ids: systemIds })
    const { state } = await replica.read()
    journals.push({
      counted: [...counted.values()].sort((a, b) => a.at - b.at),
      checkpoints: checkpoints.filter(({ base }) => base >= kept),
      loaded: state,
      missing,
      kept,
    })
  }
  return journals
}
