/** Runs of the whole store on the simulated machine, held against a naive model, and the bugs of the store that they must catch. */
import { expect, test } from 'vitest'
import { plant, runSeeds } from '../simulation/mutants/plant.ts'
import { STORE_MUTANTS } from '../simulation/mutants/store-mutants.ts'
import { runProcess } from '../simulation/run-process.ts'
import { simulateStore } from '../simulation/store/run.ts'

test('700 seeds of the real store on the simulated machine break no promise, and leave no damage', async () => {
  for (const { code, output } of await Promise.all([runProcess(1, 350, '--store'), runProcess(351, 350, '--store')])) {
    console.log(output.trim())
    expect(output).toMatch(/^350 seeds from \d+ in [\d.]+ s: 0 broken/m)
    expect(code).toBe(0)
  }
})

test('400 seeds with workers too: every archive has one summary in the end, of what it took, whoever died with it', async () => {
  for (const { code, output } of await Promise.all([
    runProcess(1, 200, '--store', '--workers'),
    runProcess(201, 200, '--store', '--workers'),
  ])) {
    console.log(output.trim())
    expect(output).toMatch(/^200 seeds from \d+ in [\d.]+ s: 0 broken/m)
    expect(code).toBe(0)
  }
})

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
  const { seed, output } = await runSeeds(await plant(mutant), mutant, mutant.seed, PATIENCE)
  expect(seed, `It survived:\n${output}`).toBeDefined()
})
