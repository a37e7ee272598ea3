import { expect, test } from 'vitest'
import { hashKey } from './key-hash.ts'

test('a key is stored as half of a SHA-256, the same in every version', () => {
  expect(hashKey('message', 'm-1')).toBe('5163ef37a255522568feb40188a88933')
  expect(hashKey('operation', 'm-1')).toBe('0dbd325064a943136ffa16c7e7e23ad0')
})

test('message ids and operation keys cannot be taken for each other', () => {
  for (const key of ['', 'a', ' a', 'message a', 'operation a']) expect(hashKey('message', key)).not.toBe(hashKey('operation', key))
})

test('keys that look alike are different keys', () => {
  const keys = ['a', 'A', 'a ', ' a', '\u00e9', 'e\u0301', '', '\0', 'a\0', 'x'.repeat(512), `${'x'.repeat(511)}y`]
  expect(new Set(keys.map((key) => hashKey('message', key))).size).toBe(keys.length)
  for (const key of keys) expect(hashKey('message', key)).toMatch(/^[0-9a-f]{32}$/)
})

test('a key with half a character is the key that the record line can hold', () => {
  expect(hashKey('message', 'a\ud800')).toBe(hashKey('message', 'a\ufffd'))
})
