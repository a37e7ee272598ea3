import { expect, test, vi } from 'vitest'
import { type Counted, countedAt } from '../record/fold.ts'
import { hashKey, type KeyEntry } from '../record/key-hash.ts'
import { encodeBody, Group } from '../record/line.ts'
import type { JsonObject, RecordType } from '../record/record.ts'
import { sessionReducer } from '../session/reducer.ts'
import { SegmentKeys } from './segment-keys.ts'

/** Records of a segment, one behind another. */
function segmentOf(...payloads: readonly (readonly [id: string, type: RecordType, payload: JsonObject])[]): Counted[] {
  const group = new Group(100, '')
  return payloads.map(([id, type, payload]) => {
    const body = encodeBody({ id, at: '2026-01-01T00:00:00.000Z', type, payload })
    return countedAt({ draft: body.draft, place: group.add(body), prev: '' })
  })
}

const keyed = { key: 'k', digest: 'd'.repeat(32) }
const RECORDS = segmentOf(
  ['r1', 'messages.appended', { messages: [{}, {}] }],
  ['r2', 'messages.appended', { messages: [{ a: 1 }, {}], ids: ['given', null] }],
  ['r3', 'messages.appended', { messages: [{}], entries: [{ channel: 'c', key: 'e', value: 1 }], ...keyed }],
  ['r4', 'message.replaced', { target: 'r1', message: {}, old: '', prior: null }],
  ['r5', 'session.described', { title: 't' }],
)

test('all keys of a segment are those of its records, whether they were added one by one or taken over', () => {
  const expected = new Map(
    RECORDS.flatMap((record) => sessionReducer.keysOf(record)).map((entry): [string, KeyEntry] => [entry.key, entry]),
  )
  const keys = new SegmentKeys(sessionReducer)
  for (const record of RECORDS.slice(0, 2)) keys.add(record)
  const later = new SegmentKeys(sessionReducer)
  for (const record of RECORDS.slice(2)) later.add(record)
  keys.addAll(later)
  expect(new Map([...keys.all()].sort())).toEqual(new Map([...expected].sort()))
  for (const [key, entry] of expected) expect(keys.get(key)).toEqual(entry)
  expect(keys.get(hashKey('message', 'nobody'))).toBeUndefined()
})

test('a message whose id was made is found by it, also behind others that were asked for', () => {
  const keys = new SegmentKeys(sessionReducer)
  for (const record of RECORDS) {
    keys.add(record)
    expect(keys.get(hashKey('message', 'r1.1'))?.at).toBe(RECORDS[0]?.at)
  }
  expect(keys.get(hashKey('message', 'r3'))?.at).toBe(RECORDS[2]?.at)
})

test('keys that were found out little by little are those that all at once would be, and are found out once', () => {
  const ofMade = vi.fn(sessionReducer.keysInParts.ofMade)
  const [keys, whole] = [
    new SegmentKeys({ ...sessionReducer, keysInParts: { ...sessionReducer.keysInParts, ofMade } }),
    new SegmentKeys(sessionReducer),
  ]
  for (const record of RECORDS) {
    keys.add(record)
    whole.add(record)
    keys.prepare(1)
  }
  expect(ofMade).toHaveBeenCalledTimes(RECORDS.filter((record) => sessionReducer.keysInParts.made(record) !== undefined).length)
  expect(new Map([...keys.all()].sort())).toEqual(new Map([...whole.all()].sort()))
  expect(ofMade.mock.calls.length).toBe(new Set(ofMade.mock.calls.map(([made]) => made)).size)
})

test('no hashes are made of such ids for a call that is known by its key, nor for one that is not', () => {
  const ofMade = vi.fn(sessionReducer.keysInParts.ofMade)
  const keys = new SegmentKeys({ ...sessionReducer, keysInParts: { ...sessionReducer.keysInParts, ofMade } })
  for (const record of RECORDS) keys.add(record)
  expect(keys.get(hashKey('operation', 'k'), 'operation')?.digest).toBe(keyed.digest)
  expect(keys.get(hashKey('operation', 'other'), 'operation')).toBeUndefined()
  expect(ofMade).not.toHaveBeenCalled()
})

test('of an id that was made and then given, the later record counts', () => {
  const records = segmentOf(['r', 'messages.appended', { messages: [{}] }], ['s', 'messages.appended', { messages: [{}], ids: ['r'] }])
  const keys = new SegmentKeys(sessionReducer)
  for (const record of records) keys.add(record)
  expect(keys.all().get(hashKey('message', 'r'))?.at).toBe(records[1]?.at)
})
