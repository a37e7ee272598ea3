/** Every bit of the segments of a store flipped, and some of its id files, whose every bit test/damage/derived.test.ts flips. */
import { expect, test } from 'vitest'
import { flipBits } from '../doctor/flips.ts'
import { makeSmallStore } from '../doctor/sample.ts'
import { step } from '../long.ts'

test.each([
  ['segments', '.jsonl', step(3)],
  ['id files', '.ids', 13],
])('the doctor finds any flipped bit of %s, at its place', async (_, ending, step) => {
  const { bits, unnoticed, misplaced } = await flipBits(await makeSmallStore(), ending, step)
  expect(bits).toBeGreaterThan(2_000)
  expect(unnoticed).toEqual([])
  expect(misplaced).toEqual([])
})
