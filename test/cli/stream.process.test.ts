import { once } from 'node:events'
import { expect, test } from 'vitest'
import { Cli, ended, Lines, objectsIn } from './holdfast.ts'

function linesOf(ids: readonly string[]): string {
  return ids.map((id) => `${JSON.stringify({ role: 'user', id, content: `this is ${id}` })}\n`).join('')
}

function idsFrom(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`)
}

test('a stream of messages is acknowledged in order, one line each', async () => {
  const cli = new Cli()
  const ids = idsFrom('m', 2500)
  const { status, stdout, stderr } = await cli.run(['append', 'a', '--jsonl', '-', '--json'], linesOf(ids))
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const acknowledged = objectsIn(stdout)
  expect(acknowledged.map(({ message_id }) => message_id)).toEqual(ids)
  expect(new Set(acknowledged.map(({ version }) => version)).size).toBe(2500)
  expect(await cli.messageIds('a')).toEqual(ids)
})

test('each message is acknowledged while the stream is still open', async () => {
  const cli = new Cli()
  const child = cli.start('append', 'a', '--jsonl', '-', '--json')
  const lines = new Lines(child)
  for (const id of ['m1', 'm2']) {
    child.stdin.write(linesOf([id]))
    await lines.until(lines.seen.length + 1)
    expect(lines.objects.at(-1)).toMatchObject({ message_id: id, duplicate: false })
  }
  child.stdin.end()
  expect((await once(child, 'close'))[0]).toBe(0)
})

test('a line may be a message or a text in quotes; empty lines do not count; a file may lack its last line break', async () => {
  const cli = new Cli()
  const input = '\ufeff{"role":"tool","content":[{"type":"text","text":"x"}],"extra":1}\r\n\n  \n"just text"'
  const { status } = await cli.run(['append', 'a', '--jsonl', '-', '--role', 'assistant'], input)
  expect(status).toBe(0)
  expect((await cli.json('show', 'a')).map(({ message }) => message)).toEqual([
    { role: 'tool', content: [{ type: 'text', text: 'x' }], extra: 1 },
    { role: 'assistant', content: 'just text' },
  ])
})

test.each([
  ['no JSON', '{"role":'],
  ['no message', '[1]'],
  ['an integer that would be rounded', '{"content":12345678901234567890}'],
])('a line that is %s ends the stream with its number; what stands before it is kept, what stands behind it is not', async (_, bad) => {
  const cli = new Cli()
  const { status, stdout, stderr } = await cli.run(['append', 'a', '--jsonl', '-', '--json'], `"one"\n\n"two"\n${bad}\n"never"\n`)
  expect(status).toBe(2)
  expect(objectsIn(stdout)).toHaveLength(2)
  expect(objectsIn(stderr)).toMatchObject([{ error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(/^Line 4 /) } }])
  expect(await cli.messageIds('a')).toEqual(objectsIn(stdout).map(({ message_id }) => message_id))
})

test('a message that the store refuses ends the stream with its line, and none behind it is appended', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'taken')
  const ids = ['m1', 'taken', ...idsFrom('n', 50)]
  const failure = await cli.failure(['append', 'a', '--jsonl', '-'], linesOf(ids))
  expect(failure).toMatchObject({ status: 4, code: 'CONFLICT', details: { line: 2, outcome: 'none' } })
  expect(await cli.messageIds('a')).toEqual(['taken', 'm1'])
})

test('a stream into a fork keeps its order, and knows what the fork inherited', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm0')
  await cli.prepare(async (store) => store.session('a').fork({ id: 'b' }))
  const inherited = JSON.stringify({ role: 'user', id: 'm0', content: 'm0' })
  const ids = idsFrom('n', 40)
  const { status, stdout } = await cli.run(['append', 'b', '--jsonl', '-', '--json'], `${inherited}\n${linesOf(ids)}`)
  expect(status).toBe(0)
  expect(objectsIn(stdout).filter(({ duplicate }) => duplicate)).toMatchObject([{ message_id: 'm0' }])
  expect(await cli.messageIds('b')).toEqual(['m0', ...ids])
})

test('killed in the middle of a stream: all that was acknowledged is there once, and sent again all of it is there once, in order', async () => {
  const cli = new Cli()
  const ids = idsFrom('m', 4000)
  const child = cli.start('append', 'a', '--jsonl', '-', '--json')
  const lines = new Lines(child)
  child.stdin.write(linesOf(ids.slice(0, 2000)))
  await lines.until(1)
  child.stdin.write(linesOf(ids.slice(2000)))
  await lines.until(500)
  child.kill('SIGKILL')
  await once(child, 'close')
  // The last line may have been cut off with the process.
  const acknowledged = lines.seen.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line).message_id)
  expect(acknowledged.length).toBeLessThan(ids.length)

  const kept = await cli.messageIds('a')
  expect(kept).toEqual(ids.slice(0, kept.length))
  expect(acknowledged).toEqual(ids.slice(0, acknowledged.length))
  expect(kept.length).toBeGreaterThanOrEqual(acknowledged.length)

  const again = await cli.run(['append', 'a', '--jsonl', '-', '--json'], linesOf(ids))
  expect(again.status).toBe(0)
  expect(objectsIn(again.stdout).filter(({ duplicate }) => duplicate)).toHaveLength(kept.length)
  expect(await cli.messageIds('a')).toEqual(ids)
})

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s in the middle of a stream: exit code 130, and exactly what was acknowledged is there',
  async (signal) => {
    const cli = new Cli()
    const ids = idsFrom('m', 3000)
    const child = cli.start('append', 'a', '--jsonl', '-', '--json')
    const lines = new Lines(child)
    child.stdin.write(linesOf(ids))
    await lines.until(100)
    child.kill(signal)
    const [status] = await once(child, 'close')
    expect(status).toBe(130)
    expect(await cli.messageIds('a')).toEqual(lines.objects.map(({ message_id }) => message_id))
  },
)

test('SIGINT while it waits for input: exit code 130 at once', async () => {
  const cli = new Cli()
  const child = cli.start('append', 'a', '--jsonl', '-', '--json')
  const lines = new Lines(child)
  child.stdin.write(linesOf(['m1']))
  await lines.until(1)
  child.kill('SIGINT')
  expect((await once(child, 'close'))[0]).toBe(130)
  expect(await cli.messageIds('a')).toEqual(['m1'])
})

test('two processes append to one session at once: nothing is lost, each one keeps its order', async () => {
  const cli = new Cli()
  const [ones, twos] = [idsFrom('one-', 400), idsFrom('two-', 400)]
  const both = await Promise.all([ones, twos].map((ids) => ended(cli.start('append', 'a', '--jsonl', '-', '--json'), linesOf(ids))))
  expect(both).toMatchObject(Array(2).fill({ status: 0, stderr: '' }))
  const all = await cli.messageIds('a')
  expect(all.filter((id) => id.startsWith('one-'))).toEqual(ones)
  expect(all.filter((id) => id.startsWith('two-'))).toEqual(twos)
  expect(all).toHaveLength(800)
})

test('when nobody reads the acknowledgements any longer, a stream stops and fails, without a stack trace', async () => {
  const cli = new Cli()
  const child = cli.start('append', 'a', '--jsonl', '-', '--json')
  child.stdin.write(linesOf(['m1']))
  await new Lines(child).until(1)
  child.stdout.destroy()
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const closed = once(child, 'close')
  let written = 1
  const more = setInterval(() => child.stdin.write(linesOf([`m${++written}`])), 20)
  const [status] = await closed
  clearInterval(more)
  expect(status).toBe(1)
  expect(objectsIn(stderr)).toMatchObject([{ warning: { message: expect.stringContaining('Nobody reads') } }])
})

test('a reader that goes away ends a listing quietly', async () => {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    const session = store.session('a')
    await session.append(Array.from({ length: 3000 }, (_, i) => ({ role: 'user', content: `${i} ${'x'.repeat(500)}` })))
  })
  const child = cli.start('show', 'a')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  await once(child.stdout, 'data')
  child.stdout.destroy()
  const [status] = await once(child, 'close')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
