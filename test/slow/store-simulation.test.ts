/** Runs of the whole store on the simulated machine, held against a naive model, and the bugs of the store that they must catch. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { plant, runSeeds } from '../simulation/mutants/plant.ts'
import { STORE_MUTANTS } from '../simulation/mutants/store-mutants.ts'
import { simulateStore } from '../simulation/store/run.ts'

const MAIN = fileURLToPath(new URL('../../build/test/simulation/main.js', import.meta.url))

function run(from: number, seeds: number): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, '--store', '--from', String(from), '--seeds', String(seeds), '--quiet'], {
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

test('700 seeds of the real store on the simulated machine break no promise, and leave no damage', async () => {
  for (const { code, output } of await Promise.all([run(1, 350), run(351, 350)])) {
    console.log(output.trim())
    expect(output).toMatch(/^350 seeds from \d+ in [\d.]+ s: 0 broken/m)
    expect(code).toBe(0)
  }
})

test('a seed of the store replays to the same events', async () => {
  const [one, two] = [await simulateStore(7, { trace: true }), await simulateStore(7, { trace: true })]
  expect(one.trace.length).toBeGreaterThan(100)
  expect(two.trace).toEqual(one.trace)
})

/** How many seeds a bug may survive. */
const PATIENCE = 4000

test.each(STORE_MUTANTS.map((mutant) => [mutant.name, mutant] as const))('the simulation catches: %s', async (_, mutant) => {
  const { seed, output } = await runSeeds(await plant(mutant), mutant, mutant.seed, PATIENCE)
  expect(seed, `It survived:\n${output}`).toBeDefined()
})
