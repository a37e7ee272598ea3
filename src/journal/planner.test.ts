import { describe, expect, test } from 'vitest'
import { systemIds } from '../engine/ids.ts'
import { HoldfastError } from '../errors.ts'
import { hashKey, type KeyEntry } from '../record/key-hash.ts'
import { LIMITS } from '../record/limits.ts'
import type { Decision, Known } from '../record/operation.ts'
import type { JsonObject } from '../record/record.ts'
import { NOTHING_KNOWN, type PendingOperation } from './pending-operation.ts'
import { type PlanBase, type PlanOptions, planGroup } from './planner.ts'
import type { Reducer } from './reducer.ts'

type Texts = readonly string[]

const reducer: Reducer<Texts> = {
  initial: [],
  apply: (texts, { record }) => (record.type === 'segment.sealed' ? texts : [...texts, String(record.text).slice(0, 10)]),
  checkpoint: (texts) => ({ texts }),
  restore: ({ texts }: JsonObject) => texts as Texts,
  keysOf: ({ record, at, end, crc }) => (typeof record.key === 'string' ? [entryOf(record.key, { at, length: end - at, crc })] : []),
  keysFrom: (texts) => (texts.includes('reborn') ? 1000 : 0),
}

function entryOf(key: string, { at = 0, length = 1, crc = '' }: Partial<KeyEntry>): KeyEntry {
  return { key: hashKey('operation', key), at, length, crc, index: 0, digest: '0'.repeat(32) }
}

const NOW = Date.UTC(2026, 0, 1)
const OPTIONS: PlanOptions<Texts> = {
  reducer,
  limits: LIMITS,
  clock: { now: () => NOW, monotonicMs: () => 0, sleep: () => Promise.resolve() },
  ids: systemIds,
}
const BASE: PlanBase<Texts> = {
  segment: 0,
  end: 500,
  prev: '0000000a',
  state: ['before'],
  notice: undefined,
  keys: { get: () => undefined },
  checkpointBytes: 0,
  isOpenedFor: () => false,
}

interface Settling {
  readonly readOnly?: boolean
  readonly refused?: (error: unknown) => void
}

function pending(decide: (state: Texts, known: Known) => Decision<unknown>, settling: Settling = {}): PendingOperation<Texts> {
  return {
    operation: { decide, ...settling },
    id: '01890000-0000-7000-8000-000000000000',
    body: undefined,
    payload: undefined,
    known: NOTHING_KNOWN,
    knownBefore: 0,
    resolve: () => undefined,
    reject: () => undefined,
  }
}

const writes = (text: string, more: JsonObject = {}, saw: Texts[] = []) =>
  pending((state) => {
    saw.push(state)
    return { write: { type: 'messages.appended', payload: { text, ...more } }, answer: () => text }
  })
const typesOf = (plan: ReturnType<typeof planGroup<Texts>>) => plan.placed.map(({ draft }) => draft.type)

describe('a plan', () => {
  test('decides each operation on the state plus the records before it', () => {
    const saw: Texts[] = []
    const plan = planGroup(OPTIONS, BASE, [writes('one', {}, saw), writes('two', {}, saw), writes('three', {}, saw)])
    expect(saw).toEqual([['before'], ['before', 'one'], ['before', 'one', 'two']])
    expect(plan.planned.map(({ place }) => place !== undefined)).toEqual([true, true, true])
    expect(plan.group.at).toBe(500)
  })

  test('places records one after another from the end of the journal, each after the checksum of the one before', () => {
    const { placed } = planGroup(OPTIONS, BASE, [writes('one'), writes('two')])
    expect(placed[0]).toMatchObject({ prev: '0000000a' })
    expect(placed[0]?.place.at).toBeGreaterThanOrEqual(500)
    expect(placed[1]).toMatchObject({ prev: placed[0]?.place.crc })
    expect(placed[1]?.place.at).toBeGreaterThanOrEqual(placed[0]?.place.end as number)
  })

  test('leaves the last record to be applied after the write', () => {
    const plan = planGroup(OPTIONS, BASE, [writes('one'), writes('two')])
    expect(plan.counted).toHaveLength(1)
    expect(plan.state).toEqual(['before', 'one'])
  })

  test('writes nothing for an answer or a refusal, and lets both see the records before them', () => {
    const refuse = new HoldfastError('CONFLICT', 'No.')
    const saw: Texts[] = []
    const look = pending((state) => {
      saw.push(state)
      return { answer: 'seen' }
    })
    const plan = planGroup(OPTIONS, BASE, [writes('one'), look, pending(() => ({ refuse }))])
    expect(saw).toEqual([['before', 'one']])
    expect(plan.planned.map(({ decision }) => ('refuse' in decision ? decision.refuse : decision.answer))).toEqual([
      expect.any(Function),
      'seen',
      refuse,
    ])
    expect(plan.placed).toHaveLength(1)
  })

  test('turns an error inside of one operation into its refusal, and stops no other', () => {
    const mistake = new TypeError('broken')
    const broken = pending(() => {
      throw mistake
    })
    const plan = planGroup(OPTIONS, BASE, [broken, writes('one')])
    expect(plan.planned[0]?.decision).toEqual({ refuse: mistake })
    expect(plan.placed).toHaveLength(1)
  })

  test('refuses a record that cannot be encoded at once, before later operations are decided', () => {
    const order: string[] = []
    const huge = pending(
      () => ({ write: { type: 'messages.appended', payload: { text: 'x'.repeat(LIMITS.recordBytes) } }, answer: () => '' }),
      {
        refused: () => order.push('refused'),
      },
    )
    const next = pending(() => {
      order.push('decided')
      return { answer: '' }
    })
    const plan = planGroup(OPTIONS, BASE, [huge, next])
    expect(order).toEqual(['refused', 'decided'])
    expect(plan.planned[0]?.decision).toMatchObject({ refuse: expect.any(Error) })
  })

  test('ends when the group is large enough, and keeps the order', () => {
    const limits = { ...LIMITS, groupTargetBytes: 400 }
    const plan = planGroup(
      { ...OPTIONS, limits },
      BASE,
      ['a', 'b', 'c', 'd'].map((text) => writes(text.repeat(200))),
    )
    expect(plan.planned.map(({ place }) => place?.at)).toEqual(plan.placed.map(({ place }) => place.at))
    expect(plan.planned).toHaveLength(2)
  })

  test('encodes a payload once, however often it is planned', () => {
    const payload = { text: 'one' }
    const item = pending(() => ({ write: { type: 'messages.appended', payload }, answer: () => '' }))
    planGroup(OPTIONS, BASE, [item])
    const { body } = item
    const plan = planGroup(OPTIONS, { ...BASE, end: 900, prev: '0000000b' }, [item])
    expect(item.body?.draft.payload).toBe(body?.draft.payload)
    expect(plan.placed[0]).toMatchObject({ prev: '0000000b' })
  })
})

describe('keys', () => {
  const asks = (key: string, known: (KeyEntry | undefined)[]) =>
    pending((_, find) => {
      known.push(find(hashKey('operation', key), 'operation'))
      return { answer: '' }
    })

  test('of a record in the same group are known to the operations after it', () => {
    const known: (KeyEntry | undefined)[] = []
    const plan = planGroup(OPTIONS, BASE, [writes('one', { key: 'k' }), asks('k', known)])
    expect(known[0]?.at).toBe(plan.placed[0]?.place.at)
  })

  test('are found in the segment that is written to, then in what was looked up in earlier ones', () => {
    const known: (KeyEntry | undefined)[] = []
    const here = entryOf('here', { at: 400 })
    const earlier = entryOf('earlier', { at: 100 })
    const base = { ...BASE, keys: { get: (key: string) => (key === here.key ? here : undefined) } as PlanBase<Texts>['keys'] }
    planGroup(OPTIONS, base, [asks('here', known), { ...asks('earlier', known), known: new Map([[earlier.key, earlier]]) }])
    expect(known).toEqual([here, earlier])
  })

  test('of an earlier incarnation are unknown, even if the new one begins in this group', () => {
    const known: (KeyEntry | undefined)[] = []
    const old = entryOf('old', { at: 100 })
    const ask = () => ({ ...asks('old', known), known: new Map([[old.key, old]]) })
    planGroup(OPTIONS, BASE, [ask(), writes('reborn'), ask()])
    expect(known).toEqual([old, undefined])
  })
})

describe('segments', () => {
  const opens = (text: string) =>
    pending(() => ({ opens: 'purge', write: { type: 'session.created', payload: { text } }, answer: () => '' }))

  test('an operation that needs a segment of its own is planned only after one was begun', () => {
    expect(planGroup(OPTIONS, BASE, [opens('new')])).toMatchObject({ opens: 'purge', planned: [] })
    expect(planGroup(OPTIONS, { ...BASE, isOpenedFor: () => true }, [opens('new')]).planned).toHaveLength(1)
  })

  test('operations before it are planned first', () => {
    const plan = planGroup(OPTIONS, BASE, [writes('one'), opens('new')])
    expect(plan.opens).toBeUndefined()
    expect(plan.planned).toHaveLength(1)
  })

  test('it does not share a group with records before it', () => {
    const plan = planGroup(OPTIONS, { ...BASE, isOpenedFor: () => true }, [writes('one'), opens('new')])
    expect(plan.planned).toHaveLength(1)
  })

  test('a group that fills the segment ends with a seal', () => {
    const limits = { ...LIMITS, segmentBytes: 600 }
    expect(typesOf(planGroup({ ...OPTIONS, limits }, BASE, [writes('a'.repeat(200))]))).toEqual(['messages.appended', 'segment.sealed'])
    expect(typesOf(planGroup({ ...OPTIONS, limits }, BASE, [pending(() => ({ answer: '' }))]))).toEqual([])
  })

  test('a large checkpoint makes the segment larger', () => {
    const limits = { ...LIMITS, segmentBytes: 600, segmentPerCheckpoint: 4 }
    const plan = planGroup({ ...OPTIONS, limits }, { ...BASE, checkpointBytes: 1000 }, [writes('a'.repeat(200))])
    expect(typesOf(plan)).toEqual(['messages.appended'])
  })

  test('no seal follows records that this version cannot put into a checkpoint', () => {
    const limits = { ...LIMITS, segmentBytes: 600 }
    const unsure = { ...reducer, mayCheckpoint: (texts: Texts) => !texts.includes('unknown') }
    expect(typesOf(planGroup({ ...OPTIONS, reducer: unsure, limits }, BASE, [writes('unknown', { more: 'a'.repeat(200) })]))).toEqual([
      'messages.appended',
    ])
  })
})

describe('losses that no record names yet', () => {
  const base: PlanBase<Texts> = { ...BASE, notice: { type: 'damage.noticed', payload: { text: 'a loss' } } }

  test('are written before the first record, and are in the state that it is decided on', () => {
    const saw: Texts[] = []
    const plan = planGroup(OPTIONS, base, [writes('one', {}, saw), writes('two', {}, saw)])
    expect(typesOf(plan)).toEqual(['damage.noticed', 'messages.appended', 'messages.appended'])
    expect(saw).toEqual([
      ['before', 'a loss'],
      ['before', 'a loss', 'one'],
    ])
  })

  test('are not written for the sake of a reader', () => {
    expect(planGroup(OPTIONS, base, [pending(() => ({ answer: '' }), { readOnly: true })]).placed).toEqual([])
  })
})
