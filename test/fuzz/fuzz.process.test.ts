/** Ten seconds of fuzzing for each target, from the corpus that is kept. `npm run fuzz -- --minutes N` goes on for longer. */
import { expect, test } from 'vitest'
import { runs, SEED } from '../long.ts'
import { requirePlatform } from '../platform.ts'
import { fuzz } from './fuzz.ts'
import { targets as planted } from './targets/planted.ts'
import { TARGETS } from './targets.ts'

const compiler = requirePlatform('compiler')
const SECONDS = runs(10, 60)
/** A target that mostly waits to be loaded has not been fuzzed. */
const LEAST_RUNS = 100

test.skipIf(!compiler.available).each(TARGETS)('nothing that the fuzzer finds breaks $name', async (target) => {
  const fuzzed = await fuzz(target, SECONDS, SEED)
  expect(fuzzed.finds, fuzzed.said).toEqual([])
  expect(fuzzed.runs, fuzzed.said).toBeGreaterThan(LEAST_RUNS)
  expect(fuzzed.coverage).toBeGreaterThan(0)
})

test.skipIf(!compiler.available)('the fuzzer finds a bug that only coverage leads to', async () => {
  const [target] = planted
  if (target === undefined) throw new Error('nothing is planted')
  const { finds, said } = await fuzz(target, 120, SEED)
  expect(finds).toHaveLength(1)
  expect(said).toContain('Error: planted')
})
