import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formsOf, looseQuery, parseQuery, spaced, wordsIn } from './words.ts'

test.each([
  ['parcels', 'parcel'],
  ['parcel', 'parcels'],
  ['running', 'run'],
  ['planned', 'planning'],
  ['making', 'make'],
  ['make', 'making'],
  ['cities', 'city'],
  ['city', 'cities'],
  ['boxes', 'box'],
  ['deployed', 'deploying'],
  ['quickly', 'quick'],
])('%s is also looked for as %s', (word, other) => {
  expect(formsOf(word)).toContain(other)
})

test.each(['SQL', 'naïve', 'x86', 'getUser2', '绿茶', 'as'])('%s has no other forms', (word) => {
  expect(formsOf(word)).toEqual([word])
})

test('a query has words, phrases and beginnings', () => {
  expect(parseQuery('  foo_bar "in a row" begin* + ').terms).toEqual([
    { forms: ['foo_bar'], prefix: false },
    { forms: ['in a row'], prefix: false },
    { forms: ['begin'], prefix: true },
  ])
  expect(() => parseQuery(' + "" - ')).toThrow('no word')
})

test('a sentence is looked for by its telling words, any of them', () => {
  expect(looseQuery('What did we say about the deployment?')?.terms.map(({ forms }) => forms[0])).toEqual(['say', 'deployment'])
  expect(looseQuery('我喜欢绿茶')?.terms.map(({ forms }) => forms[0])).toEqual(['我喜', '喜欢', '欢绿', '绿茶'])
  expect(looseQuery('the')?.terms).toHaveLength(1)
  expect(looseQuery('?!')).toBeUndefined()
})

test('spacing changes nothing but spaces', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(spaced(text).replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
    }),
  )
})

test.each([
  ['one word of many letters', 'b'.repeat(40_000)],
  ['one word with an ending', `${'ab'.repeat(20_000)}ing`],
  ['a phrase of many words', `"${'a '.repeat(200_000)}"`],
  ['a letter with many marks', `a${'\u0301\u0316'.repeat(50_000)}`],
  ['a sentence without a space', '中'.repeat(500_000)],
])('%s takes no time to be taken apart', (_, text) => {
  const begun = process.cpuUsage()
  parseQuery(text)
  looseQuery(text)
  wordsIn(text)
  formsOf(text)
  expect(process.cpuUsage(begun).user / 1000).toBeLessThan(2000)
})
