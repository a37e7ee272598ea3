/** What decompresses to more than the limit. It takes a while, and comes to no store, so one engine will do. */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { Application } from './application.ts'

const send = (app: Application, body: Uint8Array): Promise<Response> =>
  Promise.resolve(
    app.app.request('/api/v1/import?name=bomb.jsonl.gz', {
      method: 'POST',
      headers: { host: 'localhost', 'x-api-key': app.key, 'content-type': 'application/octet-stream' },
      body,
    }),
  )

test('bytes that decompress to more than the limit are refused', async () => {
  const app = await Application.open()
  const response = await send(app, gzipSync(Buffer.alloc(300 * 1024 * 1024, '{"role":"user","content":"boom"}\n')))
  expect(response.status).toBe(413)
  expect((await app.get('/sessions')).result).toEqual([])
})

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
