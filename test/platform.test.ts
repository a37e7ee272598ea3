import { expect, test, vi } from 'vitest'
import { requirePlatform } from './platform.ts'

test('what is missing is told, with the reason', () => {
  vi.stubEnv('HOLDFAST_REQUIRE_ALL', '')
  vi.stubEnv('PATH', '')
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const { available, reason } = requirePlatform('strace')
  expect(available).toBe(false)
  expect(reason).toContain('ENOENT')
  expect(told).toHaveBeenCalledWith(expect.stringContaining('strace is not available'))
})

test('with HOLDFAST_REQUIRE_ALL=1 what is missing is a failure', () => {
  vi.stubEnv('HOLDFAST_REQUIRE_ALL', '1')
  vi.stubEnv('PATH', '')
  expect(() => requirePlatform('strace')).toThrow(/strace is not available.*HOLDFAST_REQUIRE_ALL/)
})

test('what is there is available', () => {
  vi.spyOn(process, 'platform', 'get').mockReturnValue('linux')
  expect(requirePlatform('linux')).toEqual({ available: true, reason: '' })
})
