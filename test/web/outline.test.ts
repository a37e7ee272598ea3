import { expect, test } from 'vitest'
import { type ArchiveInfo, Outline } from '../../web/session/outline.ts'

function archive(number: number, ...spans: readonly { from: number; to: number }[]): ArchiveInfo {
  return { number, spans } as unknown as ArchiveInfo
}

/** The rows as text: `A1` for the chapter of an archive, a depth for a message. */
function rows(outline: Outline): string {
  const all = Array.from({ length: outline.count }, (_, row) => outline.at(row))
  return all.map((place) => (place.kind === 'chapter' ? `A${place.archive.number}` : place.depth)).join(' ')
}

const TWO = [archive(2, { from: 4, to: 6 }), archive(1, { from: 1, to: 3 })]

test.each([
  ['without archives, every message is a row', 4, [], [], '1 2 3 4'],
  ['a closed chapter is one row', 8, TWO, [], 'A1 A2 7 8'],
  ['an open chapter has its messages after it', 8, TWO, [2], 'A1 A2 4 5 6 7 8'],
  ['messages between two archives are rows', 6, [archive(1, { from: 1, to: 2 }), archive(2, { from: 5, to: 6 })], [], 'A1 3 4 A2'],
  ['an archive with two spans has two chapters', 5, [archive(1, { from: 1, to: 1 }, { from: 3, to: 4 })], [], 'A1 2 A1 5'],
  ['a span ends with the branch', 5, [archive(1, { from: 4, to: 9 })], [1], '1 2 3 A1 4 5'],
  ['a span after the end of the branch is left out', 3, [archive(1, { from: 7, to: 9 })], [], '1 2 3'],
  ['an empty session has no row', 0, [], [], ''],
] as const)('%s', (_, total, archives, open, expected) => {
  expect(rows(new Outline(total, archives, new Set(open)))).toBe(expected)
})

test('a message is found in its row, or in the closed chapter that hides it', () => {
  const closed = new Outline(8, TWO, new Set([1]))
  expect(closed.find(2)).toEqual({ row: 2, closed: undefined })
  expect(closed.find(5)).toEqual({ row: 4, closed: 2 })
  expect(closed.find(7)).toEqual({ row: 5, closed: undefined })
  for (const depth of [1, 2, 3, 7, 8]) expect(closed.at(closed.find(depth).row)).toEqual({ kind: 'message', depth })
})

test('keys are distinct, and stay the same when a chapter opens or a message comes', () => {
  const before = new Outline(8, TWO, new Set())
  const after = new Outline(9, TWO, new Set([1]))
  const keys = Array.from({ length: after.count }, (_, row) => after.keyOf(row))
  expect(new Set(keys).size).toBe(after.count)
  const twice = new Outline(5, [archive(1, { from: 1, to: 1 }, { from: 3, to: 4 })], new Set())
  expect(twice.keyOf(0)).not.toBe(twice.keyOf(2))
  expect(before.keyOf(before.find(7).row)).toBe(after.keyOf(after.find(7).row))
  expect(before.keyOf(before.find(5).row)).toBe(after.keyOf(after.find(5).row))
})
