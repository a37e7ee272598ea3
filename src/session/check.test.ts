import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import { checkCount, checkDescription, checkId, copyObject, jsonText, objectText } from './check.ts'

function refusal(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof HoldfastError) return `${error.code}: ${error.message}`
    throw error
  }
  return 'none'
}

describe('an id', () => {
  test('is any text within its limit, counted in bytes', () => {
    for (const id of ['a', '..', 'CON', 'a/b\\c', '\u0000', '\u2028', 'é'.repeat(LIMITS.idBytes / 2)]) expect(checkId('It', id)).toBe(id)
    expect(refusal(() => checkId('It', 'é'.repeat(LIMITS.idBytes / 2 + 1)))).toMatch(/^INVALID_ARGUMENT: It has 514 bytes/)
  })

  test.each([undefined, null, '', 5, {}, ['a']])('is not %j', (id) => {
    expect(refusal(() => checkId('It', id))).toMatch(/^INVALID_ARGUMENT: It must be a text that is not empty/)
  })

  test('is not half a character: it could not be stored as it is', () => {
    expect(refusal(() => checkId('It', 'a\ud800'))).toMatch(/^INVALID_ARGUMENT: It has half of a surrogate pair/)
  })
})

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1', undefined])('a count is not %s', (value) => {
  expect(refusal(() => checkCount('It', value, 10))).toMatch(/^INVALID_ARGUMENT/)
})

test('a count goes from 0 to its limit', () => {
  expect([0, 10].map((value) => checkCount('It', value, 10))).toEqual([0, 10])
  expect(refusal(() => checkCount('It', 11, 10))).toMatch(/It must be 10 at most; got 11/)
})

const KEPT = [
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string(),
  fc.constant(null),
  fc.constant(undefined),
]

describe('a copy', () => {
  test('is what JSON makes of a value, with well-formed text, and shares nothing with it', () => {
    fc.assert(
      fc.property(fc.object({ values: KEPT }), (value) => {
        expect(copyObject('It', value)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
    const original = { list: [1] }
    const copy = objectText('It', original)
    original.list.push(2)
    expect(copy.value).toEqual({ list: [1] })
  })

  test('has U+FFFD in place of half a character, in texts and in names', () => {
    expect(copyObject('It', { 'a\ud800': ['b\udfff', '\ud83d\ude00', '\\ud800', '\\\\ud800', '\\\ud800'] })).toEqual({
      'a\ufffd': ['b\ufffd', '\ud83d\ude00', '\\ud800', '\\\\ud800', '\\\ufffd'],
    })
  })

  test('keeps a field called __proto__ as a field', () => {
    const copy = copyObject('It', JSON.parse('{"__proto__": {"a": 1}}') as object)
    expect(Object.keys(copy)).toEqual(['__proto__'])
  })

  test.each([
    ['a text', 'text'],
    ['null', null],
    ['an array', []],
    ['a date, which is a text as JSON', new Date(0)],
    ['what says of itself that it is null', { toJSON: () => null }],
  ])('is not made of %s where an object is needed', (_, value) => {
    expect(refusal(() => copyObject('It', value))).toMatch(/^INVALID_ARGUMENT: It must be an object/)
  })

  test.each([
    ['n', Number.NaN, 'NaN'],
    ['n', JSON.parse('1e400'), 'Infinity'],
    ['n', -Infinity, '-Infinity'],
    ['f', () => 1, 'a function'],
    ['s', Symbol('s'), 'a symbol'],
    ['m', new Map([[1, 2]]), 'a Map'],
    ['m', new Set([1]), 'a Set'],
    ['bytes', new Uint8Array(2), 'a Uint8Array'],
  ])('is not made of an object whose field %s JSON would change: %s', (name, value, what) => {
    const refused = `INVALID_ARGUMENT: It cannot be written as JSON: a[1].${name} is ${what}.`
    expect(refusal(() => objectText('It', { a: [0, { [name]: value }] }))).toBe(refused)
    expect(refusal(() => jsonText('It', value))).toMatch(/^INVALID_ARGUMENT: It cannot be written as JSON/)
  })

  test('keeps what undefined and toJSON are as JSON', () => {
    const value = { no: undefined, at: new Date(0), own: { toJSON: () => 'x', f: () => 1 }, bytes: Buffer.from('a') }
    expect(objectText('It', value).text).toBe('{"at":"1970-01-01T00:00:00.000Z","own":"x","bytes":{"type":"Buffer","data":[97]}}')
  })

  test('is not made of what JSON cannot write', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    expect(refusal(() => jsonText('It', circle))).toMatch(/^INVALID_ARGUMENT: It cannot be written as JSON/)
    expect(refusal(() => jsonText('It', { big: 5n }))).toMatch(/^INVALID_ARGUMENT/)
    expect(refusal(() => jsonText('It', () => 1))).toMatch(/^INVALID_ARGUMENT/)
  })

  test('is not made of what is too large or nested too deep', () => {
    expect(refusal(() => jsonText('It', 'x'.repeat(100), 50))).toMatch(/^PAYLOAD_TOO_LARGE/)
    const nested = (levels: number): unknown => Array.from({ length: levels }).reduce((inner: unknown) => [inner], 1)
    expect(refusal(() => jsonText('It', nested(LIMITS.jsonDepth)))).toBe('none')
    expect(refusal(() => jsonText('It', nested(LIMITS.jsonDepth + 1)))).toMatch(/^INVALID_ARGUMENT: It is nested deeper/)
  })
})

describe('a description', () => {
  test('keeps what it was given, and only that', () => {
    const description = { title: 'a\ud800', tags: ['x', 'y', 'x'], owner: null, metadata: { a: null } }
    expect(checkDescription(description)).toEqual({ title: 'a\ufffd', tags: ['x', 'y'], owner: null, metadata: { a: null } })
    expect(checkDescription({})).toEqual({})
  })

  test.each([
    { title: 'x'.repeat(LIMITS.titleBytes + 1) },
    { title: 5 as unknown as string },
    { owner: 'x'.repeat(LIMITS.idBytes + 1) },
    { tags: [''] },
    { tags: 'x' as unknown as string[] },
    { addTags: Array.from({ length: LIMITS.tags + 1 }, (_, i) => `${i}`) },
    { metadata: [] as unknown as Record<string, never> },
  ])('is refused if a part of it is no good: %#', (description) => {
    expect(refusal(() => checkDescription(description))).toMatch(/^INVALID_ARGUMENT/)
  })

  test('is refused if its metadata is too large', () => {
    expect(refusal(() => checkDescription({ metadata: { a: 'x'.repeat(LIMITS.metadataBytes) } }))).toMatch(/^PAYLOAD_TOO_LARGE/)
  })
})
