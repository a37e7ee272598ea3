import { randomUUID } from 'node:crypto'
import { connect as connectSocket } from 'node:net'
import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { connect, type RemoteSession, type RemoteStore } from '../../src/client/index.ts'
import { Cli } from '../cli/holdfast.ts'
import { ServerProcess, storeDirectory } from '../server/process.ts'

/** Ids of all messages of a session, in order. */
async function idsOf(session: RemoteSession): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | undefined; ; ) {
    const page = await session.messages({ limit: 1000, ...(after === undefined ? { from: 'start' } : { after }) })
    ids.push(...page.messages.map(({ id }) => id))
    after = page.messages.at(-1)?.id
    if (!page.more || after === undefined) return ids
  }
}

/** Kills a server at moments that nobody chose, and starts it again at the same address. */
async function killAndRestart(server: ServerProcess, times: number, between: () => Promise<unknown>): Promise<ServerProcess> {
  let current = server
  for (let i = 0; i < times; i++) {
    await between()
    await current.kill()
    current = await ServerProcess.start(server.directory, [], { port: server.port })
  }
  return current
}

test('a server is killed under load, again and again, while clients retry: every acknowledged message is there, once, in the order of its writer', async () => {
  const first = await ServerProcess.start(storeDirectory())
  const store = connect(first.url, { key: first.key, retries: 60 })
  const WRITERS = 16
  const acknowledged: string[][] = Array.from({ length: WRITERS }, () => [])
  let going = true
  const writers = acknowledged.map(async (mine, i) => {
    const session = store.session(`s${i % 4}`)
    for (let n = 0; going; n++) {
      // Every other one by a key alone: then the id is the server's.
      const id = n % 2 === 0 ? { ids: [`w${i} n${n}`] } : {}
      mine.push((await session.append({ role: 'user', content: `w${i} n${n}` }, id)).id)
    }
  })
  const count = (): number => acknowledged.reduce((sum, { length }) => sum + length, 0)
  const more = async (): Promise<void> => {
    const before = count()
    await expect.poll(count, { timeout: 30_000 }).toBeGreaterThan(before + 200)
  }
  await killAndRestart(first, 4, more)
  await more()
  going = false
  await Promise.all(writers)
  for (let s = 0; s < 4; s++) {
    const ids = await idsOf(store.session(`s${s}`))
    expect(new Set(ids).size).toBe(ids.length)
    const places = new Map(ids.map((id, place) => [id, place]))
    for (const [i, mine] of acknowledged.entries()) {
      if (i % 4 !== s) continue
      const at = mine.map((id) => places.get(id) ?? -1)
      expect(at).not.toContain(-1)
      expect(at).toEqual([...at].sort((a, b) => a - b))
    }
    const all = acknowledged.filter((_, i) => i % 4 === s).flat()
    expect(ids).toHaveLength(all.length)
  }
  expect((await store.doctor()).findings.filter(({ severity }) => severity === 'damage')).toEqual([])
})

test('a stream of events goes on across a server that is killed: nothing is missed, nothing comes twice', async () => {
  const first = await ServerProcess.start(storeDirectory())
  const store = connect(first.url, { key: first.key, retries: 60 })
  const session = store.session('s')
  await session.append({ role: 'user', content: 'first' })
  const over = new AbortController()
  const seen: string[] = []
  const follower = store.session('s')
  const following = (async () => {
    for await (const { messages } of follower.follow({ signal: over.signal })) seen.push(...messages.map(({ id }) => id))
  })()
  await follower.info()
  const written: string[] = []
  const write = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) written.push((await session.append({ role: 'user', content: randomUUID() })).id)
  }
  await killAndRestart(first, 3, write)
  await write()
  await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(written.length)
  expect(seen).toEqual(written)
  over.abort()
  await following
})

test('commits under way when a server is killed are finished by the next one', async () => {
  const first = await ServerProcess.start(storeDirectory())
  const store: RemoteStore = connect(first.url, { key: first.key, retries: 60 })
  const tasks = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      const session = store.session(`s${i}`)
      await session.append({ role: 'user', content: `I prefer trains to planes, number ${i}.` })
      const committed = await session.commit()
      if (committed.status !== 'accepted') throw new Error('skipped')
      return committed.task
    }),
  )
  await killAndRestart(first, 1, async () => undefined)
  const done = await Promise.all(tasks.map((task) => task.completed()))
  expect(done.map(({ status }) => status)).toEqual(done.map(() => 'completed'))
  expect((await store.memories()).flatMap(({ sources }) => sources)).toHaveLength(30)
})

test('requests that dribble hold nothing up, and are cut off', async () => {
  const server = await ServerProcess.start(storeDirectory())
  const sockets = Array.from({ length: 50 }, () => connectSocket(server.port, '127.0.0.1'))
  const closed = Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.on('close', () => resolve()))))
  for (const socket of sockets) {
    socket.on('error', () => undefined)
    socket.resume()
    socket.write('POST /api/v1/sessions/slow/messages HTTP/1.1\r\nHost: localhost\r\nX-Dribble: ')
  }
  const dribbling = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x')
  }, 500)
  const session = connect(server.url, { key: server.key }).session('quick')
  expect((await session.append({ role: 'user', content: 'x' })).messageCount).toBe(1)
  await closed
  clearInterval(dribbling)
  expect((await session.info()).messageCount).toBe(1)
})

test('the commands of the command line work at a server', async () => {
  const server = await ServerProcess.start(storeDirectory())
  const cli = new Cli()
  cli.extra = { HOLDFAST_STORE: server.url, HOLDFAST_KEY: server.key }
  expect(await cli.one('new', 'a', '--title', 'Refund', '--tag', 'x')).toMatchObject({ session_id: 'a' })
  await cli.one('append', 'a', 'Please plan a trip to Oslo.', '--message-id', 'm1')
  expect(await cli.one('append', 'a', 'Please plan a trip to Oslo.', '--message-id', 'm1')).toMatchObject({
    message_id: 'm1',
    duplicate: true,
  })
  const stream = await cli.run(['append', 'a', '--jsonl', '-', '--json'], '{"id":"m2","role":"assistant","content":"Booked."}\n"thanks"\n')
  expect(stream).toMatchObject({ status: 0, stderr: '' })
  expect((await cli.json('show', 'a')).map(({ message }) => (message as { content: string }).content)).toEqual([
    'Please plan a trip to Oslo.',
    'Booked.',
    'thanks',
  ])
  expect(await cli.json('list')).toMatchObject([{ session_id: 'a', title: 'Refund', message_count: 3, tags: ['x'] }])
  expect(await cli.json('search', 'Oslo')).toMatchObject([{ session_id: 'a', message_id: 'm1' }])
  await cli.one('title', 'a', 'Trip')
  await cli.one('snapshot', 'a', 's')
  await cli.one('revert', 'a', 'm1')
  await cli.one('undo', 'a')
  expect(await cli.one('fork', 'a', '--as', 'b')).toMatchObject({ session_id: 'b', parent: 'a' })
  expect(await cli.json('tree', 'a')).toMatchObject([{ session_id: 'a' }, { session_id: 'b', kind: 'fork' }])
  expect(await cli.one('commit', 'a', '--keep', '1', '--wait')).toMatchObject({ status: 'completed', archive_id: 'archive_001' })
  expect(await cli.json('archives', 'a')).toMatchObject([{ archive_id: 'archive_001', status: 'completed' }])
  expect(await cli.json('tasks')).toMatchObject([{ status: 'completed', resource_id: 'a' }])
  expect(await cli.one('context', 'a', '--budget', '1000')).toMatchObject({ stats: { totalArchives: 1 } })
  const shared = await cli.one('share', 'a', '--expires', '1d')
  expect(await cli.json('shares', 'a')).toMatchObject([{ share_id: shared.share_id }])
  await cli.one('unshare', 'a', String(shared.share_id))
  expect(await cli.one('doctor')).toMatchObject({ totals: { damage: 0 } })
  const made = await cli.one('keys', 'create', '--scope', 'read', '--name', 'reader')
  expect(await cli.json('keys', 'list')).toMatchObject([{ key_id: made.key_id }, { name: `local to ${hostname()}` }])
  await cli.one('keys', 'revoke', String(made.key_id))
  await cli.one('delete', 'b')
  expect(await cli.json('purge', '--older-than', '0s')).toMatchObject([{ session_id: 'b', action: 'purged' }])
  expect(await cli.failure(['show', 'none'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  cli.extra = { HOLDFAST_STORE: server.url, HOLDFAST_KEY: 'wrong' }
  expect(await cli.failure(['list'])).toMatchObject({ status: 1, code: 'UNAUTHENTICATED' })
})
