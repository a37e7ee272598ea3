import { expect, test } from 'vitest'
import { runs } from '../long.ts'
import { MUTANTS } from '../simulation/mutants/mutants.ts'
import { catchMutant } from '../simulation/mutants/plant.ts'
import { simulate } from '../simulation/run.ts'
import { expectNoneBroken } from '../simulation/run-process.ts'

test('many seeds of the real engine on the simulated machine break no promise', () => expectNoneBroken(runs(80, 2000)))

test('a seed replays to the same events', async () => {
  const [one, two] = [await simulate(7, { trace: true }), await simulate(7, { trace: true })]
  expect(one.trace.length).toBeGreaterThan(100)
  expect(two.trace).toEqual(one.trace)
})

/** How many seeds a bug may survive. */
const PATIENCE = 2000

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('the simulation catches: %s', async (_, mutant) => {
  const { seed, output } = await catchMutant(mutant, PATIENCE)
  expect(seed, `It survived:\n${output}`).toBeDefined()
})
