import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { requirePlatform } from './platform.ts'

test('what is missing is told, with the reason', () => {
  vi.stubEnv('HOLDFAST_REQUIRE_ALL', '')
  vi.stubEnv('HOLDFAST_TEST_MISSING', undefined)
  vi.stubEnv('PATH', '')
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const { available, reason } = requirePlatform('strace')
  expect(available).toBe(false)
  expect(reason).toContain('ENOENT')
  expect(told).toHaveBeenCalledWith(expect.stringContaining('strace is not available'))
})

test('what is missing is noted for the end of the run, with what brings it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-missing-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  vi.stubEnv('HOLDFAST_REQUIRE_ALL', '')
  vi.stubEnv('HOLDFAST_TEST_MISSING', join(directory, 'missing'))
  vi.stubEnv('PATH', '')
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  requirePlatform('strace')
  expect(readFileSync(join(directory, 'missing'), 'utf8')).toMatch(
    /^strace is not available: .*\n {2}To run what needs it: apt-get install strace/,
  )
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
