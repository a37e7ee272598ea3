import { describe, expect, test } from 'vitest'
import { type ErrorCode, HoldfastError, withOutcomeUnknown } from './errors.ts'

/** HTTP status, exit code, and whether trying the same again can help. The compiler sees to it that no code is missing. */
const EXPECTED: Record<ErrorCode, readonly [status: number, exitCode: number, retryable: boolean]> = {
  INVALID_ARGUMENT: [400, 2, false],
  UNAUTHENTICATED: [401, 1, false],
  PERMISSION_DENIED: [403, 1, false],
  NOT_FOUND: [404, 3, false],
  ALREADY_EXISTS: [409, 4, false],
  CONFLICT: [409, 4, false],
  FAILED_PRECONDITION: [412, 4, false],
  PAYLOAD_TOO_LARGE: [413, 1, false],
  RESOURCE_EXHAUSTED: [429, 1, true],
  DAMAGED: [500, 1, false],
  UNIMPLEMENTED: [501, 1, false],
  UNSUPPORTED_VERSION: [501, 1, false],
  UNSUPPORTED_FILESYSTEM: [501, 1, false],
  UNAVAILABLE: [503, 1, true],
  UNREADABLE: [503, 1, true],
  CLOSED: [503, 1, false],
  DEADLINE_EXCEEDED: [504, 1, true],
  NO_SPACE: [507, 6, true],
}

test.each(Object.entries(EXPECTED))('%s has its status, its exit code and its advice', (code, [status, exitCode, retryable]) => {
  const error = new HoldfastError(code as ErrorCode, 'Message.')
  expect({ status: error.status, exitCode: error.exitCode, retryable: error.retryable }).toEqual({ status, exitCode, retryable })
})

test('details may say that trying again cannot help, and not that it can', () => {
  expect(new HoldfastError('UNREADABLE', 'Gone.', { details: { retryable: false } }).retryable).toBe(false)
  expect(new HoldfastError('NOT_FOUND', 'None.', { details: { retryable: true } }).retryable).toBe(false)
})

test('an error is an Error, with a name, a message, and nothing else unless it was given', () => {
  const error = new HoldfastError('NOT_FOUND', 'There is no such session.')
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toBe('HoldfastError: There is no such session.')
  expect(error).toMatchObject({ code: 'NOT_FOUND', outcome: 'none', details: {} })
  expect('cause' in error).toBe(false)
})

test('an error keeps what it was made with', () => {
  const cause = new Error('EIO')
  const error = new HoldfastError('UNAVAILABLE', 'Later.', { outcome: 'unknown', details: { from: 7 }, cause })
  expect(error).toMatchObject({ outcome: 'unknown', details: { from: 7 }, cause })
})

describe('for a caller whose bytes were written before the error came', () => {
  test('it is the same error with outcome unknown, and says what to do', () => {
    const error = new HoldfastError('NO_SPACE', 'The disk is full.', { details: { bytes: 3 } })
    const told = withOutcomeUnknown(error)
    expect(told).toBeInstanceOf(HoldfastError)
    expect(told).toMatchObject({ code: 'NO_SPACE', outcome: 'unknown', details: { bytes: 3 }, cause: error })
    expect((told as HoldfastError).message).toMatch(/^The disk is full\. .*repeat it under the same ids/)
  })

  test('one that says so already, and one that is no HoldfastError, stay as they are', () => {
    const unknown = new HoldfastError('UNAVAILABLE', 'Later.', { outcome: 'unknown' })
    expect(withOutcomeUnknown(unknown)).toBe(unknown)
    const mistake = new TypeError('Wrong.')
    expect(withOutcomeUnknown(mistake)).toBe(mistake)
    expect(withOutcomeUnknown(undefined)).toBeUndefined()
  })
})
