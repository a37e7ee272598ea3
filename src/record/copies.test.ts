import { expect, test } from 'vitest'
import { firstCopy, secondCopy } from './copies.ts'
import { encodeBody, Group, splitLines } from './line.ts'

/** The lines of one record that is written twice, at a place of a journal. */
function linesAt(at: number): { at: number; end: number }[] {
  const group = new Group(at, '00000000')
  group.add(encodeBody({ id: 'r', at: '2026-11-15T00:00:00.000Z', type: 'session.described', payload: { title: 'A title' } }))
  const { lines } = splitLines(group.bytes, at)
  return lines.filter(({ bytes }) => bytes.length > 1).map(({ at: begin, bytes }) => ({ at: begin, end: begin + bytes.length }))
}

test('the place of one copy follows from the place of the other, also where the position gains a digit between them', () => {
  const places = [0, 5, 7, 8, 9, 500, 2 ** 32, ...Array.from({ length: 300 }, (_, i) => 9_750 + i)]
  const found = places.map((at) => {
    const [first, second] = linesAt(at) as [{ at: number; end: number }, { at: number; end: number }]
    return { at, first: firstCopy(second), second: secondCopy(first), lines: [first, second] }
  })
  for (const { first, second, lines } of found) expect([first, second]).toEqual(lines)
  expect(found.filter(({ lines }) => String(lines[0]?.at).length < String(lines[1]?.at).length).length).toBeGreaterThan(50)
})

test('no copy begins before the journal does', () => {
  expect(firstCopy({ at: 2, end: 200 })).toBeUndefined()
})
