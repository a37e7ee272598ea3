import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from './index.ts'

const REFUSAL = { code: 'DAMAGED', message: 'Bytes have vanished.', details: { retryable: false, outcome: 'none' } }

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  ['an attempt before it was cut off', 1, 'unknown'],
  ['it answers the only attempt', 0, 'none'],
] as const)('a refusal says whether something may have been written: %s', async (_, cut, outcome) => {
  let requests = 0
  const url = await serve((request, response) => {
    if (requests++ < cut) request.socket.destroy()
    else response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ status: 'error', error: REFUSAL }))
  })
  const store = connect(url, { key: 'k' })
  onTestFinished(() => store.close())
  const appended = store.create({ id: 'a' })
  await expect(appended).rejects.toMatchObject({ code: 'DAMAGED', outcome })
  expect(requests).toBe(cut + 1)
})
