import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseQuery } from '../dialect/words.ts'
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
