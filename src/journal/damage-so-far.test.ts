import { describe, expect, test } from 'vitest'
import { isDamaged } from '../record/damage.ts'
import { type Counted, JournalFold } from '../record/fold.ts'
import { DamageSoFar } from './damage-so-far.ts'

const LAST = { at: 100, end: 190 }
const CRC = 'aaaaaaaa'

/** The fold of a journal whose last record is at LAST. */
function fold(segment = 0, prev = CRC): JournalFold {
  const made = new JournalFold(segment)
  made.prev = prev
  return made
}

function record(prev: string): Counted {
  return { kind: 'counted', carried: false, record: { type: 'entry.put', prev }, at: 300, end: 400, crc: 'bbbbbbbb' } as unknown as Counted
}

const met = (
  as: 'zeros' | 'rotten' | 'missing' | 'torn',
  { of = fold(), checksum = undefined as string | undefined } = {},
): DamageSoFar => {
  const damage = new DamageSoFar()
  damage.add(of, { at: 200, length: 50, as }, checksum)
  return damage
}

describe('a session is damaged', () => {
  test.each([
    ['zeros, with nothing after them', met('zeros'), false],
    ['zeros where nothing counts yet', met('zeros', { of: fold(0, '') }), false],
    ['something rotten where nothing counts yet', met('rotten', { of: fold(0, '') }), true],
    ['zeros before the segment is ready', met('zeros', { of: fold(1000) }), true],
    ['something rotten, with nothing after it', met('rotten'), true],
    ['a torn line', met('torn'), false],
    ['a missing end of a segment', met('missing'), true],
  ])('by %s', (_, damage, expected) => {
    expect(isDamaged(damage.places)).toBe(expected)
  })

  test.each([
    ['zeros', met('zeros'), CRC, false],
    ['zeros', met('zeros'), 'cccccccc', true],
    ['a piece of a line', met('rotten'), CRC, false],
    ['a piece of a line', met('rotten'), 'cccccccc', true],
    ['a record that still shows its checksum', met('rotten', { checksum: 'cccccccc' }), CRC, true],
    ['a missing end of a segment', met('missing'), CRC, true],
    ['a torn line', met('torn'), CRC, false],
    ['a torn line', met('torn'), 'cccccccc', true],
    ['nothing', new DamageSoFar(), CRC, false],
    ['a blanked line', new DamageSoFar(), 'cccccccc', true],
  ])('by %s, if the next record names another checksum: %#', (_, damage, prev, expected) => {
    damage.count(record(prev), { segment: 0, prev: CRC, fresh: false }, LAST)
    expect(isDamaged(damage.places)).toBe(expected)
  })

  test('by what a segment ends with, once the next one begins', () => {
    const damage = met('zeros')
    damage.leave(LAST.at)
    expect(isDamaged(damage.places)).toBe(true)
  })

  test('no longer by a piece of a line after which this process has placed a record', () => {
    const damage = met('rotten')
    damage.follow(LAST.at)
    expect(isDamaged(damage.places)).toBe(false)
  })

  test('by what a record misses, even if a later record misses nothing', () => {
    const damage = met('zeros')
    damage.count(record('cccccccc'), { segment: 0, prev: CRC, fresh: false }, LAST)
    damage.count(record('bbbbbbbb'), { segment: 0, prev: 'bbbbbbbb', fresh: false }, { at: 300, end: 400 })
    expect(isDamaged(damage.places)).toBe(true)
  })

  test('not by what the first record of a segment names, since several checkpoints may have been written', () => {
    const damage = new DamageSoFar()
    damage.count(record('cccccccc'), { segment: 0, prev: CRC, fresh: true }, LAST)
    expect(isDamaged(damage.places)).toBe(false)
  })

  test('not by a line that an erasure has written over', () => {
    const damage = new DamageSoFar()
    damage.count(record('cccccccc'), { segment: 0, prev: CRC, fresh: false }, LAST)
    const erased = { ...record('bbbbbbbb'), record: { type: 'message.erased', prev: 'bbbbbbbb', lines: [{ old: 'cccccccc' }] } }
    damage.count(erased as unknown as Counted, { segment: 0, prev: 'bbbbbbbb', fresh: false }, { at: 300, end: 400 })
    expect(isDamaged(damage.places)).toBe(false)
  })

  test('not by a record whose first copy was blanked: the next one names that copy', () => {
    const title = { ...record(CRC), record: { v: 2, type: 'session.described', prev: CRC } } as unknown as Counted
    for (const isRepeated of [false, true]) {
      const damage = new DamageSoFar()
      damage.count(title, { segment: 0, prev: CRC, fresh: false }, LAST)
      if (isRepeated) damage.repeat()
      damage.count(record('cccccccc'), { segment: 0, prev: 'bbbbbbbb', fresh: false }, { at: 300, end: 400 })
      expect(isDamaged(damage.places)).toBe(isRepeated)
    }
  })
})
