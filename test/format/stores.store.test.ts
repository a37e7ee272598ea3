/** Stores that the library makes, in clear and encrypted, read by the reader that follows docs/format.md and nothing else. */
import { describe, expect, test } from 'vitest'
import { newMasterKey } from '../../src/index.ts'
import { useDirectory } from '../store/directory.ts'
import { damagedLines, lossesIn } from './reader/damage.ts'
import type { Journal } from './reader/journal.ts'
import { stateOf } from './reader/state.ts'
import { type FoundSession, StoreReader } from './reader/store.ts'
import { SCENARIOS } from './scenarios.ts'
import { sessionsIn, viewOfLibrary, viewOfReader } from './view.ts'

const directory = useDirectory()

describe.each([
  ['in clear', undefined],
  ['encrypted', newMasterKey()],
] as const)('%s', (_, masterKey) => {
  const options = masterKey === undefined ? {} : { encryption: { masterKey } }

  test.each(Object.entries(SCENARIOS))('the reader finds what the library returns, from every checkpoint: %s', async (_name, scenario) => {
    await scenario(directory(), options)
    const found = sessionsIn(new StoreReader(directory().path, masterKey))
    const store = await directory().open(options)
    expect(viewOfReader(found)).toEqual(await viewOfLibrary(store, found))
    for (const { journal, state } of found.filter(isWhole)) {
      const starts = journal.segments.flatMap(({ root }, index) => (index === 0 || root !== undefined ? [index] : []))
      for (const start of starts) expect(stateOf(journal, start), `${state.id} from segment ${start}`).toEqual(state)
    }
  })
})

/** Whether nothing was lost. What was, a checkpoint may still know. */
function isWhole({ journal: { segments }, state }: FoundSession): boolean {
  const isSpoiled = segments.some(({ met }) => met.some(({ kind }) => kind === 'damage'))
  // Of the scenarios with carried lines, none loses one.
  return segments[0]?.first === 0 && (!isSpoiled || state.id === 'carried') && state.accepted.length === 0
}

test('what a later segment carries is no loss', async () => {
  await SCENARIOS['carried lines, after both']?.(directory(), {})
  const journal = new StoreReader(directory().path).session('default', 'carried')?.journal as Journal
  expect(damagedLines(journal).map(({ as }) => as)).toEqual(['zeros', 'rotten', 'zeros', 'rotten', 'rotten', 'rotten'])
  // Only the checkpoints are lost, each after a lead-in.
  expect(lossesIn(journal).map(({ at }) => at)).toEqual(journal.segments.slice(1).map(({ first }) => first + 2))
})
