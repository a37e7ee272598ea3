import { expect, test } from 'vitest'
import { exceededShape } from './json-shape.ts'

test.each([
  ['[]', 2],
  ['[1]', 2],
  ['[1,"2,3",{"a":4,"b":[5]}]', 7],
  ['["a,[{\\\\\\"],"]', 2],
  ['[[],[],{}]', 7],
])('%s counts as %d values', (json, count) => {
  expect(exceededShape(json, { depth: 10, values: count })).toBe(undefined)
  expect(exceededShape(json, { depth: 10, values: count - 1 })).toBe('values')
})

test('a text is as deep as brackets are open at once', () => {
  expect(exceededShape('[[],{"a":"[[["},[[]]]', { depth: 3 })).toBe(undefined)
  expect(exceededShape('[[],{"a":"[[["},[[]]]', { depth: 2 })).toBe('depth')
})

test('what is no JSON has a shape too', () => {
  for (const json of ['', '"', '"\\"', ']]]', '[,']) expect(exceededShape(json, { depth: 2, values: 3 })).toBe(undefined)
  expect(exceededShape(',,,,', { depth: 2, values: 3 })).toBe('values')
})
