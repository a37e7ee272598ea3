import { describe, expect, test } from 'vitest'
import type { Counted } from '../record/fold.ts'
import { sessionReducer } from './reducer.ts'
import { type AcceptedGap, INITIAL, type SessionState } from './state.ts'

const LOSS: AcceptedGap = { position: 900, to: 1200, count: 3, reason: 'vanished', since: '2026-01-01T00:00:00.000Z' }
const LIVE: SessionState = { ...INITIAL, status: 'live', id: 'a', space: 'default' }

function acknowledge(state: SessionState, payload: object): SessionState {
  const record = { v: 1, id: 'r', at: '2026-01-02T00:00:00.000Z', type: 'damage.acknowledged', prev: '', pos: 2000, ...payload }
  return sessionReducer.apply(state, { kind: 'counted', carried: false, record, at: 2000, end: 2100, crc: '00000000' } as Counted)
}

describe('damage that a person has accepted', () => {
  test('is in the state, with what is known of it', () => {
    expect(acknowledge(LIVE, { findings: [], gaps: [LOSS] }).accepted).toEqual([LOSS])
  })

  test('is also what the doctor found and had acknowledged, if a record was lost there', () => {
    const findings = [
      { kind: 'rotten', segment: 100, offset: 20, length: 30 },
      { kind: 'lost-page', segment: 100, offset: 60, length: 10 },
      { kind: 'missing-segment', segment: 100, offset: 90, length: 0 },
      { kind: 'wrong-checkpoint', segment: 100, offset: 0, length: 5 },
      { kind: 'lost-past', segment: null, offset: null, length: null },
    ]
    expect(acknowledge(LIVE, { findings }).accepted).toEqual([
      { position: 120, to: 150, count: null, reason: 'rotten', since: null },
      { position: 160, to: 170, count: null, reason: 'zeros', since: null },
      { position: 190, to: 190, count: null, reason: 'missing', since: null },
    ])
  })

  test('is there once, however often it is accepted, and changes no version', () => {
    const once = acknowledge(LIVE, { findings: [], gaps: [LOSS] })
    expect(acknowledge(once, { findings: [], gaps: [LOSS] })).toBe(once)
    expect(once.version).toBe(LIVE.version)
  })

  test('is in a checkpoint if there is some, so that the checkpoints of other sessions keep their bytes', () => {
    expect(sessionReducer.checkpoint(LIVE)).not.toHaveProperty('accepted')
    expect(sessionReducer.restore(sessionReducer.checkpoint(LIVE))).toEqual(LIVE)
    const state = acknowledge(LIVE, { findings: [], gaps: [LOSS] })
    expect(sessionReducer.restore(sessionReducer.checkpoint(state))).toEqual(state)
  })
})
