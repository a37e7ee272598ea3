import { test } from 'vitest'
import { runs } from '../long.ts'
import { runModel } from '../model/sessions.ts'

test.each(['memory', 'files'] as const)('a store in %s does what a naive one does, for many and long runs', (kind) =>
  runModel(kind, { runs: runs(6, 60), length: 120 }),
)

test.each(['memory', 'files'] as const)('forks of forks in %s are what copies would be, for many and long runs', (kind) =>
  runModel(kind, { runs: runs(8, 100), length: 80, focus: 'forks' }),
)
