import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MUTANTS } from '../simulation/mutants/mutants.ts'
import { plant, runSeeds } from '../simulation/mutants/plant.ts'
import { simulate } from '../simulation/run.ts'

const MAIN = fileURLToPath(new URL('../../build/test/simulation/main.js', import.meta.url))

function run(from: number, seeds: number): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, '--from', String(from), '--seeds', String(seeds), '--quiet'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

test('2,000 seeds of the real engine on the simulated machine break no promise', async () => {
  for (const { code, output } of await Promise.all([run(1, 1000), run(1001, 1000)])) {
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
