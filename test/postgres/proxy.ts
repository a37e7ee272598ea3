/** A way to the database that can be cut, delayed and reset, as networks and poolers do. */
import { createServer, type Server, type Socket, connect as tcp } from 'node:net'

export interface BreakableWay {
  readonly url: string
  /** What the server says from now on is lost, and the connection breaks instead. */
  cutAnswers: boolean
  /** New connections are refused. */
  refuses: boolean
  delayMs: number
  /** Breaks every connection that is there. */
  reset(): void
  close(): Promise<void>
}

export async function startProxy(target: string): Promise<BreakableWay> {
  const to = new URL(target)
  const sockets = new Set<Socket>()
  const state = { cutAnswers: false, refuses: false, delayMs: 0 }
  const server: Server = createServer((client) => {
    if (state.refuses) return void client.resetAndDestroy()
    const upstream = tcp(Number(to.port), to.hostname)
    const end = (): void => {
      client.destroy()
      upstream.destroy()
      sockets.delete(client)
    }
    sockets.add(client)
    for (const socket of [client, upstream]) socket.setNoDelay(true).on('error', end).on('close', end)
    client.on('data', (bytes) => later(() => upstream.write(bytes)))
    upstream.on('data', (bytes) => {
      if (state.cutAnswers) return end()
      later(() => client.write(bytes))
    })
  })
  const later = (work: () => void): void => {
    if (state.delayMs === 0) work()
    else setTimeout(work, state.delayMs)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const url = new URL(target)
  url.host = `127.0.0.1:${port}`
  const reset = (): void => {
    for (const socket of [...sockets]) socket.resetAndDestroy()
  }
  return Object.assign(state, {
    url: url.toString(),
    reset,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        reset()
      }),
  })
}
