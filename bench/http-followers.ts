/** What a follower costs that nothing happens to. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { residentBytes, startHoldfast } from './child-server.ts'
import { type Benchmark, figure } from './harness.ts'
import { load, postRequest } from './http-load.ts'

const SESSIONS = 100
/** Opened side by side. */
const AT_ONCE = 50

export const httpFollowers: Benchmark = {
  name: 'http-followers',
  about: 'How much the memory of a server grows by each of 10,000 idle streams of events, over 100 sessions.',
  async run({ directory, quick }) {
    const count = quick ? 1000 : 10_000
    const server = await startHoldfast(join(directory, 'store'))
    const sockets: Socket[] = []
    try {
      const body = JSON.stringify({ role: 'user', content: 'Hold fast.' })
      const post = (i: number): string => postRequest(`/api/v1/sessions/followed-${i}/messages`, body, { 'x-api-key': server.key })
      for (let i = 0; i < SESSIONS; i++) await load({ requests: 1 }, { port: server.port, connections: 1, request: () => post(i) })
      // What the first ones take is the program itself.
      for (let i = 0; i < 200; i += AT_ONCE) sockets.push(...(await openSome(server.port, server.key, i)))
      const before = residentBytes(server.pid)
      for (let i = 0; i < count; i += AT_ONCE) sockets.push(...(await openSome(server.port, server.key, i)))
      const grown = (residentBytes(server.pid) - before) / count / 1024
      return [figure(`each of ${count.toLocaleString('en')} idle followers`, 'KiB', [grown], { is: 'at most', value: 39 })]
    } finally {
      for (const socket of sockets) socket.destroy()
      await server.stop()
    }
  },
}

function openSome(port: number, key: string, from: number): Promise<Socket[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, (_, i) => follow(port, key, (from + i) % SESSIONS)))
}

async function follow(port: number, key: string, session: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET /api/v1/sessions/followed-${session}/events HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n\r\n`)
  const [head] = (await once(socket, 'data')) as [Buffer]
  if (!head.toString().startsWith('HTTP/1.1 200')) throw new Error(head.toString())
  socket.on('data', () => undefined)
  return socket
}
