/** What one key, or one client without a key, can take from the others. */
import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SERVER_LIMITS } from '../../src/server/limits.ts'
import { Server } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open-store.ts'
import { Application } from './application.ts'

test('readers of a share spend nothing from what failed attempts may spend', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: 'x' })
  const { token } = (await app.post('/sessions/a/shares', {})).result
  for (let i = 0; i < SERVER_LIMITS.attemptBurst + 20; i++) expect((await app.get(`/shared/${token}`, { key: null })).status).toBe(200)
  const statuses: number[] = []
  for (let i = 0; i < SERVER_LIMITS.attemptBurst + 20; i++)
    statuses.push((await app.get(`/shared/${'0'.repeat(63)}${i}`, { key: null })).status)
  expect(statuses.slice(0, SERVER_LIMITS.attemptBurst).every((status) => status === 404)).toBe(true)
  expect(statuses.at(-1)).toBe(429)
  expect((await app.get(`/shared/${token}`, { key: null })).status).toBe(200)
})

test('one key cannot take all streams of events', async () => {
  const app = await Application.open({ connections: 20 })
  await app.post('/sessions/a/messages', { role: 'user', content: 'x' })
  const other = await app.newKey({ scope: 'read' })
  const streams: Response[] = []
  onTestFinished(async () => {
    for (const { body } of streams) await body?.cancel()
  })
  const open = async (key?: string): Promise<number> => {
    const response = await app.raw('GET', '/api/v1/sessions/a/events', key === undefined ? {} : { key })
    if (response.ok) streams.push(response)
    return response.status
  }
  const statuses: number[] = []
  for (let i = 0; i < 12; i++) statuses.push(await open())
  const most = statuses.filter((status) => status === 200).length
  expect(most).toBe(Math.floor(app.parts.connections.streams * SERVER_LIMITS.shareOfFollowers))
  expect(statuses.at(-1)).toBe(429)
  expect(await open(other)).toBe(200)
  // A stream that was never opened counts for nothing, and one that was closed no longer does.
  for (let i = 0; i < 20; i++) expect((await app.raw('GET', '/api/v1/sessions/absent/events', { key: other })).status).toBe(404)
  await streams.shift()?.body?.cancel()
  expect(await open()).toBe(200)
})

async function serve(): Promise<{ server: Server; key: string }> {
  const store = await openStore('memory:')
  const server = await Server.start(store, { port: 0, worker: false })
  onTestFinished(async () => {
    await server.stop()
    await store.close()
  })
  return { server, key: (await server.localKey(undefined)).key }
}

test('bodies that arrive count for their key until the answer is read, and a body that is refused is not kept', async () => {
  const { server, key } = await serve()
  const { port } = new URL(server.url)
  const size = 60 * 1024 * 1024
  const send = (bytes: number) => {
    const sent = request({
      port,
      method: 'POST',
      path: '/api/v1/import?dry_run=true',
      headers: { 'x-api-key': key, 'content-type': 'application/octet-stream', 'content-length': size },
    })
    sent.on('error', () => undefined)
    sent.write(Buffer.alloc(bytes, 0x20))
    onTestFinished(() => void sent.destroy())
    return sent
  }
  const first = [send(size - 1), send(size - 1), send(size - 1)]
  const held = async (): Promise<number> => {
    const text = await (await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': key } })).text()
    return Number(/^holdfast_held_bytes (\S+)/m.exec(text)?.[1])
  }
  await vi.waitFor(async () => expect(await held()).toBe(3 * (size - 1)), { timeout: 20_000 })
  const status = new Promise((resolve) => send(size).on('response', (response) => resolve(response.statusCode)))
  expect(await status).toBe(429)
  for (const one of first) one.destroy()
  await vi.waitFor(async () => expect(await held()).toBe(0), { timeout: 20_000 })
})

test('answers that are not read count for their key', async () => {
  const { server, key } = await serve()
  const { port } = new URL(server.url)
  // More than the system takes off the hands of the server for one connection.
  const body = JSON.stringify({ role: 'user', content: 'x'.repeat(7_000_000) })
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  expect((await fetch(`${server.url}/api/v1/sessions/a/messages`, { method: 'POST', headers, body })).status).toBe(200)
  const sockets = Array.from({ length: 40 }, () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.pause()
    socket.write(`GET /api/v1/sessions/a/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n\r\n`)
    return socket
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  const refused = async (): Promise<boolean> => {
    const response = await fetch(`${server.url}/api/v1/sessions/a/messages`, { headers })
    await response.arrayBuffer()
    return response.status === 429
  }
  await vi.waitFor(async () => expect(await refused()).toBe(true), { timeout: 30_000, interval: 200 })
  for (const socket of sockets) socket.destroy()
  await vi.waitFor(async () => expect(await refused()).toBe(false), { timeout: 30_000, interval: 200 })
})
