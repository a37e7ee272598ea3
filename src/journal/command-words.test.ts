import { expect, test } from 'vitest'
import { sessionWords, shellWord, withSession } from './command-words.ts'

test.each([
  ['refund-7', 'refund-7'],
  ['user:42/a.b', 'user:42/a.b'],
  ['two words', "'two words'"],
  ["it's", "'it'\\''s'"],
  ['$HOME', "'$HOME'"],
  ['-id', "'-id'"],
])('the word %j is %s in a shell', (text, word) => expect(shellWord(text)).toBe(word))

test('a session is named by its id, and by its space if that is not the default one', () => {
  expect(sessionWords({ id: 'a', space: 'default' })).toBe('a')
  expect(sessionWords({ id: 'a', space: 'my team' })).toBe("a --space 'my team'")
})

test('each command of a text gets the id, with characters that replacements treat in a special way', () => {
  expect(withSession('`one <id>`, `two <id>`', { id: '$&', space: 'default' })).toBe("`one '$&'`, `two '$&'`")
})
