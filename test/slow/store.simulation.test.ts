/** Runs of the whole store on the simulated machine, held against a naive model, and the bugs of the store that they must catch. */
import { expect, test } from 'vitest'
import { runs } from '../long.ts'
import { catchMutant } from '../simulation/mutants/plant.ts'
import { STORE_MUTANTS } from '../simulation/mutants/store-mutants.ts'
import { expectNoneBroken } from '../simulation/run-process.ts'
import { simulateStore } from '../simulation/store/run.ts'

test('many seeds of the real store on the simulated machine break no promise, and leave no damage', () =>
  expectNoneBroken(runs(40, 700), '--store'))

test('many seeds with workers: every archive has one summary in the end, of what it took, even if workers died', () =>
  expectNoneBroken(runs(20, 400), '--store', '--workers'))

test('a seed of the store replays to the same events', async () => {
  const [one, two] = [await simulateStore(7, { trace: true }), await simulateStore(7, { trace: true })]
  expect(one.trace.length).toBeGreaterThan(100)
  expect(two.trace).toEqual(one.trace)
  const [three, four] = [await simulateStore(7, { trace: true, workers: true }), await simulateStore(7, { trace: true, workers: true })]
  expect(four.trace).toEqual(three.trace)
})

/** How many seeds a bug may survive. */
const PATIENCE = 4000

test.each(STORE_MUTANTS.map((mutant) => [mutant.name, mutant] as const))('the simulation catches: %s', async (_, mutant) => {
  const { seed, output } = await catchMutant(mutant, PATIENCE)
  expect(seed, `It survived:\n${output}`).toBeDefined()
})
