import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countedAt } from './fold.ts'
import { decodeLine, encodeBody, encodeCheckpoint, Group, intactCrc } from './line.ts'
import type { Draft, JournalRecord, Json, JsonObject } from './record.ts'

const DRAFT = { id: 'id', at: '2026-11-15T09:30:00.123Z', type: 'messages.appended' } as const

function lineOf(draft: Draft): Buffer {
  const group = new Group(0, '')
  group.add(encodeBody(draft))
  return group.bytes.subarray(2, -1)
}

function decode(line: Uint8Array): JournalRecord {
  const decoded = decodeLine(line)
  if (decoded.kind !== 'record') throw new Error(`The line is ${JSON.stringify(decoded)}.`)
  return decoded.record
}

function roundTrip(value: Json): unknown {
  return decode(lineOf({ ...DRAFT, payload: { value } })).value
}

/** What JSON itself makes of a value: it has no negative zero. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** Whether bytes are UTF-8 and have no escape that stands for half a character. */
function isWellFormed(line: Uint8Array): boolean {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(line)
  let formed = true
  JSON.parse(text, (key, value: unknown) => {
    formed &&= key.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())
    return value
  })
  return formed
}

describe('text comes back as it was given', () => {
  test.each([
    ['NUL', 'a\0b'],
    ['the separators that some programs take for newlines', 'a\u2028b\u2029c\u0085d'],
    ['newlines of every kind', 'a\nb\r\nc\rd\ve\ff'],
    ['quotes and backslashes', '"\\"\\\\/\\u0041'],
    ['control characters', Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('')],
    ['emoji, also those of several characters', '🦀 👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
    ['a character in both of its forms', '\u00e9 e\u0301'],
    ['a byte order mark', '\ufeffabc'],
    ['characters that are none', '\uffff\ufffe\ufffd\udbff\udfff'],
    ['something that looks like the end of a line', '","crc":"00000000"}\n{"v":1'],
    ['the empty string', ''],
  ])('%s', (_, text) => {
    const line = lineOf({ ...DRAFT, payload: { [text]: text } })
    expect(line.includes(0x0a)).toBe(false)
    expect(line.includes(0)).toBe(false)
    expect(decode(line)[text]).toBe(text)
  })

  test('a backslash in front of what looks like half a character stays what it is', () => {
    const texts = ['\\ud800', '\\\\ud800', '\\uD83D\\uDE00', 'C:\\udfff\\u', '\\ud800\\']
    expect(roundTrip(texts)).toEqual(texts)
    expect(roundTrip({ '\\ud800': '\\udc00' })).toEqual({ '\\ud800': '\\udc00' })
  })
})

describe('half a character becomes U+FFFD on the way in', () => {
  test.each([
    ['the first half', 'a\ud83db', 'a\ufffdb'],
    ['the second half', 'a\ude00b', 'a\ufffdb'],
    ['halves in the wrong order', '\ude00\ud83d', '\ufffd\ufffd'],
    ['a half in front of a whole one', '\ud83d🦀', '\ufffd🦀'],
    ['a half at the end', '🦀\ud83d', '🦀\ufffd'],
    ['a half behind a backslash that is text', '\\\ud800 \\ud800', '\\\ufffd \\ud800'],
  ])('%s', (_, text, formed) => {
    expect(roundTrip(text)).toBe(formed)
    expect(roundTrip({ deep: [{ [text]: [text] }] })).toEqual({ deep: [{ [formed]: [formed] }] })
    expect(isWellFormed(lineOf({ ...DRAFT, payload: { [text]: text } }))).toBe(true)
  })

  test('in ids and in checkpoints too', () => {
    expect(decode(lineOf({ ...DRAFT, id: 'a\ud800', payload: {} })).id).toBe('a\ufffd')
    const checkpoint = encodeCheckpoint({
      base: 1,
      id: 'a\udfff',
      at: '',
      prev: '',
      carries: 0,
      state: { 'k\ud800': 'v\ud800' },
    })
    expect(decode(checkpoint.subarray(0, -1))).toMatchObject({ id: 'a\ufffd', state: { 'k\ufffd': 'v\ufffd' } })
    expect(isWellFormed(checkpoint)).toBe(true)
  })

  test('and the fields around it keep their order and values', () => {
    const payload = { b: 1, a: '\ud800', __proto__: null, n: [null, true, 1.5e300] }
    expect(JSON.stringify(decode(lineOf({ ...DRAFT, payload: payload as unknown as JsonObject })))).toMatch(
      /^{"v":2,"id":"id","at":"[^"]+","type":"messages.appended","b":1,"a":"\ufffd","n":\[null,true,1.5e\+300\],"prev":"","pos":2,"crc":/,
    )
  })
})

describe('for any JSON', () => {
  const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }) as fc.Arbitrary<Json>

  test('a value comes back deeply equal, in one line of UTF-8', () => {
    fc.assert(
      fc.property(json, (value) => {
        const line = lineOf({ ...DRAFT, payload: { value } })
        expect(line.includes(0x0a)).toBe(false)
        expect(isWellFormed(line)).toBe(true)
        expect(decode(line).value).toEqual(asJson(value))
      }),
      { numRuns: 500 },
    )
  })

  test('fields of a payload come back, whatever they are called', () => {
    const reserved = new Set(['v', 'id', 'at', 'type', 'parent', 'prev', 'pos', 'base', 'crc'])
    const payload = fc.dictionary(
      fc.string({ unit: 'binary' }).filter((key) => !reserved.has(key)),
      json,
    )
    fc.assert(
      fc.property(payload, (fields) => {
        const record = decode(lineOf({ ...DRAFT, payload: fields }))
        for (const [key, value] of Object.entries(fields))
          expect(Object.getOwnPropertyDescriptor(record, key)?.value).toEqual(asJson(value))
      }),
    )
  })

  test('strings of any 16-bit units come back well-formed, as the platform would make them', () => {
    const units = fc.array(fc.oneof(fc.integer({ min: 0xd7f0, max: 0xe010 }), fc.integer({ min: 0, max: 0xffff }), fc.constant(0x5c)), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(units, (codes) => {
        const text = String.fromCharCode(...codes)
        expect(roundTrip(text)).toBe(text.toWellFormed())
      }),
      { numRuns: 1_000 },
    )
  })

  test('what a writer takes for counted is what every reader reads', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ unit: 'binary' }).map((key) => `k${key}`),
          json,
        ),
        fc.boolean(),
        (payload, follows) => {
          const draft: Draft = { ...DRAFT, payload: asJson(payload) as JsonObject, ...(follows ? { parent: [4, 2] as const } : {}) }
          const group = new Group(100, '0badcafe')
          const place = group.add(encodeBody(draft))
          const { crc: _, ...read } = decode(group.bytes.subarray(2, -1))
          expect(countedAt({ draft, place, prev: '0badcafe' })).toMatchObject({ ...place, carried: false })
          expect(countedAt({ draft, place, prev: '0badcafe' }).record).toEqual(read)
        },
      ),
    )
  })

  test('two values have the same line only if they are the same', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const [one, other] = [lineOf({ ...DRAFT, payload: { value: a } }), lineOf({ ...DRAFT, payload: { value: b } })]
        expect(one.equals(other)).toBe(JSON.stringify(a) === JSON.stringify(b))
        expect(intactCrc(one)).toBeDefined()
      }),
    )
  })
})
