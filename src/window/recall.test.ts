import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rank } from './recall.ts'

function best(query: string, ...texts: string[]): string[] {
  return rank(
    query,
    texts.map((text, index) => ({ kind: 'message', id: String(index), text })),
  ).map(({ text }) => text)
}

test('texts that share rare words come first, those that share none not at all', () => {
  expect(
    best('How do I deploy the parser?', 'the cat', 'the dog', 'nothing', 'Deploy it with make.', 'The parser and how we deploy it'),
  ).toEqual(['The parser and how we deploy it', 'Deploy it with make.', 'the cat', 'the dog'])
})

test.each([
  ['绿茶', '我喜欢喝绿茶', '我喜欢咖啡'],
  ['データベース', 'データベースを移行する', '今日は天気がいい'],
  ['커피', '저는 커피를 좋아해요', '저는 차를 마셔요'],
  ['react', '我用React写页面', '我用Vue写页面'],
  ['茶', '喝茶', '喝水'],
])('%s finds %s, not %s', (query, match, other) => {
  expect(best(query, other, match)).toEqual([match])
})

test('no query, no match', () => {
  expect(best(' ?! ', 'a', 'b')).toEqual([])
})

test('at most twenty, the same ones each time, all of them given', () => {
  const word = fc.constantFrom('tea', 'coffee', '绿茶', 'parser', 'a')
  const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(' '))
  fc.assert(
    fc.property(text, fc.array(text, { maxLength: 60 }), (query, texts) => {
      const found = best(query, ...texts)
      expect(found.length).toBeLessThanOrEqual(20)
      expect(best(query, ...texts)).toEqual(found)
      for (const one of found) expect(texts).toContain(one)
    }),
  )
})

test('a text of 300,000 characters without a space is no stack overflow', { timeout: 20_000 }, () => {
  const long = '茶'.repeat(300_000)
  expect(best(long, long, 'tea')).toEqual([long])
})
