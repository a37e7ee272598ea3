import { describe, expect, test } from 'vitest'
import { failureOf, isLost, isPassing, NotConnected } from './failures.ts'

const sql = (code: string) => Object.assign(new Error('told by the server'), { code })

test.each([
  ['28P01', 'password'],
  ['3D000', 'no such database'],
  ['42501', 'rights'],
  ['25006', 'primary'],
  ['53300', 'max_connections'],
  ['57014', 'statement_timeout'],
  ['42P01', 'holdfast migrate'],
  ['ECONNREFUSED', 'Nobody listens'],
  ['ENOTFOUND', 'no host'],
])('%s is told with what to do', (code, told) => {
  const failure = failureOf(new NotConnected('x', { cause: sql(code) }), 'The store could not be opened', 'write')
  expect(failure).toMatchObject({ code: 'UNAVAILABLE', outcome: 'none', details: { code } })
  expect(failure.message).toContain(told)
})

test('a full disk is no space for who writes', () => {
  expect(failureOf(sql('53100'), 'x', 'write')).toMatchObject({ code: 'NO_SPACE', outcome: 'none' })
  expect(failureOf(sql('53100'), 'x', 'read')).toMatchObject({ code: 'UNREADABLE' })
})

describe('whether something may have happened', () => {
  test('cannot be told if the connection broke, or the server ended', () => {
    for (const error of [new Error('Connection terminated unexpectedly'), sql('ECONNRESET'), sql('57P01'), sql('08006')])
      expect(isLost(error)).toBe(true)
  })

  test('can be told if the server refused, or nothing was sent', () => {
    for (const error of [sql('40P01'), sql('53100'), sql('23505'), new NotConnected('x')]) expect(isLost(error)).toBe(false)
  })

  test('and what passes by itself is tried again', () => {
    for (const error of [sql('40P01'), sql('57P03'), new NotConnected('x', { cause: sql('ECONNREFUSED') })])
      expect(isPassing(error)).toBe(true)
    for (const error of [
      sql('42501'),
      new NotConnected('x', { cause: sql('ENOTFOUND') }),
      new NotConnected('x', { cause: sql('28P01') }),
    ]) {
      expect(isPassing(error)).toBe(false)
    }
  })
})
