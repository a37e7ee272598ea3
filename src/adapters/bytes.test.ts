import { expect, test } from 'vitest'
import { fromJson, toJson } from './bytes.ts'

test.each([
  ['bytes', new Uint8Array([0, 1, 255])],
  ['bytes deep inside', { image: { data: new Uint8Array([7]), mediaType: 'image/png' }, list: [new Uint8Array([])] }],
  ['what only looks like bytes', { $bytes: 'AA==' }],
  ['what only looks wrapped', { $plain: { $bytes: 'AA==' }, other: 1 }],
  ['plain values', { a: null, b: [1, 'two', true], c: { d: '' } }],
])('%s come back as they were', (_, value) => {
  expect(fromJson(JSON.parse(JSON.stringify(toJson(value))))).toEqual(value)
})

test('what JSON leaves out is left out', () => {
  expect(toJson({ a: undefined, b: [undefined], c: new Date(0) })).toEqual({ b: [null], c: '1970-01-01T00:00:00.000Z' })
})
