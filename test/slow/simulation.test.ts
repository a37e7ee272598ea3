import { expect, test } from 'vitest'
import { MUTANTS } from '../simulation/mutants/mutants.ts'
import { plant, runSeeds } from '../simulation/mutants/plant.ts'
import { simulate } from '../simulation/run.ts'
import { runProcess } from '../simulation/run-process.ts'

test('2,000 seeds of the real engine on the simulated machine break no promise', async () => {
  for (const { code, output } of await Promise.all([runProcess(1, 1000), runProcess(1001, 1000)])) {
    console.log(output.trim())
    expect(output).toMatch(/^1000 seeds from \d+ in [\d.]+ s: 0 broken/m)
    expect(code).toBe(0)
  }
})

test('a seed replays to the same events', async () => {
  const [one, two] = [await simulate(7, { trace: true }), await simulate(7, { trace: true })]
  expect(one.trace.length).toBeGreaterThan(100)
  expect(two.trace).toEqual(one.trace)
})

/** How many seeds a bug may survive. */
const PATIENCE = 2000

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('the simulation catches: %s', async (_, mutant) => {
  const { seed, output } = await runSeeds(await plant(mutant), mutant, mutant.seed, PATIENCE)
  expect(seed, `It survived:\n${output}`).toBeDefined()
})
