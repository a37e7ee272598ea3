/** Pages that say which test shows what: each of those tests must be there under its name, or the page has rotted. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MUTANTS } from '../simulation/mutants/mutants.ts'
import { STORE_MUTANTS } from '../simulation/mutants/store-mutants.ts'
import { ROOT } from './sources.ts'

const CITED = /\.test\.ts\]\(\.\.\/([^)]+\.test\.ts)\): `([^`]+)`/g

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Whether a test, or a group of them, is called so: the name opens the arguments of a call. */
function hasTest(source: string, name: string): boolean {
  const calls = source.replaceAll(/\(\s+/g, '(')
  return ["'", '`'].some((quote) => calls.includes(`(${quote}${name}${quote}`))
}

test.each([
  ['docs/threat-model.md', 20],
  ['docs/guarantees.md', 80],
])('every test that %s names is there', (path, atLeast) => {
  const cited = [...read(path).matchAll(CITED)].map(([, file = '', name = '']) => ({ file, name }))
  expect(cited.length).toBeGreaterThan(atLeast)
  expect(cited.filter(({ file, name }) => !hasTest(read(file), name))).toEqual([])
})

test('docs/guarantees.md lists every planted bug as the simulation has it, and no other', () => {
  const [, table = ''] = read('docs/guarantees.md').split('## Bugs that are planted again')
  const listed = [...table.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, name, bug]) => ({ name, bug }))
  expect(listed).toEqual([...MUTANTS, ...STORE_MUTANTS].map(({ name, bug }) => ({ name, bug })))
})

test('a test that is only spoken of is not there', () => {
  expect(hasTest("test(\n  'it holds', () => {})", 'it holds')).toBe(true)
  expect(hasTest("// 'it holds' was a test\nconst name = 'it holds'", 'it holds')).toBe(false)
})
