/** Every bit of the segments of a store flipped, and some of its id files, whose every bit test/damage/derived.store.test.ts flips. */
import { expect, test } from 'vitest'
import { flipBits } from '../doctor/flips.ts'
import { makeSmallStore } from '../doctor/sample.ts'
import { runs, start, step } from '../long.ts'

test.each([
  ['segments', '.jsonl', step(23)],
  ['id files', '.ids', step(47)],
])('the doctor finds any flipped bit of %s, at its place', async (_, ending, step) => {
  const { bits, unnoticed, misplaced } = await flipBits(await makeSmallStore(), ending, step, start(step))
  expect(bits).toBeGreaterThan(runs(500, 2_000))
  expect(unnoticed).toEqual([])
  expect(misplaced).toEqual([])
})
