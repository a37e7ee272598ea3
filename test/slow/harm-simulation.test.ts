import { expect, test } from 'vitest'
import { HARM_MUTANTS } from '../simulation/mutants/harm-mutants.ts'
import { plant, runSeeds } from '../simulation/mutants/plant.ts'
import { runProcess } from '../simulation/run-process.ts'

test('700 seeds in which somebody harms the files break no promise: every loss under a watermark is reported, and nothing else', async () => {
  for (const { code, output } of await Promise.all([runProcess(1, 350, '--harm'), runProcess(351, 350, '--harm')])) {
    console.log(output.trim())
    expect(output).toMatch(/^350 seeds from \d+ in [\d.]+ s: 0 broken/m)
    expect(code).toBe(0)
  }
})

/** How many seeds a bug may survive. */
const PATIENCE = 1000

test.each(HARM_MUTANTS.map((mutant) => [mutant.name, mutant] as const))('the simulation catches: %s', async (_, mutant) => {
  const { seed, output } = await runSeeds(await plant(mutant), mutant, mutant.seed, PATIENCE)
  expect(seed, `It survived:\n${output}`).toBeDefined()
})
