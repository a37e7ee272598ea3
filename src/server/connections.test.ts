import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { Connections } from './connections.ts'

/** With those that are refused: ten are served. */
const MOST = 14

let now: number
let connections: Connections
let server: EventEmitter
/** Requests that were handed on and have no answer yet. */
let running: FakeResponse[]

class FakeSocket extends EventEmitter {
  destroyed = false

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
}

class FakeResponse extends EventEmitter {
  shouldKeepAlive = true
  status: number | undefined
  body = ''

  writeHead(status: number): this {
    this.status = status
    return this
  }

  end(body = ''): this {
    this.body = body
    this.emit('close')
    return this
  }
}

beforeEach(() => {
  now = 0
  running = []
  server = new EventEmitter()
  connections = new Connections(MOST, { monotonicMs: () => now })
  server.on('request', (_, response: FakeResponse) => running.push(response))
  connections.watch(server as unknown as Server)
})

function connect(): FakeSocket {
  const socket = new FakeSocket()
  server.emit('connection', socket)
  return socket
}

function request(socket: FakeSocket): FakeResponse {
  const response = new FakeResponse()
  server.emit('request', { socket }, response)
  return response
}

const connectMany = (count: number): FakeSocket[] => Array.from({ length: count }, connect)

describe('connections of a server', () => {
  test('stay open between requests while there is room', () => {
    const [socket] = connectMany(9)
    const response = request(socket as FakeSocket)
    expect(response.shouldKeepAlive).toBe(true)
    response.end()
    expect(connections.count).toBe(9)
  })

  test('are closed after their answer when there are as many as may be', () => {
    const sockets = connectMany(10)
    expect(request(sockets[3] as FakeSocket).shouldKeepAlive).toBe(false)
    sockets[9]?.destroy()
    expect(request(sockets[4] as FakeSocket).shouldKeepAlive).toBe(true)
  })

  test('that were opened and left idle make room for those that come, the longest idle first', () => {
    const idle = connectMany(10)
    request(idle[0] as FakeSocket)
    now += 200
    const answered = request(idle[1] as FakeSocket)
    answered.end()
    for (let i = 0; i < 8; i++) request(connect())
    expect(idle.map(({ destroyed }) => destroyed)).toEqual([false, false, ...Array(8).fill(true)])
    now += 200
    request(connect())
    expect(idle[1]?.destroyed).toBe(true)
    expect(idle[0]?.destroyed).toBe(false)
    expect(connections.count).toBe(10)
  })

  test('that came just now are not closed for others: their request is on its way', () => {
    const sockets = connectMany(10)
    connect()
    expect(sockets.every(({ destroyed }) => !destroyed)).toBe(true)
  })

  test('for which there is no room are answered that they shall come again, and those beside several such ones are closed', () => {
    const sockets = connectMany(10)
    for (const socket of sockets) request(socket)
    now += 1000
    const surplus = connectMany(4)
    expect(connect().destroyed).toBe(true)
    expect(connections.count).toBe(MOST)
    const response = request(surplus[0] as FakeSocket)
    expect(response).toMatchObject({ status: 429, shouldKeepAlive: false })
    expect(JSON.parse(response.body)).toMatchObject({
      error: { code: 'RESOURCE_EXHAUSTED', details: { outcome: 'none', retryable: true } },
    })
    expect(running).toHaveLength(10)
    for (const socket of [...surplus, ...sockets]) socket.destroy()
    expect(connections.count).toBe(0)
    request(connect())
    expect(running).toHaveLength(11)
  })

  test('leave a quarter to requests that are no streams', () => {
    expect(connections.streams).toBe(7)
    expect(new Connections(Number.POSITIVE_INFINITY, { monotonicMs: () => now }).streams).toBe(Number.POSITIVE_INFINITY)
  })
})
