import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Counted, countedAt } from '../record/fold.ts'
import { hashKey } from '../record/key-hash.ts'
import { encodeBody, Group } from '../record/line.ts'
import type { JsonObject, RecordType } from '../record/record.ts'
import { objectText } from './check.ts'
import { digestOf } from './json-text.ts'
import { entryKey, keysOf } from './record-keys.ts'

const NO_DIGEST = '0'.repeat(32)

function counted(type: RecordType, payload: JsonObject): Counted {
  const body = encodeBody({ id: 'record', at: '2026-01-01T00:00:00.000Z', type, payload })
  return countedAt({ draft: body.draft, place: new Group(100, '').add(body), prev: '' })
}

function shown(record: Counted): [string, number, string][] {
  return keysOf(record).map(({ key, index, digest }) => [key, index, digest])
}

describe('the keys of a record', () => {
  test('are those of its messages: given ids with a digest of the body, made ones without', () => {
    const messages = [{ a: 1 }, { b: 2 }, { c: 3 }]
    expect(shown(counted('messages.appended', { messages, ids: ['x', null, 'z'] }))).toEqual([
      [hashKey('message', 'x'), 0, digestOf({ a: 1 })],
      [hashKey('message', 'record.1'), 1, NO_DIGEST],
      [hashKey('message', 'z'), 2, digestOf({ c: 3 })],
    ])
    expect(shown(counted('messages.appended', { messages: [{}, {}] })).map(([key]) => key)).toEqual([
      hashKey('message', 'record'),
      hashKey('message', 'record.1'),
    ])
  })

  test('have the key of the operation among them, of whatever type it is', () => {
    const keyed = { key: 'k', digest: 'd'.repeat(32) }
    expect(shown(counted('session.described', { title: 't', ...keyed }))).toEqual([[hashKey('operation', 'k'), 0, keyed.digest]])
    expect(shown(counted('messages.appended', { messages: [{}], ...keyed }))).toHaveLength(2)
    expect(shown(counted('session.deleted', {}))).toEqual([])
  })

  test('name the message that is replaced, and never collide with its own', () => {
    expect(shown(counted('message.replaced', { target: 'x', message: {}, old: '', prior: null }))).toEqual([
      [hashKey('replacement', 'x'), 0, NO_DIGEST],
    ])
    expect(hashKey('replacement', 'x')).not.toBe(hashKey('message', 'x'))
  })

  test('name entries; of several with one key in one record, the last', () => {
    const entries = [
      { channel: 'c', key: 'k', value: 1 },
      { channel: 'c', key: 'other' },
      { channel: 'c', key: 'k', value: 2 },
    ]
    expect(shown(counted('entry.put', { entries, before: [] }))).toEqual([
      [entryKey('c', 'k'), 2, NO_DIGEST],
      [entryKey('c', 'other'), 1, NO_DIGEST],
    ])
  })

  test('say where the record stands', () => {
    const record = counted('messages.appended', { messages: [{}] })
    expect(keysOf(record)).toMatchObject([{ at: record.at, length: record.end - record.at, crc: record.crc }])
  })
})

test('no choice of channel and key looks like another', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
      expect(entryKey(a, b) === entryKey(c, d)).toBe(a === c && b === d)
    }),
  )
  expect(entryKey('a', 'b,c')).not.toBe(entryKey('a,b', 'c'))
})

test('the digest of a message is the same before it is written and after it was read, whatever text is in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.jsonValue(), (text, value) => {
      const message = objectText('A message', { id: 'x', text: `${text}\ud800`, value, [text]: '\\ud800 \\\udfff' })
      const [entry] = keysOf(counted('messages.appended', { messages: [message.value], ids: ['x'] }))
      expect(entry?.digest).toBe(message.digest)
    }),
    { numRuns: 30 },
  )
})
