import { expect, test } from 'vitest'
import { findCycles } from './cycles.ts'
import { readSources } from './sources.ts'

test('no files import one another in a circle', () => {
  const files = readSources('src', ['.ts', '.cts']).filter(({ path }) => !path.endsWith('.test.ts'))
  expect(files.length).toBeGreaterThan(0)
  expect(findCycles(files)).toEqual([])
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
