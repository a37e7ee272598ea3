/**
 * What processes want of one journal, and the bugs that exploring it must find. Three of them where one may die; two where the disk may fail, be full or lose what
 * was written, since whoever meets that carries it, and has as many steps again.
 */
import type { Scenario } from './explore.ts'
import { DELETE } from './journal.ts'
import type { Mutation, Wish } from './protocol.ts'

const append = (id: string): Wish => ({ kind: 'append', id })
/** The same operation, by whoever tries it. */
const again: Wish = { kind: 'append', id: 'a', shared: true }
const seal: Wish = { kind: 'seal', id: 'seal' }
const show: Wish = { kind: 'show', id: 'show' }
const remove: Wish = { kind: 'delete', id: DELETE }

const CRASH = { crashes: 1, faults: 0 }
const FAULT = { crashes: 0, faults: 1 }

export const SCENARIOS: readonly Scenario[] = [
  { name: 'the same is tried by two, the disk may fail', scripts: [[again], [again, again]], ...FAULT },
  { name: 'one appends while one reads, the disk may fail', scripts: [[append('a')], [show, show]], ...FAULT },
  { name: 'two append, the disk may fail', scripts: [[append('a')], [append('b')]], ...FAULT },
  { name: 'three append, one may die', scripts: [[append('a')], [append('b')], [append('c')]], ...CRASH },
  { name: 'two append while one reads, one may die', scripts: [[append('a')], [append('b')], [show, show]], ...CRASH },
  { name: 'one deletes while others append, one may die', scripts: [[append('a')], [remove], [append('b')]], ...CRASH },
  { name: 'a seal while others append, one may die', scripts: [[append('a'), seal], [append('b')], [append('c')]], ...CRASH },
  { name: 'a seal, whoever rolls, and a reader, one may die', scripts: [[seal, append('a')], [append('b')], [show]], ...CRASH },
  { name: 'a delete behind a seal, one may die', scripts: [[append('a'), seal], [remove], [append('b')]], ...CRASH },
]

export interface ModelMutant {
  readonly name: string
  readonly bug: string
  readonly bugs: Mutation
}

export const MODEL_MUTANTS: readonly ModelMutant[] = [
  {
    name: 'no stamp',
    bug: 'A line counts wherever it stands: a lost race happened all the same.',
    bugs: { noStamp: true, misplacedMatter: true },
  },
  { name: 'bare newline as lead-in', bug: 'The next lead-in completes a line that was refused.', bugs: { bareNewline: true } },
  { name: 'acknowledging before the sync', bug: 'The power takes what was acknowledged.', bugs: { ackBeforeSync: true } },
  { name: 'no barrier for readers', bug: 'The power takes what was shown.', bugs: { noBarrier: true } },
  { name: 'no directory sync by the opener', bug: 'Acknowledged in a segment whose name vanishes.', bugs: { noNameSync: true } },
  { name: 'poison without carrying', bug: 'What a failed sync lost is believed by others.', bugs: { noCarry: true } },
  {
    name: 'a failed sync is tried again and believed',
    bug: 'The second one succeeds, and stores nothing.',
    bugs: { believeSecondSync: true },
  },
  { name: 'an error after the write is told as definite', bug: 'What was refused counts.', bugs: { failedSyncIsDefinite: true } },
  { name: 'not decided anew after a lost race', bug: 'The same operation counts twice.', bugs: { staleDecision: true } },
  { name: 'truncating on a full disk', bug: 'Others’ records are cut off.', bugs: { truncateWhenFull: true } },
  { name: 'late writers are not refused', bug: 'A record counts behind the delete.', bugs: { lateWritersAreNotRefused: true } },
  {
    name: 'a checkpoint of all that stands',
    bug: 'What lost a race, or stands behind the seal, counts once there is a checkpoint.',
    bugs: { checkpointOfAll: true, misplacedMatter: true },
  },
]
