/** Files that cannot be derived: a broken one is refused with what to do, and left as it is. */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { oneIn } from '../long.ts'
import { ServerProcess } from '../server/process.ts'
import { Cli } from './holdfast.ts'

/** What may have become of a file. */
function spoiled(bytes: Buffer): readonly (Buffer | 'a directory')[] {
  const flips = Array.from({ length: (bytes.length - 1) * 8 }, (_, bit) => {
    const flipped = Buffer.from(bytes)
    flipped[bit >>> 3] = (flipped[bit >>> 3] as number) ^ (1 << (bit & 7))
    return flipped
  })
  const binary = Buffer.from(Array.from({ length: 256 }, (_, n) => n))
  return [...oneIn(Math.ceil(flips.length / 2), flips), Buffer.alloc(0), bytes.subarray(0, bytes.length / 2), binary, 'a directory']
}

/** Runs a command for each of them. Returns the errors, and fails if the file changed. */
async function refusals(file: string, run: () => Promise<{ message: string }>): Promise<string[]> {
  const bytes = readFileSync(file)
  const messages: string[] = []
  for (const content of spoiled(bytes)) {
    rmSync(file, { recursive: true })
    if (content === 'a directory') mkdirSync(file)
    else writeFileSync(file, content)
    messages.push((await run()).message)
    if (content === 'a directory') expect(statSync(file).isDirectory()).toBe(true)
    else expect(readFileSync(file)).toEqual(content)
  }
  rmSync(file, { recursive: true })
  writeFileSync(file, bytes)
  return messages
}

test('a broken holdfast.json is refused by every command, and named', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const file = join(cli.store, 'holdfast.json')
  for (const words of [['list'], ['append', 'a', 'more'], ['doctor']]) {
    const messages = await refusals(file, () => cli.failure(words))
    expect(messages).toEqual(messages.map(() => expect.stringContaining(file)))
  }
  expect(await cli.messageIds('a')).toEqual(['m1'])
})

test('a broken key of the server is refused, and named; a missing one is made again', async () => {
  const cli = new Cli()
  const first = await ServerProcess.start(cli.store)
  const { key } = first
  await first.stop()
  const file = join(cli.store, 'server.key')
  const messages = await refusals(file, () => cli.failure(['serve', '--port', '0']))
  expect(messages).toEqual(messages.map(() => expect.stringContaining(file)))
  const again = await ServerProcess.start(cli.store)
  expect(again.key).toBe(key)
  await again.stop()
  rmSync(file)
  const other = await ServerProcess.start(cli.store)
  expect(other.key).not.toBe(key)
  await other.stop()
})

test('a broken master key is refused', async () => {
  const cli = new Cli()
  const file = join(cli.directory, 'master.key')
  expect((await cli.run(['encryption', 'new-key', file])).status).toBe(0)
  const key = ['--master-key-file', file]
  expect((await cli.run(['append', 'a', 'one', ...key])).status).toBe(0)
  const messages = await refusals(file, () => cli.failure(['show', 'a', ...key]))
  // A flipped bit may leave another key: it is refused by what it does not open.
  expect(messages).toEqual(messages.map(() => expect.stringMatching(/master\.key|not the master key/)))
  expect(await cli.json('show', 'a', ...key)).toHaveLength(1)
})
