import { test } from 'vitest'
import { runModel } from './sessions.ts'

test('a store in memory does what a naive one does', () => runModel('memory', { runs: 12, length: 40 }))

test('forks of forks are what copies would be', () => runModel('memory', { runs: 12, length: 40, focus: 'forks' }))

test('a store in a directory, opened twice and now and then anew, does what a naive one does', () =>
  runModel('files', { runs: 5, length: 40 }))
