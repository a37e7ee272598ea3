import { test } from 'vitest'
import { runModel } from './sessions.ts'

/** Where the project says so, this suite runs on PostgreSQL. */
const SHARED = process.env.HOLDFAST_TEST_STORE === 'postgres' ? 'postgres' : 'memory'

test(`a store in ${SHARED} does what a naive one does`, () => runModel(SHARED, { runs: 12, length: 40 }))

test('forks of forks are what copies would be', () => runModel(SHARED, { runs: 12, length: 40, focus: 'forks' }))

test('a store in a directory, opened twice and now and then anew, does what a naive one does', () =>
  runModel('files', { runs: 5, length: 40 }))
