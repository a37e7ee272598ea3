import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Found } from '../../journal/records.ts'
import type { JournalRecord } from '../../record/record.ts'
import { DepthGaps, type Gap, type Piece } from './depth-gaps.ts'

/** Records of some lengths, one after the other from depth 0 on. */
function recordsOf(lengths: readonly number[]): Found[] {
  let n = 0
  return lengths.map((length, index) => {
    const record = { v: 1, id: String(index), at: '', type: 'messages.appended', prev: '', n, messages: Array(length).fill({}) }
    n += length
    return { record: record as unknown as JournalRecord, at: index * 100, end: index * 100 + 99, crc: '' }
  })
}

function pieceOf(from: number, to: number): Piece {
  return { run: 0, from, to, first: 0, last: 10_000, journal: 's', place: 0, as: 0 }
}

function read(piece: Piece, found: readonly Found[], direction: 'forward' | 'backward'): Gap[] {
  const gaps = new DepthGaps(piece)
  const between = (direction === 'forward' ? found : found.toReversed()).map((one) => gaps[direction](one))
  return [...between, direction === 'forward' ? gaps.endForward() : gaps.endBackward()].filter((gap) => gap !== undefined)
}

test('every depth that no record has lies in exactly one gap, the same one in both directions', () => {
  const lengths = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.boolean()), { maxLength: 20 })
  fc.assert(
    fc.property(lengths, fc.nat(20), fc.nat(20), (records, low, more) => {
      const all = recordsOf(records.map(([length]) => length))
      const left = all.filter((_, index) => records[index]?.[1])
      const total = records.reduce((sum, [length]) => sum + length, 0)
      const piece = pieceOf(Math.min(low, total), Math.min(low + more, total))
      const forward = read(piece, left, 'forward')
      const has = new Set(left.flatMap(({ record: { n, messages } }) => (messages as []).map((_, i) => (n as number) + i + 1)))
      const lost = Array.from({ length: piece.to - piece.from }, (_, i) => piece.from + i + 1).filter((depth) => !has.has(depth))
      expect(forward.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i + 1))).toEqual(lost)
      expect(read(piece, left, 'backward').reverse()).toEqual(forward)
    }),
  )
})
