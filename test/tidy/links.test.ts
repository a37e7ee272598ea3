import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkLinks } from './links.ts'
import { ROOT, readDocuments } from './sources.ts'

function check(text: string): string[] {
  const files = [
    { path: 'docs/guide.md', text },
    { path: 'README.md', text: '# Holdfast\n\n## How it works\n\n## How it works\n' },
  ]
  return checkLinks(files, (path) => ['README.md', 'docs/guide.md', 'docs/decisions'].includes(path))
}

test('every relative link in the documents leads somewhere', () => {
  expect(checkLinks(readDocuments(), (path) => existsSync(join(ROOT, path)))).toEqual([])
})

test.each([
  ['[a](missing.md)', 'does not exist'],
  ['![a](images/missing.png "title")', 'does not exist'],
  ['see [a]\n\n[a]: ../MISSING.md', 'does not exist'],
  ['[a](../../elsewhere.md)', 'outside the repository'],
  ['[a](../README.md#nowhere)', 'no such heading'],
  ['[a](#nowhere)', 'no such heading'],
  ['```ts\nx()\n```\n[a](missing.md)\n```\n```', 'does not exist'],
])('a document may not say: %s', (text, complaint) => {
  expect(check(text)).toEqual([expect.stringContaining(complaint)])
})

test.each([
  '[a](../README.md) [b](decisions/) [c](decisions) ![d](<../README.md>)',
  '[a](../README.md#how-it-works) [b](../README.md#how-it-works-1)',
  '# A `word`, and more\n[a](#a-word-and-more)',
  '[a](https://example.org/x) [b](mailto:a@example.org)',
  '`[a](missing.md)`\n\n```md\n[a](missing.md)\n```',
])('a document may say: %s', (text) => {
  expect(check(text)).toEqual([])
})
