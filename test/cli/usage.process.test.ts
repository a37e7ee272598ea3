import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Server } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open-store.ts'
import { Cli } from './holdfast.ts'

test.each([
  [['show'], "missing required argument 'id'"],
  [['show', 'a', 'b'], 'too many arguments'],
  [['show', 'a', '--frobnicate'], "unknown option '--frobnicate'"],
  [['show', 'a', '--limit', 'many'], '--limit must be a whole number'],
  [['list', '--order', 'size'], 'Allowed choices are updated, created, title'],
  [['list', '--cursor', 'none-of-ours'], 'cursor'],
  [['purge', '--older-than', '30'], 'a number with a unit'],
  [['tag', 'a'], "missing required argument 'changes'"],
  [['tag', 'a', 'x'], '+tag or -tag'],
  [['tag', 'a', '+x', '-x'], 'added and removed'],
  [['append', 'a'], 'standard input is empty'],
  [['append', '', 'x'], 'The id of a session must be a text that is not empty'],
  [['append', 'a', 'x', '--jsonl', '-'], 'not both'],
  [['append', 'a', '--jsonl', '-', '--key', 'k'], '--jsonl'],
  [['append', 'a', '--jsonl', 'no-such-file'], 'cannot be read'],
  [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
  [['list', '--store', 'ftp://localhost:1'], 'ftp'],
  [['list', '--store', 'http://localhost:1', '--space', 's'], 'space'],
  [['list', '--store', 'memory:'], 'memory'],
  [['list', '--store', ''], 'empty'],
  [['shw', 'a'], 'Did you mean show?'],
  [['server'], "unknown command 'server'"],
  [['serve', '--store', 'http://localhost:1'], 'directory'],
  [['work', '--store', 'http://localhost:1'], 'directory'],
])('%j is wrong usage: exit code 2, and the error is one line of JSON where that is wanted', async (words, complaint) => {
  const cli = new Cli()
  const failure = await cli.failure(words)
  expect(failure).toMatchObject({ status: 2, code: 'INVALID_ARGUMENT', details: { retryable: false, outcome: 'none' } })
  expect(failure.message).toContain(complaint)
})

test('without --json a mistake is told in words, on standard error alone', async () => {
  const cli = new Cli()
  const { status, stdout, stderr } = await cli.run(['shw', 'a'])
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toBe("error: unknown command 'shw'\n(Did you mean show?)\nRun `holdfast --help` to see what there is.\n")
  expect((await cli.run(['show', 'a', '--limit', 'x'])).stderr).toBe('error: --limit must be a whole number; got "x".\n')
})

test('the options of every command stand before or behind it', async () => {
  const cli = new Cli()
  const store = join(cli.directory, 'elsewhere')
  const before = await cli.run(['--json', '--store', store, 'append', 'a', 'hi'])
  const behind = await cli.run(['append', 'a', 'hi', '--store', store, '--json'])
  expect([before, behind]).toMatchObject(Array(2).fill({ status: 0, stdout: expect.stringMatching(/^\{"session_id":"a".*\}\n$/) }))
  expect(existsSync(cli.store)).toBe(false)
})

test('behind -- everything is a word, also an id and a text that begin with a dash', async () => {
  const cli = new Cli()
  expect(await cli.one('append', '--role', 'system', '--', '-id', '--json')).toMatchObject({ session_id: '-id' })
  expect(await cli.json('show', '--', '-id')).toMatchObject([{ message: { role: 'system', content: '--json' } }])
  expect((await cli.run(['tag', '--', '-id', '--store'])).status).toBe(0)
})

test('--quiet leaves out what is only for people who look on; warnings and results stay', async () => {
  const cli = new Cli()
  await cli.one('new', 'a')
  expect(await cli.run(['title', 'a', 'x'])).toEqual({ status: 0, stdout: '', stderr: '"a" is called "x" now.\n' })
  expect(await cli.run(['title', 'a', 'x', '--quiet'])).toEqual({ status: 0, stdout: '', stderr: '' })
  expect((await cli.run(['list', '--quiet'])).stdout).toContain('a ')
})

test('a store that cannot be opened fails with 1, and says why', async () => {
  const cli = new Cli()
  writeFileSync(cli.store, 'a file')
  expect((await cli.failure(['append', 'a', 'x'])).status).toBe(1)
})

test('the help of a command tells its words and options', async () => {
  const cli = new Cli()
  for (const words of [
    ['help', 'append'],
    ['append', '--help'],
  ]) {
    const { status, stdout, stderr } = await cli.run(words)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: holdfast append \[options\] <id> \[text\]/)
    expect(stdout).toContain('--jsonl <file>')
    expect(stdout).toContain('--store <where>')
  }
})

test('a server that needs a key names the setting that holds it', async () => {
  const store = await openStore('memory:')
  const server = await Server.start(store, { port: 0, worker: false })
  onTestFinished(async () => {
    await server.stop()
    await store.close()
  })
  const cli = new Cli()
  for (const [key, hint] of [
    ['', 'Set HOLDFAST_KEY'],
    ['hf_wrong', 'Check the API key in HOLDFAST_KEY'],
  ] as const) {
    cli.extra = { HOLDFAST_STORE: server.url, HOLDFAST_KEY: key }
    expect(await cli.failure(['list'])).toMatchObject({ status: 1, code: 'UNAUTHENTICATED', message: expect.stringContaining(hint) })
  }
})
