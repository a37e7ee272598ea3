import { expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { FLIPPED } from './flips.ts'
import { type Possible, scheduleOf } from './schedule.ts'

const DIRECTORY: Possible = {
  ...{ places: 18, ways: 0, database: false, faults: true, clocks: true, leaseMs: 1500, harms: ['cut to zero'] },
  ...{ flips: true, mounts: true },
}
const SEEDS = Array.from({ length: 50 }, (_, seed) => seed + 1)

test.each(SEEDS)('a run of ten seconds flips a few bits, and unmounts the store before it cuts the power: seed %i', (seed) => {
  const troubles = scheduleOf(new Random(seed), 10_000, DIRECTORY)
  expect(troubles.filter(({ kind }) => kind === 'flip').length).toBeGreaterThan(3)
  const [first] = troubles.filter(({ kind }) => kind === 'unmount' || kind === 'power cut')
  expect(first?.kind).toBe('unmount')
  expect(troubles.map(({ at }) => at)).toEqual(troubles.map(({ at }) => at).toSorted((a, b) => a - b))
})

test('a long run flips bits in each kind of derived file, and unmounts the store again and again', () => {
  const troubles = scheduleOf(new Random(1), 600_000, DIRECTORY)
  for (const file of FLIPPED) {
    expect(troubles.filter((trouble) => trouble.kind === 'flip' && trouble.file === file).length, file).toBeGreaterThan(20)
  }
  expect(troubles.filter(({ kind }) => kind === 'unmount').length).toBeGreaterThan(20)
})

test('a run flips and unmounts nothing where that is impossible', () => {
  const kinds = scheduleOf(new Random(1), 60_000, { ...DIRECTORY, flips: false, mounts: false }).map(({ kind }) => kind)
  expect(kinds).not.toContain('flip')
  expect(kinds).not.toContain('unmount')
})
