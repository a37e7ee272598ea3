import fc from 'fast-check'
import { expect, test } from 'vitest'
import { estimateTokens } from './tokens.ts'

test.each([
  ['', 0],
  ['word', 1],
  ['words', 2],
  ['Grüße!', 2],
  ['Привет', 2],
  ['你好世界', 4],
  ['こんにちは', 5],
  ['안녕하세요', 5],
  ['𠮷', 2],
])('%j takes about %d', (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens)
})

test('never negative, never more than characters and one, and about the sum of its parts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      const [whole, parts] = [estimateTokens(a + b), estimateTokens(a) + estimateTokens(b)]
      expect(whole).toBeLessThanOrEqual((a + b).length + 1)
      expect(whole).toBeGreaterThanOrEqual(Math.floor((a + b).length / 4))
      expect(parts).toBeLessThanOrEqual(whole + 2)
    }),
  )
})
