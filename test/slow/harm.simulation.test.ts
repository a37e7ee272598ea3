import { expect, test } from 'vitest'
import { runs } from '../long.ts'
import { HARM_MUTANTS } from '../simulation/mutants/harm-mutants.ts'
import { catchMutant } from '../simulation/mutants/plant.ts'
import { expectNoneBroken } from '../simulation/run-process.ts'

test('many seeds that harm the files break no promise: every loss under a watermark is reported, and nothing else', () =>
  expectNoneBroken(runs(40, 700), '--harm'))

/** How many seeds a bug may survive. */
const PATIENCE = 1000

test.each(HARM_MUTANTS.map((mutant) => [mutant.name, mutant] as const))('the simulation catches: %s', async (_, mutant) => {
  const { seed, output } = await catchMutant(mutant, PATIENCE)
  expect(seed, `It survived:\n${output}`).toBeDefined()
})
