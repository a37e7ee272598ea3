/** Connections that post one body after the other, each when the one before is answered: as light as can be, since it shares the machine. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  readonly port: number
  readonly connections: number
  /** What the connection of this number sends next. */
  readonly request: (connection: number) => string
}

export interface Load {
  readonly perSecond: number
  /** Of each request, in milliseconds. */
  readonly times: readonly number[]
}

/** Until when connections are kept busy: for so many milliseconds, or until there were so many requests. */
export type Until = { readonly milliseconds: number } | { readonly requests: number }

export async function load(until: Until, { port, connections, request }: LoadOptions): Promise<Load> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => opened(port)))
  const times: number[] = []
  const startedMs = performance.now()
  let left = 'requests' in until ? until.requests : Number.POSITIVE_INFINITY
  const untilMs = 'milliseconds' in until ? startedMs + until.milliseconds : Number.POSITIVE_INFINITY
  const next = (i: number) => (): string | undefined => (left-- > 0 && performance.now() < untilMs ? request(i) : undefined)
  await Promise.all(sockets.map((socket, i) => repeat(socket, next(i), times)))
  const seconds = (performance.now() - startedMs) / 1000
  for (const socket of sockets) socket.destroy()
  return { perSecond: times.length / seconds, times }
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  await once(socket, 'connect')
  return socket
}

function repeat(socket: Socket, next: () => string | undefined, times: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentMs = 0
    let waiting = ''
    const send = (): void => {
      const request = next()
      sentMs = performance.now()
      if (request === undefined) resolve()
      else socket.write(request)
    }
    socket.on('data', (data: Buffer) => {
      waiting += data.toString('latin1')
      const body = waiting.indexOf('\r\n\r\n') + 4
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(waiting)?.[1] ?? Number.NaN)
      if (body === 3 || waiting.length < body + length) return
      if (!waiting.startsWith('HTTP/1.1 200')) return reject(new Error(waiting.slice(0, 500)))
      waiting = ''
      times.push(performance.now() - sentMs)
      send()
    })
    socket.on('error', reject)
    send()
  })
}

export function postRequest(path: string, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  })
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}
