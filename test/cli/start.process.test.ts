import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Cli } from './holdfast.ts'

/** Files of compiled code, with their paths. */
function compiledIn(cache: string): string[] {
  return readdirSync(cache, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.v8'))
    .map((name) => join(cache, name))
}

function rot(file: string): void {
  const bytes = readFileSync(file)
  const middle = bytes.length >> 1
  bytes[middle] = (bytes[middle] as number) ^ 1
  writeFileSync(file, bytes)
}

function greet(cli: Cli, cache: string): Promise<{ status: number | null; stderr: string }> {
  cli.cache = cache
  return cli.run(['append', 'a', 'hello'])
}

test('compiled code is kept for the next start, for its owner alone, and taken from there', async () => {
  const cli = new Cli()
  const cache = join(cli.directory, 'cache')
  expect(await greet(cli, cache)).toMatchObject({ status: 0, stderr: '' })
  const files = compiledIn(cache)
  expect(files.length).toBeGreaterThan(0)
  for (const file of files) expect(statSync(file).mode & 0o077).toBe(0)
  // The first few runs add what they called to it; then it stays.
  for (let run = 2; run <= 3; run++) expect(await greet(cli, cache)).toMatchObject({ status: 0, stderr: '' })
  const before = files.map((file) => statSync(file).mtimeMs)
  expect(await greet(cli, cache)).toMatchObject({ status: 0, stderr: '' })
  expect(files.map((file) => statSync(file).mtimeMs)).toEqual(before)
})

test.each([
  ['garbage', (file: string) => writeFileSync(file, 'garbage')],
  ['cut short', (file: string) => truncateSync(file, Math.floor(statSync(file).size / 2))],
  ['empty', (file: string) => truncateSync(file, 0)],
  ['rotten in one byte', (file: string) => rot(file)],
])('compiled code that is %s is made anew', async (_, spoil) => {
  const cli = new Cli()
  const cache = join(cli.directory, 'cache')
  await greet(cli, cache)
  const files = compiledIn(cache)
  files.forEach(spoil)
  const spoilt = files.map((file) => readFileSync(file))
  expect(await greet(cli, cache)).toMatchObject({ status: 0, stderr: '' })
  for (const [at, file] of files.entries()) expect(readFileSync(file).equals(spoilt[at] as Buffer)).toBe(false)
})

test('where nothing can be kept, commands work all the same', async () => {
  const cli = new Cli()
  const file = join(cli.directory, 'file')
  writeFileSync(file, '')
  expect(await greet(cli, file)).toMatchObject({ status: 0, stderr: '' })
  const closed = join(cli.directory, 'closed')
  mkdirSync(closed)
  chmodSync(closed, 0o500)
  expect(await greet(cli, closed)).toMatchObject({ status: 0, stderr: '' })
  rmSync(closed, { recursive: true })
  expect(existsSync(cli.store)).toBe(true)
})
