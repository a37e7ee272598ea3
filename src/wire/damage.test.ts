import { expect, test } from 'vitest'
import type { DamagedPlace } from '../store/damage/damage.ts'
import { damageField, damageIn, damageText, distinctPlaces, placeCodec } from './damage.ts'

const ROTTEN: DamagedPlace = { position: 10, count: 3, reason: 'rotten' }
const VANISHED: DamagedPlace = {
  position: 20,
  count: null,
  reason: 'vanished',
  session: 'a',
  accepted: true,
  since: '2026-11-16T00:00:00.000Z',
}

test('a place keeps all its fields on the way out and back, and gains none', () => {
  for (const place of [ROTTEN, VANISHED]) {
    const sent = JSON.parse(JSON.stringify(placeCodec.encode(place)))
    expect(placeCodec.decode(sent)).toEqual(place)
    expect(Object.keys(placeCodec.decode(sent))).toEqual(Object.keys(place))
  }
})

test('an answer has the field only if something is missing', () => {
  expect(damageField([])).toEqual({})
  expect(damageField([ROTTEN])).toEqual({ damage: [ROTTEN] })
})

test('places are taken from the field, and from the header where there is no field', () => {
  expect(damageIn({ damage: [ROTTEN] }, '1')).toEqual([ROTTEN])
  expect(damageIn({}, '2')).toEqual([
    { position: 0, count: null, reason: 'missing' },
    { position: 0, count: null, reason: 'missing' },
  ])
  expect(damageIn({}, null)).toEqual([])
  expect(damageIn({}, '-1')).toEqual([])
  expect(damageIn({}, '999999999')).toHaveLength(1000)
})

test('a place that several pages report is counted once, with the largest known count', () => {
  expect(distinctPlaces([ROTTEN, { ...ROTTEN, count: null }, { ...ROTTEN, count: 4 }, VANISHED])).toEqual([
    { ...ROTTEN, count: 4 },
    VANISHED,
  ])
})

test.each<[readonly DamagedPlace[], string]>([
  [[ROTTEN], '3 messages are missing at 1 place (rotten)'],
  [[{ ...ROTTEN, count: 1 }], '1 message is missing at 1 place (rotten)'],
  [[ROTTEN, { ...ROTTEN, position: 11, count: null }], 'at least 3 messages are missing at 2 places (rotten)'],
  [[VANISHED], 'messages may be missing at 1 place (vanished, accepted)'],
  [[{ ...ROTTEN, count: 0 }], 'no messages are missing, but data cannot be read at 1 place (rotten)'],
])('%j reads as a sentence', (damage, text) => {
  expect(damageText(damage)).toBe(text)
})
