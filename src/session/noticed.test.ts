import { describe, expect, test } from 'vitest'
import type { NoticedGap } from '../record/damage.ts'
import type { Counted } from '../record/fold.ts'
import { sessionReducer } from './reducer.ts'
import { INITIAL, type SessionState } from './state.ts'

const GAP: NoticedGap = { position: 900, to: 1200, reason: 'rotten' }
const LIVE: SessionState = { ...INITIAL, status: 'live', id: 'a', space: 'default', tip: [500, 0], born: 100 }

function noticing(state: SessionState, gaps: readonly NoticedGap[]): SessionState {
  const record = { v: 2, id: 'r', at: '2026-01-02T00:00:00.000Z', type: 'damage.noticed', prev: '', pos: 2000, gaps }
  return sessionReducer.apply(state, {
    kind: 'counted',
    carried: false,
    record,
    at: 2000,
    end: 2100,
    crc: '00000000',
  } as unknown as Counted)
}

describe('a writer writes down what was lost', () => {
  test('after the last message', () => {
    expect(sessionReducer.notice(LIVE, [GAP])).toEqual({ type: 'damage.noticed', payload: { gaps: [GAP] } })
  })

  test('before the first message', () => {
    expect(sessionReducer.notice({ ...LIVE, tip: null }, [GAP])?.payload).toEqual({ gaps: [GAP] })
  })

  test('but not before the last message, whose depth shows it', () => {
    expect(sessionReducer.notice({ ...LIVE, tip: [1300, 0] }, [GAP])).toBeUndefined()
  })

  test('but not in an earlier incarnation', () => {
    expect(sessionReducer.notice({ ...LIVE, tip: null, born: 1300 }, [GAP])).toBeUndefined()
  })

  test('but not what was written down or accepted before', () => {
    expect(sessionReducer.notice(noticing(LIVE, [GAP]), [GAP])).toBeUndefined()
    expect(sessionReducer.notice({ ...LIVE, accepted: [{ ...GAP, count: null, since: null }] }, [GAP])).toBeUndefined()
  })
})

describe('damage that was noticed', () => {
  test('is in the state, and changes no version', () => {
    const state = noticing(LIVE, [GAP])
    expect(state.noticed).toEqual([GAP])
    expect(state.version).toBe(LIVE.version)
    expect(state.updatedAt).toBe(LIVE.updatedAt)
  })

  test('is in a checkpoint if there is some, so that the checkpoints of other sessions keep their bytes', () => {
    expect(sessionReducer.checkpoint(LIVE)).not.toHaveProperty('noticed')
    const state = noticing(LIVE, [GAP])
    expect(sessionReducer.restore(sessionReducer.checkpoint(state))).toEqual(state)
  })

  test('is kept in 100 places at most, the last of which covers the rest', () => {
    const gaps = Array.from({ length: 130 }, (_, i): NoticedGap => ({ position: 1000 + 10 * i, to: 1005 + 10 * i, reason: 'rotten' }))
    const state = gaps.reduce((before, gap) => noticing(before, [gap]), LIVE)
    expect(state.noticed).toHaveLength(100)
    expect(state.noticed.at(-1)).toEqual({ position: 1990, to: 2295, reason: 'rotten' })
    expect(sessionReducer.notice(state, gaps)).toBeUndefined()
  })
})
