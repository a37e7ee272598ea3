import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkKinds, pathsIn } from './kinds.ts'
import { ROOT, readSources } from './sources.ts'

test('the name of each test file says what it needs', () => {
  const files = [...readSources('src', ['.test.ts']), ...readSources('test', ['.ts'])]
  expect(files.length).toBeGreaterThan(0)
  expect(checkKinds(files)).toEqual([])
})

const STARTS = "import { spawn } from 'node:child_process'"
const THROUGH = { path: 'test/cli/start.ts', text: STARTS }

test.each([
  ['test/cli/help.test.ts', STARTS, 'needs node:child_process: its name must end in .process.test.ts or'],
  ['test/cli/help.test.ts', "import { start } from './start.ts'", 'needs node:child_process'],
  ['test/cli/help.store.test.ts', "import { start } from './start.ts'", 'needs node:child_process'],
  ['test/web/page.process.test.ts', "import { chromium } from 'playwright-core'", 'must end in .browser.test.ts'],
  ['test/web/page.process.test.ts', "const { chromium } = await import('playwright-core')", 'must end in .browser.test.ts'],
  ['test/store/list.quick.test.ts', '', 'there is no kind "quick"'],
  ['test/slow/list.test.ts', '', 'has the name of a fast test'],
])('%s may not say: %s', (path, text, complaint) => {
  expect(checkKinds([THROUGH, { path, text }])).toEqual([expect.stringMatching(new RegExp(`^${path}.*${complaint}`))])
})

test.each([
  ['test/cli/help.process.test.ts', "import { start } from './start.ts'"],
  ['test/web/page.browser.test.ts', `${STARTS}\nimport { chromium } from 'playwright-core'`],
  ['test/store/list.test.ts', "import { requirePlatform } from '../platform.ts'"],
  ['test/store/list.property.test.ts', ''],
  ['src/store/list.test.ts', "import { readFileSync } from 'node:fs'"],
])('%s may say: %s', (path, text) => {
  expect(checkKinds([THROUGH, { path: 'test/platform.ts', text: STARTS }, { path, text }])).toEqual([])
})

test('every path in the lists of vitest.config.ts is a file', () => {
  const paths = pathsIn(readFileSync(join(ROOT, 'vitest.config.ts'), 'utf8'))
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('a list names each file of its braces', () => {
  const text = "['test/{a,b/c}.store.test.ts', 'src/d.test.ts', `{src,test}/**/*.test.ts`, '**/*.*.test.ts', 'test/setup.ts']"
  expect(pathsIn(text)).toEqual(['test/a.store.test.ts', 'test/b/c.store.test.ts', 'src/d.test.ts'])
})
