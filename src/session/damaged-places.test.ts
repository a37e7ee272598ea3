import { describe, expect, test } from 'vitest'
import { type Damages, damagedPlaces, type MissingMessages, withoutRepeated } from './damaged-places.ts'
import type { AcceptedGap } from './state.ts'

const EVERYWHERE = [-1, Number.POSITIVE_INFINITY] as const

function gap(position: number, more: Partial<MissingMessages> = {}): MissingMessages {
  return { position, to: position + 50, count: 2, reason: 'rotten', between: [position - 2, position + 52], ...more }
}

function places(damages: Partial<Damages>) {
  return damagedPlaces({ gaps: [], lost: [], noticed: [], accepted: [], within: EVERYWHERE, head: 1000, ...damages })
}

const accepted: AcceptedGap = { position: 300, to: 350, count: null, reason: 'rotten', since: null }

describe('the damaged places of an answer', () => {
  test('are none where nothing is lost', () => expect(places({})).toEqual([]))

  test('have the messages that are missing, inherited ones first, then by position', () => {
    expect(places({ gaps: [gap(500), gap(300, { since: '2026' }), gap(700, { session: 'parent' })] })).toEqual([
      { position: 700, count: 2, reason: 'rotten', session: 'parent' },
      { position: 300, count: 2, reason: 'rotten', since: '2026' },
      { position: 500, count: 2, reason: 'rotten' },
    ])
  })

  test('have a lost record once, if its messages are known to be missing', () => {
    const lost = [{ position: 300, to: 350, reason: 'rotten' }] as const
    expect(places({ gaps: [gap(300)], lost })).toEqual([{ position: 300, count: 2, reason: 'rotten' }])
  })

  test('have a lost record before the newest message with no missing message, and one after it with an unknown number', () => {
    const lost = [
      { position: 300, to: 350, reason: 'zeros' },
      { position: 1300, to: 1350, reason: 'rotten' },
    ] as const
    expect(places({ lost })).toEqual([
      { position: 300, count: 0, reason: 'zeros' },
      { position: 1300, count: null, reason: 'rotten' },
    ])
  })

  test('have a lost record only if the answer covers its position', () => {
    const lost = [{ position: 300, to: 350, reason: 'zeros' }] as const
    expect(places({ lost, within: [400, 900] })).toEqual([])
    expect(places({ lost, within: [300, 900] })).toEqual([])
    expect(places({ lost, within: [299, 301] })).toHaveLength(1)
  })

  test('have what vanished in every answer that reaches the end, and in no other', () => {
    const lost = [{ position: 300, to: 350, reason: 'vanished', since: '2026' }] as const
    expect(places({ lost, within: [900, Number.POSITIVE_INFINITY] })).toEqual([
      { position: 300, count: null, reason: 'vanished', since: '2026' },
    ])
    expect(places({ lost, within: [400, 900] })).toEqual([])
  })

  test('are marked as accepted where a person has reviewed them, and not reported twice', () => {
    expect(places({ gaps: [{ ...gap(300), accepted: true }], accepted: [accepted] })).toEqual([
      { position: 300, count: 2, reason: 'rotten', accepted: true },
    ])
    const lost = [{ position: 300, to: 350, reason: 'rotten' }] as const
    expect(places({ lost, accepted: [accepted] })).toEqual([{ position: 300, count: 0, reason: 'rotten', accepted: true }])
  })

  test('have what was accepted although nothing else shows it, with what is known of it', () => {
    const vanished: AcceptedGap = { position: 900, to: 950, count: 7, reason: 'vanished', since: '2026' }
    expect(places({ accepted: [accepted, vanished] })).toEqual([
      { position: 300, count: 0, reason: 'rotten', accepted: true },
      { position: 900, count: 7, reason: 'vanished', accepted: true, since: '2026' },
    ])
  })

  test('leave other gaps unmarked', () => {
    expect(places({ gaps: [gap(500)], accepted: [accepted] })).toMatchObject([{ position: 300, accepted: true }, { position: 500 }])
    expect(places({ gaps: [gap(500)], accepted: [accepted] })[1]).not.toHaveProperty('accepted')
  })

  test('have an inherited loss as accepted only if its own session has accepted it', () => {
    expect(places({ gaps: [gap(300, { session: 'a' })], accepted: [accepted] })[0]).not.toHaveProperty('accepted')
    expect(places({ gaps: [gap(300, { session: 'a', accepted: true })] })[0]).toMatchObject({ accepted: true, session: 'a' })
  })
})

test('of two reports of one place the first one is kept', () => {
  const [one, other] = [{ position: 1, count: 2, reason: 'rotten' } as const, { position: 1, count: 0, reason: 'zeros' } as const]
  expect(withoutRepeated([one, other, { ...other, session: 'a' }])).toEqual([one, { ...other, session: 'a' }])
})
