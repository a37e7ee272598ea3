import { expect, test } from 'vitest'
import { RecentEntries } from './recent-entries.ts'
import { asTime } from './values.ts'

test.each([
  ['2026-03-01T10:00:00.123Z', '2026-03-01T10:00:00.123Z'],
  ['2026-03-01T10:00:00Z', '2026-03-01T10:00:00.000Z'],
  ['2026-03-01T10:00:00', '2026-03-01T10:00:00.000Z'],
  ['2026-03-01T10:00:00.123456', '2026-03-01T10:00:00.123Z'],
  ['2026-03-01T10:00:00.123456Z', '2026-03-01T10:00:00.123Z'],
  ['2026-03-01T10:00:00.5Z', '2026-03-01T10:00:00.500Z'],
  ['2026-03-01T10:00:00+02:00', '2026-03-01T08:00:00.000Z'],
  ['2026-03-31T10:00:00.000Z', '2026-03-31T10:00:00.000Z'],
  ['2026-02-28T23:59:59.999Z', '2026-02-28T23:59:59.999Z'],
  ['1772359200', '2026-03-01T10:00:00.000Z'],
  [1_772_359_200_000, '2026-03-01T10:00:00.000Z'],
])('the moment %s is %s', (given, expected) => {
  expect(asTime(given)).toBe(expected)
})

test.each([
  '2026-13-01T10:00:00.000Z',
  '2026-03-00T10:00:00.000Z',
  '2026-03-01T25:00:00.000Z',
  '2026-03-01T10:61:00.000Z',
  'soon',
  '',
  null,
])('%s is no moment', (given) => {
  expect(asTime(given)).toBeUndefined()
})

test('the last ones are remembered, with their newest value, and older ones are let go', () => {
  const remembered = new RecentEntries<number>(3)
  for (let n = 0; n < 10; n++) remembered.set(`a${n}`, n)
  remembered.set('a8', 80)
  expect([7, 8, 9].map((n) => remembered.get(`a${n}`))).toEqual([7, 80, 9])
  expect(remembered.get('a0')).toBeUndefined()
})
