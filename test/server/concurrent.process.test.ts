import { randomUUID } from 'node:crypto'
import { connect as connectSocket, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { Cli } from '../cli/holdfast.ts'
import { ServerProcess, storeDirectory } from './process.ts'

test('the audit of a server is printed from elsewhere', async () => {
  const server = await ServerProcess.start(storeDirectory())
  const store = connect(server.url, { key: server.key })
  await store.session('s').append({ role: 'user', content: 'Quagmire' })
  const cli = new Cli()
  cli.extra = { HOLDFAST_STORE: server.url, HOLDFAST_KEY: server.key }
  const { stdout } = await cli.run(['audit', '--json'])
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { action: string; session_id: string | null })
  expect(entries.filter(({ action }) => action === 'POST /sessions/{id}/messages')).toMatchObject([{ session_id: 's', status: 200 }])
  expect(stdout).not.toContain('Quagmire')
  await store.close()
})

test('two servers on one directory behave as one', async () => {
  const directory = storeDirectory()
  const first = await ServerProcess.start(directory)
  const second = await ServerProcess.start(directory)
  const [a, b] = [connect(first.url, { key: first.key }), connect(second.url, { key: second.key })]
  const [here, there] = [a.session('s'), b.session('s')]
  const over = new AbortController()
  await here.append({ role: 'user', content: '0' })
  const changes = there.follow({ signal: over.signal })
  const coming = changes.next()
  await there.info()
  await here.append({ role: 'user', content: '1' }, { ids: ['m1'] })
  expect((await coming).value).toMatchObject({ messages: [{ id: 'm1' }] })
  // A retry that meets the other server is the same call.
  expect(await there.append({ role: 'user', content: '1' }, { ids: ['m1'] })).toMatchObject({ duplicate: true })
  const key = randomUUID()
  const [one, other] = await Promise.all([
    here.append({ role: 'user', content: '2' }, { key }),
    there.append({ role: 'user', content: '2' }, { key }),
  ])
  expect(one.id).toBe(other.id)
  const writing = [here, there].map((session, i) =>
    Promise.all(Array.from({ length: 25 }, (_, n) => session.append({ role: 'user', content: `${i} ${n}` }))),
  )
  await Promise.all(writing)
  expect((await here.info()).messageCount).toBe(53)
  expect(await here.messages({ limit: 100 })).toEqual(await there.messages({ limit: 100 }))
  expect((await b.list()).sessions).toMatchObject([{ id: 's', messageCount: 53 }])
  const made = await a.createKey({ scope: 'read' })
  const reader = connect(second.url, { key: made.key })
  expect((await reader.list()).sessions).toHaveLength(1)
  await a.revokeKey(made.id)
  await expect.poll(() => reader.list().catch(({ code }) => code), { timeout: 30_000 }).toBe('UNAUTHENTICATED')
  over.abort()
})

test('a server that is told to stop finishes what is under way, ends its streams, and leaves with what it acknowledged kept', async () => {
  const directory = storeDirectory()
  const server = await ServerProcess.start(directory)
  const store = connect(server.url, { key: server.key, retries: 0 })
  const session = store.session('s')
  const acknowledged: string[] = []
  let going = true
  const writers = Array.from({ length: 8 }, async (_, i) => {
    for (let n = 0; going; n++) {
      try {
        acknowledged.push((await session.append({ role: 'user', content: `${i} ${n}` })).id)
      } catch {
        return
      }
    }
  })
  const following = fetch(`${server.url}/api/v1/events`, { headers: { 'x-api-key': server.key } }).then((response) => response.text())
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(50)
  const startedMs = performance.now()
  const { code } = await server.stop()
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  expect(code).toBe(130)
  going = false
  await Promise.all(writers)
  expect(await following).toContain('event: ready')
  const again = await ServerProcess.start(directory)
  const kept = new Set<string>()
  const read = connect(again.url, { key: again.key }).session('s')
  for (let after: string | undefined, more = true; more; ) {
    const page = await read.messages({ limit: 1000, ...(after === undefined ? { from: 'start' } : { after }) })
    for (const { id } of page.messages) kept.add(id)
    more = page.more
    after = page.messages.at(-1)?.id
  }
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([])
  expect(again.log).not.toContain('"level":50')
})

test('a body that is cut off, at once or later, leaves nothing under way and nothing behind', async () => {
  const server = await ServerProcess.start(storeDirectory())
  const head = `POST /api/v1/sessions/s/messages HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${server.key}\r\nContent-Length: 100\r\n\r\n`
  const underWay = async (): Promise<number> => {
    const { checks } = (await (await fetch(`${server.url}/ready`)).json()) as { checks: { requests: number } }
    return checks.requests
  }
  const opened = (): Socket => connectSocket(server.port, '127.0.0.1').on('error', () => undefined)
  const waiting = Array.from({ length: 10 }, () => opened())
  for (const socket of waiting) socket.write(`${head}{"role":`)
  await expect.poll(underWay, { timeout: 30_000 }).toBe(10)
  for (const socket of waiting) socket.destroy()
  for (let i = 0; i < 10; i++) {
    const socket = opened()
    socket.write(`${head}{"role":`, () => socket.destroy())
  }
  await expect.poll(underWay, { timeout: 30_000 }).toBe(0)
  expect((await connect(server.url, { key: server.key }).list()).sessions).toEqual([])
})

test('keys are made and revoked beside a server that runs', async () => {
  const directory = storeDirectory()
  const server = await ServerProcess.start(directory)
  const cli = new Cli()
  const made = await cli.one('keys', 'create', '--store', directory, '--scope', 'read', '--space', 'team')
  expect(made).toMatchObject({ key: expect.stringMatching(/^hf_/), space: 'team', scope: 'read' })
  const store = connect(server.url, { key: String(made.key) })
  expect((await store.list()).sessions).toEqual([])
  await cli.one('keys', 'revoke', String(made.key_id), '--store', directory)
  await expect.poll(() => store.list().catch(({ code }) => code), { timeout: 30_000 }).toBe('UNAUTHENTICATED')
})
