/**
 * Any flipped bit below `sessions/` is found, at its place: of a line, of the blank in front of it, of a newline, of an id file. One bit in many;
 * test/slow/doctor.store.test.ts flips them all.
 */
import { expect, test } from 'vitest'
import { flipBits } from './flips.ts'
import { makeSmallStore, segmentsOf } from './sample.ts'

test('a flipped bit is found, at its place', async () => {
  const files = await makeSmallStore()
  expect(segmentsOf(files, 's')).toHaveLength(2)
  const { bits, unnoticed, misplaced } = await flipBits(files, '', 97)
  expect(bits).toBeGreaterThan(500)
  expect(unnoticed).toEqual([])
  expect(misplaced).toEqual([])
})
