import { expect, test } from 'vitest'
import { isExpected } from './expected-end.ts'

const NEITHER = { isKilled: false, isOver: false }

test.each([
  ['was killed', { code: null, signal: 'SIGKILL' }, { ...NEITHER, isKilled: true }],
  ['finished', { code: 0, signal: null }, { ...NEITHER, isOver: true }],
  ['was interrupted', { code: 130, signal: null }, { ...NEITHER, isOver: true }],
] as const)('the end of a process that its driver %s is expected', (_, ended, asked) => {
  expect(isExpected(ended, asked)).toBe(true)
})

test.each([
  ['with 0 before it was asked to', { code: 0, signal: null }, NEITHER],
  ['with an error', { code: 1, signal: null }, NEITHER],
  ['with an error after it was asked to end', { code: 1, signal: null }, { ...NEITHER, isOver: true }],
  ['with an abort', { code: 134, signal: null }, NEITHER],
  ['by SIGABRT, although it was killed too late', { code: null, signal: 'SIGABRT' }, { ...NEITHER, isKilled: true }],
  ['by a SIGKILL of another program', { code: null, signal: 'SIGKILL' }, NEITHER],
] as const)('the end of a process that ends %s is not expected', (_, ended, asked) => {
  expect(isExpected(ended, asked)).toBe(false)
})
