import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseQuery } from '../message/words.ts'
import { snippetOf } from './snippet.ts'

function marked(text: string, query: string): string[] {
  const { snippet, marks } = snippetOf(text, parseQuery(query))
  return marks.map(([from, to]) => snippet.slice(from, to))
}

test.each([
  ['The Parcels are lost', 'parcel', ['Parcels']],
  ['Im Café, im cafe', 'café', ['Café', 'cafe']],
  ['look at src/store/list.ts now', 'src/store/list.ts', ['src/store/list.ts']],
  ['lost and found, lost parcel', '"lost parcel"', ['lost parcel']],
  ['deploy deployment undeployed', 'deploy*', ['deploy', 'deployment']],
  ['我喜欢喝绿茶，绿色', '绿茶', ['绿茶']],
  ['我用React写页面', 'react', ['React']],
  ['nothing here', 'else', []],
])('in "%s", %s is marked at %j', (text, query, hits) => {
  expect(marked(text, query)).toEqual(hits)
})

test.each(['needle', '"lost needle"', 'need*', 'café needle', '绿 needle'])('in a long text, %s is marked wherever it stands', (query) => {
  const [, other = ''] = /^(\S+) needle$/.exec(query) ?? []
  for (let before = 0; before < 30_000; before += 997) {
    const text = `${'undeploy '.repeat(20)}${'x'.repeat(before)} lost needle ${other} ${'word '.repeat(5000)}`
    expect(marked(text, query).join(' ')).toMatch(new RegExp(`needle ?${other}$`))
  }
})

test('a part of a word is no word, also where a piece of a long text ends or begins', () => {
  for (let before = 0; before < 20_000; before += 7)
    expect(marked(`${'x'.repeat(before)}needle${'y'.repeat(before)} end`, 'needle')).toEqual(before === 0 ? ['needle'] : [])
})

test('of a very long text only so much is taken apart, from its beginning on; plain text without the words costs none of that', () => {
  const [early, late] = ['needle 绿 '.repeat(10), ' end needle']
  expect(marked(`${'绿茶 '.repeat(10_000)}${late}`, 'needle')).toEqual(['needle'])
  expect(marked(`${'绿茶 '.repeat(100_000)}${late}`, 'needle')).toEqual([])
  expect(marked(`${early}${'绿茶 '.repeat(100_000)}${late}`, 'needle end')).toContain('needle')
  expect(marked(`${'words '.repeat(100_000)}${late}`, 'needle')).toEqual(['needle'])
  expect(marked(`${'needles '.repeat(30_000)}${late}`, '"end needle"')).toEqual(['end needle'])
  expect(marked(`${'end '.repeat(300_000)}${late}`, '"end needle"')).toEqual([])
})

test('a term that stands behind many places of another is shown where both stand together', () => {
  const text = `${`word ${'x '.repeat(150)}`.repeat(80)} word needle word`
  expect(marked(text, 'word needle')).toEqual(['word', 'needle', 'word'])
})

test('a snippet is a piece of its text, short, with marks inside', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('apple', 'tea', '绿茶', '🦊', '\n', 'x'.repeat(300)), { maxLength: 80 }), (words) => {
      const text = words.join(' ')
      const { snippet, marks } = snippetOf(text, parseQuery('apple 茶'))
      expect(snippet.length).toBeLessThan(260)
      expect(text.replace(/\s/g, ' ')).toContain(snippet.replace(/^…|…$/g, ''))
      expect(snippet.isWellFormed()).toBe(true)
      for (const [from, to] of marks) expect(['apple', '茶']).toContain(snippet.slice(from, to))
    }),
  )
})
