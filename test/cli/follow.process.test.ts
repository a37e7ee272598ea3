import { once } from 'node:events'
import { expect, test } from 'vitest'
import { Cli, Lines } from './holdfast.ts'

test('show --follow prints what is there, then what another process appends, and ends with 130 when it is interrupted', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  const child = cli.start('show', 'a', '--follow', '--json')
  const lines = new Lines(child)
  await lines.until(2)
  await cli.one('append', 'a', 'from elsewhere', '--message-id', 'm3')
  await lines.until(3)
  await cli.one('title', 'a', 'no message')
  await cli.one('append', 'a', 'again', '--message-id', 'm4')
  await lines.until(4)
  expect(lines.objects.map(({ id }) => id)).toEqual(['m1', 'm2', 'm3', 'm4'])
  expect(lines.objects[2]).toEqual({
    id: 'm3',
    at: expect.any(String),
    archived: false,
    archive_id: null,
    message: { role: 'user', content: 'from elsewhere' },
  })
  child.kill('SIGINT')
  expect((await once(child, 'close'))[0]).toBe(130)
})

test('what is appended while the first messages are printed is neither missed nor printed twice', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm')
  const ids = Array.from({ length: 300 }, (_, i) => `n${i}`)
  const writer = cli.start('append', 'a', '--jsonl', '-', '--json')
  const written = new Lines(writer)
  writer.stdin.write(`${JSON.stringify({ id: 'first' })}\n`)
  await written.until(1)
  const child = cli.start('show', 'a', '--follow', '--json')
  const lines = new Lines(child)
  for (const id of ids) {
    writer.stdin.write(`${JSON.stringify({ id })}\n`)
    // One at a time, so that they go on coming while the reader starts.
    await written.until(written.seen.length + 1)
  }
  writer.stdin.end()
  await lines.until(ids.length + 2)
  child.kill('SIGINT')
  await once(child, 'close')
  expect(lines.objects.map(({ id }) => id)).toEqual(['m', 'first', ...ids])
})

test('show --follow --limit 0 prints only what comes', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const child = cli.start('show', 'a', '--follow', '--limit', '0')
  const lines = new Lines(child)
  await once(child.stderr, 'data')
  await cli.prepareMessages('a', 'm2')
  await lines.until(2)
  expect(lines.seen.slice(0, 2)).toEqual(['user  now  m2', '  m2'])
  child.kill('SIGTERM')
  expect((await once(child, 'close'))[0]).toBe(130)
})
