import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../record/record.ts'
import { isCanonical } from './canonical.ts'

test.each([
  '{"role":"user","content":"hi"}',
  '{"a":[],"b":{},"c":[null,true,false,"x"],"d":{"e":1,"f":-23,"g":0}}',
  '{"content":"a \\"quoted\\" line\\nand a \\\\ backslash, \u00e4\u2028\u{1f600}"}',
])('is as it would be written: %s', (text) => {
  expect(JSON.stringify(JSON.parse(text))).toBe(text)
  expect(isCanonical(JSON.parse(text) as Json, text)).toBe(true)
})

test.each([
  '{"a": 1}',
  ' {"a":1}',
  '{"a":"\\u0041"}',
  '{"a":"\\/"}',
  '{"a":1,"a":2}',
  '{"b":"x","1":"y"}',
  '{"a":1e1, "b":1}',
  '{"a":1.0}',
  '{"a":-0}',
  '{"a":"\\ud800"}',
])('is not, or cannot be told quickly: %s', (text) => {
  expect(isCanonical(JSON.parse(text) as Json, text)).toBe(false)
})

test('whatever is taken for canonical is what would be written, however it was spaced, escaped and numbered', () => {
  const noise = fc.array(fc.constantFrom(' ', '\n', '\\u0041', '\\n', '\\/', '1e1', '10', '"a":1,', '0.50', '\\\\'), { maxLength: 3 })
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), noise, fc.nat(), (value, pieces, at) => {
      const text = JSON.stringify(value)
      const cut = at % (text.length + 1)
      for (const candidate of [text, `${text.slice(0, cut)}${pieces.join('')}${text.slice(cut)}`]) {
        let parsed: Json
        try {
          parsed = JSON.parse(candidate) as Json
        } catch {
          continue
        }
        if (isCanonical(parsed, candidate)) expect(JSON.stringify(parsed)).toBe(candidate)
      }
    }),
    { numRuns: 2000 },
  )
})
