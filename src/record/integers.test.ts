import fc from 'fast-check'
import { expect, test } from 'vitest'
import { roundedInteger } from './integers.ts'

test.each([
  ['9007199254740991', undefined],
  ['9007199254740992', '9007199254740992'],
  ['[1,-9007199254740993]', '-9007199254740993'],
  ['{"a":"12345678901234567890"}', undefined],
  ['{"a\\"12345678901234567890":1}', undefined],
  ['{"a\\\\":12345678901234567890}', '12345678901234567890'],
  ['0.12345678901234567890', undefined],
  ['12345678901234567890.5', undefined],
  ['12345678901234567890e2', undefined],
  ['1e-1234567890123456789', undefined],
  ['"12345678901234567890', undefined],
])('%s', (json, rounded) => {
  expect(roundedInteger(json)).toBe(rounded)
})

test('JSON without an integer that is rounded passes, and each such integer is named', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }), (value, integer) => {
      // Numbers that JSON.stringify writes are already what readers make of them; long ones have an exponent or a fraction.
      const json = JSON.stringify({ text: `${integer}`, value }).replaceAll(/(?<=[:,[])-?\d{16,}(?=[,\]}])/g, '1')
      expect(roundedInteger(json)).toBeUndefined()
      expect(roundedInteger(`[${json},${integer}]`)).toBe(String(integer))
    }),
  )
})

test('a number of millions of digits is refused, and shown in short', () => {
  // V8 gives up on a regular expression that is to match so much.
  expect(roundedInteger(`[-${'9'.repeat(8_000_000)}]`)).toBe(`-${'9'.repeat(39)}…`)
})

test('a text that never ends costs no more than its length', () => {
  // Each escaped quote began another look at all of the rest: 16,000 of them took 0.6 s, and twice as many four times as long.
  for (const filler of ['\\"', '"', '\\\\', '1', '1234567890123456 '])
    expect(roundedInteger(`1234567890123456 "${filler.repeat(2_000_000)}\\`)).toBeUndefined()
}, 10_000)
