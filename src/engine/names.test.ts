import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJournalName, journalName, spaceName } from './names.ts'

describe('the name of a journal', () => {
  test('is the same in every version: a hash of the space, two digits, a slug and a hash of both', () => {
    // From `printf 'default' | sha256sum` and `printf 'default\0My Session' | sha256sum`.
    expect(journalName('default', 'My Session')).toBe('37a8eec1ce19687d132fe29051dca629/86/my-session-86b02bf55ea6f9a92f5e70caeb5f5854')
    expect(journalName('default', 'My Session').startsWith(`${spaceName('default')}/`)).toBe(true)
  })

  test.each([
    '',
    ' ',
    '.',
    '..',
    '../..',
    '/etc/passwd',
    'a/b',
    'a\\b',
    'CON',
    'NUL',
    'a\0b',
    '\n',
    '🦀',
    'é',
    'İİİİİİİİİİİİİİİİİİİİİİİİİİ',
    'x'.repeat(512),
  ])('of %j is made of lower-case letters, digits and hyphens, and short enough for every file system', (id) => {
    const name = journalName('space', id)
    expect(isJournalName(name)).toBe(true)
    expect(name).toMatch(/^[0-9a-f]{32}\/[0-9a-f]{2}\/[a-z0-9-]+$/)
    for (const part of name.split('/')) expect(part.length).toBeLessThanOrEqual(57)
  })

  test('belongs to one space and one id', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('a', 'A', 'a\0', '\0a', '', ' ', 'a ', 'é', 'e\u0301'),
    )
    fc.assert(
      fc.property(text, text, text, text, (space, id, otherSpace, otherId) => {
        const same = space === otherSpace && id === otherId
        const [one, other] = [journalName(space, id), journalName(otherSpace, otherId)]
        return isJournalName(one) && (one.toLowerCase() === other.toLowerCase()) === same
      }),
      { numRuns: 300 },
    )
  })

  test('is another one where the same text is cut elsewhere', () => {
    expect(journalName('a\0b', 'c')).not.toBe(journalName('a', 'b\0c'))
    expect(journalName('ab', 'c')).not.toBe(journalName('a', 'bc'))
  })

  test('differs where ids agree in everything that the slug shows', () => {
    const ids = [`${'x'.repeat(24)}1`, `${'x'.repeat(24)}2`, 'A B', 'a-b', 'a_b', 'a.b']
    expect(new Set(ids.map((id) => journalName('s', id))).size).toBe(ids.length)
  })
})

test('a name that did not come from here is not one', () => {
  const name = journalName('space', 'id')
  const wrong = [
    '',
    '..',
    'id',
    `/${name}`,
    `${name}/`,
    `${name}/..`,
    `../${name}`,
    `${name}\n`,
    name.toUpperCase(),
    name.replace('/', '\\'),
    name.replace('/', '//'),
    name.replace(/id-/, '../../id-'),
    name.replace(/id-/, `${'x'.repeat(25)}-`),
    name.slice(0, -1),
    `${name}0`,
  ]
  for (const one of wrong) expect(isJournalName(one), JSON.stringify(one)).toBe(false)
})
