/** One journal in a real directory, as the child programs and the tests open it. */
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { type Ids, systemIds } from '../../src/engine/ids.ts'
import type { Engine, Journal } from '../../src/engine/port.ts'
import { type FilesEngineOptions, openFilesEngine } from '../../src/engines/files/engine.ts'
import { Replica } from '../../src/journal/replica.ts'
import { reducer, type Seen } from '../simulation/reducer.ts'

export interface OpenedJournal {
  readonly engine: Engine
  readonly journal: Journal
  readonly replica: Replica<Seen>
}

export interface JournalOptions extends Omit<FilesEngineOptions, 'keysOf'> {
  readonly segmentBytes?: number | undefined
}

/** Every process uses the same session; what distinguishes stores is their directory. */
export async function openJournal({ segmentBytes, ...options }: JournalOptions): Promise<OpenedJournal> {
  const clock: Clock = options.clock ?? systemClock
  const ids: Ids = options.ids ?? systemIds
  const engine = await openFilesEngine({ ...options, keysOf: reducer.keysOf })
  const journal = engine.journal(engine.name('space', 'session'))
  const limits = segmentBytes === undefined ? {} : { segmentBytes }
  return { engine, journal, replica: new Replica({ journal, reducer, clock, ids, limits }) }
}
