import { test } from 'vitest'
import { runModel } from '../model/sessions.ts'

test('a store in memory does what a naive one does, for many and long runs', () => runModel('memory', { runs: 150, length: 150 }))

test('a store in a directory does what a naive one does, for many and long runs', () => runModel('files', { runs: 60, length: 120 }))
