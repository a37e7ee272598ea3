import { expect, test } from 'vitest'
import { findCycles } from './cycles.ts'
import { readSources } from './sources.ts'

/** The one cycle that is left, between the catalog, the doctor and the store. It may only become smaller. */
const LEFT = 54

test('no files import one another in a circle, but for the one that is left', () => {
  const files = readSources('src', ['.ts', '.cts']).filter(({ path }) => !path.endsWith('.test.ts'))
  const [largest = [], ...others] = findCycles(files)
  expect(others).toEqual([])
  expect(largest.length).toBeLessThanOrEqual(LEFT)
  expect(largest.filter((path) => !/^src\/(?:catalog|doctor|store)\//.test(path))).toEqual([])
})

test('a cycle is found through types, dynamic imports and other files', () => {
  const files = [
    { path: 'src/a.ts', text: "import type { B } from './b.ts'" },
    { path: 'src/b.ts', text: "export const load = () => import('./deep/c.ts')" },
    { path: 'src/deep/c.ts', text: "export * from '../a.ts'" },
    { path: 'src/d.ts', text: "import { a } from './a.ts'" },
    { path: 'src/e.ts', text: "import { f } from './f.ts'" },
    { path: 'src/f.ts', text: "import { e } from './e.ts'" },
  ]
  expect(findCycles(files)).toEqual([
    ['src/a.ts', 'src/b.ts', 'src/deep/c.ts'],
    ['src/e.ts', 'src/f.ts'],
  ])
})
