/** Every rule about harmed sessions catches what was planted for it, and accepts a history in which Holdfast did everything right. */
import { describe, expect, test } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import type { Rule } from './check.ts'
import type { Flip } from './flips.ts'
import type { Harm, Strike } from './harms.ts'
import type { Call, Extent, Wish } from './history.ts'
import { append, broken, call, finalOf, never, read, S } from './planted.ts'

/** Seconds: what was acknowledged two of them before a harm must be noticed. */
const s = (...[begun, ended]: readonly [number, number]): readonly [number, number] => [begun * 1_000_000, ended * 1_000_000]

function harmAt([from, to]: readonly [number, number], over: Partial<Harm> = {}): Harm {
  const [a, b] = s(from, to)
  const none = { titles: [], archives: [] }
  return { kind: 'cut to half', session: S, from: a, to: b, before: ['a1', 'a2'], lost: ['a2'], ...none, isTail: true, ...over }
}

const strike = (kind: string, place: string | null, [from, to]: readonly [number, number]): Strike => ({
  ...{ kind, place },
  ...{ from: from * 1_000_000, to: to * 1_000_000 },
})

const accept = (at: readonly [number, number]): Call => call('k', s(...at), { kind: 'accept', session: S }, { gaps: 1 })
const refused = (at: readonly [number, number], code = 'DAMAGED'): Call => append('b', s(...at), ['refused'], { told: 'refused', code })
const look = (at: readonly [number, number], tags: string[], damage: Partial<Extent> = {}): Call => read('r', s(...at), tags, null, damage)

/** Two messages are written; the second one is lost at second 10. */
const WRITTEN = [append('a', s(1, 2), ['a1']), append('a', s(3, 4), ['a2'])]
const CUT = harmAt([10, 10.1])
/** The loss is reported, refused to writers, accepted, and kept in what readers are shown; then the session continues. */
const NOTICED = [...WRITTEN, look([11, 12], ['a1'], { damaged: 1 }), refused([13, 14])]
const ACCEPTED = [...NOTICED, accept([15, 16]), look([17, 18], ['a1'], { accepted: 1 }), append('b', s(19, 20), ['b1'])]
const CONTINUED = finalOf(['a1', 'b1'])

test('a loss that is reported, refused to writers and accepted breaks no rule', () => {
  expect(broken(ACCEPTED, CONTINUED, { harms: [CUT] })).toEqual([])
})

describe('a loss that is not reported breaks a rule', () => {
  const rule: Rule = 'shorter reads report damage'
  test('when a read before its acceptance returns less and no damage', () => {
    expect(broken([...WRITTEN, look([11, 12], ['a1'])], finalOf(['a1']), { harms: [CUT] })).toEqual([rule])
  })

  test('when a read after its acceptance returns less and no accepted damage', () => {
    expect(broken([...ACCEPTED, look([21, 22], ['a1', 'b1'])], CONTINUED, { harms: [CUT] })).toEqual([rule])
  })

  test('when a list shows fewer messages and no damage', () => {
    const list = call('l', s(11, 12), { kind: 'list' }, { seen: [{ session: S, count: 1, digest: '', title: null, damaged: 0 }] })
    expect(broken([...WRITTEN, list], finalOf(['a1']), { harms: [CUT] })).toEqual([rule])
  })

  test('when a session that lost everything is said not to exist', () => {
    const deleted = harmAt([10, 10.1], { kind: 'directory deleted', lost: ['a1', 'a2'] })
    const absent = call('r', s(11, 12), { kind: 'read', session: S }, { told: 'refused', code: 'NOT_FOUND' })
    expect(broken([...WRITTEN, absent], finalOf([]), { harms: [deleted] })).toEqual(['vanished is not new'])
  })

  test('when a session is said not to exist, whose loss was accepted, unless a later harm left no trace', () => {
    const absent = call('r', s(31, 32), { kind: 'read', session: S }, { told: 'refused', code: 'NOT_FOUND' })
    const deleted = harmAt([30, 30.1], { kind: 'directory deleted', before: ['a1', 'b1'], lost: ['a1', 'b1'] })
    const calls = [...ACCEPTED, absent]
    expect(broken(calls, finalOf([]), { harms: [CUT, deleted] })).toEqual(['vanished is not new'])
    expect(broken(calls, finalOf([]), { harms: [CUT, deleted], strikes: [strike('power cut', null, [25, 26])] })).toEqual([])
    const half = harmAt([30, 30.1], { before: ['a1', 'b1'], lost: ['b1'] })
    expect(broken(calls, finalOf(['a1']), { harms: [CUT, half], strikes: [strike('power cut', null, [25, 26])] })).toContain(
      'vanished is not new',
    )
  })

  test('when the harm took another message than the one that is missing', () => {
    expect(broken(WRITTEN, finalOf([]), { harms: [CUT] })).toEqual(['acknowledged once'])
  })
})

describe('an acknowledgement after a loss breaks a rule', () => {
  const writes: readonly Wish[] = [
    { kind: 'append', session: S, tags: ['b1'] },
    { kind: 'describe', session: S, title: 't' },
    { kind: 'commit', session: S, keep: 0 },
    { kind: 'import', session: S, tags: ['b1'] },
    { kind: 'fork', session: S, child: 'child' },
  ]
  test.each(writes)('of a call to $kind', (wish) => {
    const title = wish.kind === 'describe' ? wish.title : null
    const calls = [...WRITTEN, call('b', s(11, 12), wish), accept([15, 16])]
    expect(broken(calls, finalOf(['a1', ...('tags' in wish ? wish.tags : [])], { title }), { harms: [CUT] })).toContain(
      'harmed sessions take nothing',
    )
  })

  test('while two sessions are swapped', () => {
    const undone = { from: 20_000_000, to: 20_100_000 }
    const swapped = harmAt([10, 10.1], { kind: 'swapped', lost: [], undone })
    const final = finalOf(['a1', 'a2', 'b1'])
    expect(broken([...WRITTEN, append('b', s(11, 12), ['b1'])], final, { harms: [swapped] })).toEqual(['harmed sessions take nothing'])
    expect(broken([...WRITTEN, append('b', s(21, 22), ['b1'])], final, { harms: [swapped] })).toEqual([])
  })

  test('and a list that shows nothing but the damage of a swapped session breaks none', () => {
    const swapped = harmAt([10, 10.1], { kind: 'swapped', lost: [], undone: { from: 20_000_000, to: 20_100_000 } })
    const named = call('d', s(5, 6), { kind: 'describe', session: S, title: 't' })
    const listed = (at: readonly [number, number], damaged: number): Call =>
      call('l', s(...at), { kind: 'list' }, { seen: [{ session: S, count: 0, digest: '', title: null, damaged }] })
    const rules = (list: Call): Rule[] => broken([...WRITTEN, named, list], finalOf(['a1', 'a2'], { title: 't' }), { harms: [swapped] })
    expect(rules(listed([11, 12], 1))).toEqual([])
    expect(rules(listed([11, 12], 0))).toEqual(['reads never go backwards', 'titles are the last ones'])
    expect(rules(listed([21, 22], 1))).toContain('reads never go backwards')
  })

  test('of a message that the loss took, after the loss was accepted', () => {
    const repeated = append('a', s(3, 22), ['a2'], { asked: 21_000_000 })
    const calls = ACCEPTED.map((one) => (one === WRITTEN[1] ? repeated : one))
    expect(broken(calls, CONTINUED, { harms: [CUT] })).toEqual(['accepted sessions continue'])
  })
})

describe('a false alarm breaks a rule', () => {
  const rule: Rule = 'no false alarms'
  const whole = finalOf(['a1', 'a2'])
  const found = [{ session: S, what: 'vanished' }]
  test.each<readonly [string, Call]>([
    ['a read', look([5, 6], ['a1', 'a2'], { damaged: 1 })],
    ['a list', call('l', s(5, 6), { kind: 'list' }, { seen: [{ session: S, count: 2, digest: '', title: null, damaged: 1 }] })],
    ['a refusal', refused([5, 6])],
    ['the doctor', call('o', s(5, 6), { kind: 'doctor' }, { damage: found })],
    ['a copy of the store', call('p', s(5, 6), { kind: 'copy' }, { damage: found })],
  ])('raised by %s before anything was taken', (_, alarm) => {
    expect(broken([...WRITTEN, alarm], whole)).toEqual([rule])
    expect(broken([...WRITTEN, alarm], whole, { harms: [harmAt([10, 10.1], { lost: [] })] })).toEqual([rule])
  })

  test('raised at the end of a run', () => {
    expect(broken(WRITTEN, finalOf(['a1', 'a2'], {}, { damage: found }))).toEqual([rule])
    expect(broken(ACCEPTED, { ...CONTINUED, damage: found }, { harms: [CUT] })).toEqual([rule])
  })

  test('raised about a session when another one was harmed', () => {
    expect(broken([...WRITTEN, refused([11, 12])], whole, { harms: [harmAt([10, 10.1], { session: 'other' })] })).toEqual([rule])
  })

  test('raised after the loss was accepted', () => {
    const alarm = look([21, 22], ['a1', 'b1'], { damaged: 1, accepted: 1 })
    expect(broken([...ACCEPTED, alarm], CONTINUED, { harms: [CUT] })).toEqual([rule])
    expect(broken([...ACCEPTED, refused([21, 22])], CONTINUED, { harms: [CUT] })).toEqual(['accepted sessions continue', rule])
  })
})

describe('a loss may stay unnoticed', () => {
  /** As if the message had never been written. */
  const calls = [...WRITTEN, look([11, 12], ['a1']), append('b', s(13, 14), ['b1'])]
  const isAllowed = (harm: Harm, strikes: readonly Strike[] = []): boolean =>
    broken(calls, CONTINUED, { harms: [harm], strikes }).length === 0

  test('only if it took what was acknowledged less than two seconds before', () => {
    expect(isAllowed(harmAt([5.9, 6]))).toBe(true)
    expect(isAllowed(harmAt([6.1, 6.2]))).toBe(false)
  })

  test.each<readonly [string, boolean, Strike]>([
    ['its writer was killed before its watermark was written', true, strike('kill', 'a', [5, 5])],
    ['its writer was killed later', false, strike('kill', 'a', [6.1, 6.1])],
    ['another process was killed', false, strike('kill', 'b', [5, 5])],
    ['all processes were killed', true, strike('kill all', null, [5, 5])],
    ['a power cut took its watermark before the harm', true, strike('power cut', null, [9, 9.5])],
    ['a power cut took its watermark before anybody read', true, strike('power cut', null, [10.5, 10.6])],
    ['a power cut came after all calls', false, strike('power cut', null, [30, 31])],
  ])('if %s: %s', (_, isUnnoticed, one) => {
    expect(isAllowed(CUT, [one])).toBe(isUnnoticed)
  })

  test('never after its acceptance is on the disk, whatever a power cut takes', () => {
    const strikes = [strike('power cut', null, [20.5, 20.6])]
    expect(broken([...ACCEPTED, look([21, 22], ['a1', 'b1'])], CONTINUED, { harms: [CUT], strikes })).toEqual([
      'shorter reads report damage',
    ])
  })
})

test('a call without an answer may have been carried out before the harm', () => {
  const open = append('b', s(5, never / 1_000_000), ['b1'], { told: 'unknown' })
  const harm = harmAt([10, 10.1], { before: ['a1', 'a2', 'b1'], lost: ['a2', 'b1'] })
  expect(broken([...NOTICED, open], finalOf(['a1']), { harms: [harm] })).toEqual([])
})

test('a flipped bit in the watermarks of a session ends the duty to report a loss, and one in those of others does not', () => {
  const calls = [...WRITTEN, look([11, 12], ['a1'])]
  const flip = (path: string, at: number): Flip => ({
    ...{ file: 'watermarks', path, offset: 0, bit: 0 },
    from: at * 1_000_000,
    to: at * 1_000_000,
  })
  const shard = journalName('default', S).split('/')[1]
  const isReported = (...flips: Flip[]): boolean => broken(calls, finalOf(['a1']), { harms: [CUT], flips }).length > 0
  expect(isReported()).toBe(true)
  expect(isReported(flip(`watermarks/${shard}.u`, 8))).toBe(false)
  expect(isReported(flip(`watermarks/${shard}.u`, 0.5))).toBe(true)
  expect(isReported(flip(`watermarks/${shard}.u`, 13))).toBe(true)
  expect(isReported(flip('watermarks/zz.u', 8))).toBe(true)
})
