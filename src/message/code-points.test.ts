import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countCodePoints, sliceCodePoints } from './code-points.ts'

const texts = fc.string({ unit: fc.constantFrom('a', '\u{1f600}', '\ud83d', '\ude00', 'é') })

test('code points are counted as iterating over the text does', () => {
  fc.assert(fc.property(texts, (text) => void expect(countCodePoints(text)).toBe([...text].length)))
})

test('a slice by code points is the slice of the list of code points', () => {
  fc.assert(
    fc.property(
      texts,
      fc.nat(12),
      fc.nat(12),
      (text, from, length) => void expect(sliceCodePoints(text, from, from + length)).toBe([...text].slice(from, from + length).join('')),
    ),
  )
})
