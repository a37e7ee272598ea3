import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

function holdfast(...words: string[]) {
  return spawnSync(process.execPath, ['dist/cli/main.js', ...words], { encoding: 'utf8' })
}

test('without a command it prints the help on standard output', () => {
  const { status, stdout, stderr } = holdfast()
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/^Usage: holdfast/)
  expect(holdfast('--help').stdout).toBe(stdout)
  expect(holdfast('help').stdout).toBe(stdout)
})

test('--version prints the version of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(holdfast('--version')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' })
})

test('an unknown command is wrong usage, told on standard error', () => {
  const { status, stdout, stderr } = holdfast('frobnicate')
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain("unknown command 'frobnicate'")
  expect(stderr).toContain('holdfast --help')
})

test('an unknown option is wrong usage', () => {
  const { status, stdout, stderr } = holdfast('--frobnicate')
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain("unknown option '--frobnicate'")
})
