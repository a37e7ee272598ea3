/** What an upload may cost. That takes a while, and hardly comes to the store, so one engine will do. */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { tarOf } from '../../src/formats/tar.ts'
import { Application } from './application.ts'

const send = (app: Application, body: Uint8Array, name = 'bomb.jsonl.gz'): Promise<Response> =>
  Promise.resolve(
    app.app.request(`/api/v1/import?name=${name}`, {
      method: 'POST',
      headers: { host: 'localhost', 'x-api-key': app.key, 'content-type': 'application/octet-stream' },
      body,
    }),
  )

const chat = (text: string): Buffer => Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: text }] }))

test('bytes that decompress to more than the limit are refused, and nothing beside them is imported', async () => {
  const app = await Application.open()
  const bomb = gzipSync(Buffer.alloc(300 * 1024 * 1024, '{"role":"user","content":"boom"}\n'))
  expect((await send(app, bomb)).status).toBe(413)
  const files = [
    { path: 'a.jsonl', bytes: chat('a') },
    { path: 'b.jsonl.gz', bytes: bomb },
  ]
  expect((await send(app, tarOf(files), 'chats.tar')).status).toBe(413)
  expect((await app.get('/sessions')).result).toEqual([])
  expect((await app.store.in('_store').list()).sessions.map(({ id }) => id)).not.toContain(`imports:${app.store.space}`)
  expect((await send(app, tarOf(files.slice(0, 1)), 'chats.tar')).status).toBe(200)
  expect((await app.get('/sessions')).result).toHaveLength(1)
}, 120_000)

test('while much is decompressed and read, others are answered', async () => {
  const app = await Application.open()
  const line = `${JSON.stringify({ role: 'user', content: 'the same again and again '.repeat(40) })}\n`
  const bomb = gzipSync(Buffer.from(line.repeat(300_000)))
  const refused = send(app, bomb)
  // In time of the processor: how busy the machine is otherwise says nothing about this.
  const busyMs = (): number => Object.values(process.cpuUsage()).reduce((sum, us) => sum + us / 1000, 0)
  let [longest, last, done] = [0, busyMs(), false]
  const answered = refused.then((response) => {
    done = true
    return response
  })
  while (!done) {
    await app.get('/health')
    longest = Math.max(longest, busyMs() - last)
    last = busyMs()
    // Not all the time: most of it would go into answers.
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect((await answered).status).toBe(413)
  expect(longest).toBeLessThan(500)
})

test('the bytes in the quarantine count against the quota of the space', async () => {
  const app = await Application.open({ quotas: () => undefined })
  await app.send('PUT', '/quota', { body: { bytes: 200_000 } })
  const garbage = (n: number): Buffer => Buffer.from(`garbage ${n} ${'x'.repeat(50_000)}`)
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await send(app, garbage(n), `chat-${n}.jsonl`)).status)
  expect(statuses[0]).toBe(200)
  expect(statuses.at(-1)).toBe(429)
})

test('the ledger of a space is not full after 600 imports', async () => {
  const app = await Application.open()
  const imported = async (n: number): Promise<number> => {
    const response = await send(app, chat(`chat ${n}`), `chat-${n}.jsonl`)
    expect(response.status).toBe(200)
    return ((await response.json()) as { result: { totals: { messages: number } } }).result.totals.messages
  }
  for (let n = 0; n < 600; n++) expect(await imported(n)).toBe(1)
  expect(await imported(7)).toBe(0)
}, 120_000)
