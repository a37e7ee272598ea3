import { expect, test } from 'vitest'
import { readSources } from './sources.ts'
import { checkStyle } from './style.ts'

function check(path: string, text: string): string[] {
  return checkStyle([{ path, text }])
}

test('the sources keep the house rules', () => {
  const files = ['src', 'test', 'bench', 'scripts', 'web'].flatMap((folder) => readSources(folder, ['.ts', '.tsx', '.mjs']))
  expect(files.length).toBeGreaterThan(0)
  expect(checkStyle(files)).toEqual([])
})

test.each([
  ['src/store/utils.ts', '', 'says nothing'],
  ['test/helpers/disk.ts', '', 'says nothing'],
  ['src/store/session-manager.ts', '', 'says nothing'],
  ['src/common/read.ts', '', 'says nothing'],
  ['bench/misc.ts', '', 'says nothing'],
  ['src/store/openStore.ts', '', 'kebab-case'],
  ['src/store/open_store.test.ts', '', 'kebab-case'],
  ['src/store/long.ts', 'x()\n'.repeat(451), '451 lines'],
  ['src/store/read.ts', 'x()\n// TODO: later', ':2 leaves a TODO'],
  ['scripts/read.mjs', 'x() // FIXME', ':1 leaves a FIXME'],
  ['test/cli/x.process.test.ts', 'const id = Math.random()', ':1 draws from Math.random'],
  ['src/store/x.test.ts', 'x()\nconst id = Math.random()', ':2 draws from Math.random'],
  ['src/store/index.ts', "export * from './read.ts'", 'exports \\*'],
  ['src/store/index.ts', "export * as read from './read.ts'", 'exports \\*'],
  ['src/store/read.ts', 'export default function read() {}', 'default export'],
  ['src/store/read.ts', 'export default 1', 'default export'],
  ['src/store/read.ts', 'const a = 1\nexport { a as default }', 'default export'],
  ['test/a.test.ts', "test.only('a', () => {})", 'uses only'],
  ['test/a.test.ts', "describe.concurrent.only('a', () => {})", 'uses only'],
  ['test/a.test.ts', "test('a', { only: true }, () => {})", 'uses only'],
  ['test/a.test.ts', "test.skip('a', () => {})", 'skip without a reason'],
  ['test/a.test.ts', "// broken today\ntest.skip('a', () => {})", 'skip without a reason'],
  ['test/a.test.ts', "it.skipIf(slow)('a', () => {})", 'skipIf without a reason'],
  ['test/a.test.ts', "test.todo('a')", 'todo without a reason'],
  ['test/a.test.ts', "test('a', { skip: true }, () => {})", 'skip without a reason'],
  ['test/a.test.ts', "test('a', (context) => context.skip())", 'skip without a reason'],
])('%s may not say: %s', (path, text, complaint) => {
  expect(check(path, text)).toEqual([expect.stringMatching(new RegExp(`^${path}.*${complaint}`))])
})

test.each([
  ['src/store/open-store.ts', "export { read } from './read.ts'\n// says todo in passing"],
  ['src/store/fold.property.test.ts', 'x()\n'.repeat(450)],
  ['vitest.config.ts', 'export default {}'],
  ['test/torture/main.ts', 'const seed = Math.random()'],
  ['test/a.test.ts', "// skip: node 20 has no such call\ntest.skip('a', () => {})"],
  ['test/a.test.ts', "test.skipIf(!strace.available)('a', () => {})"],
  ['test/a.test.ts', "test('a', (context) => context.skip(!supports.shared, 'one process only'))"],
  ['test/a.test.ts', "const sample = 'test.only()' // test.skip()"],
])('%s may say: %s', (path, text) => {
  expect(check(path, text)).toEqual([])
})
