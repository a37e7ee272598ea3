/** What the fuzzer has learned, and what it has found, without the fuzzer: on every machine. */
import { expect, test } from 'vitest'
import { keptCorpus } from './corpus.ts'
import { TARGETS } from './targets.ts'

test.each(TARGETS)('no input of the corpus breaks $name', async (target) => {
  const inputs = [...target.seeds, ...keptCorpus(target.name)]
  expect(inputs.length).toBeGreaterThan(0)
  for (const [index, bytes] of inputs.entries())
    await expect(Promise.resolve(target.fuzz(bytes)), `input ${index}`).resolves.toBeUndefined()
})
