/**
 * Connections are bounded by the descriptors of the process: a server that accepted more could open no file, and the system would refuse any call. Node
 * cannot leave a connection in the queue of the system, so a full server makes room:
 *
 *   - Each answer closes its connection. Clients that wait for one get their turn.
 *   - The next connection takes the place of the one that has had no request for the longest time.
 *   - If all have a request, or came just now, the next one is answered that it shall come again. Beside several such ones, it is closed.
 */
import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../engine/clock.ts'
import { HoldfastError } from '../errors.ts'
import { failureOf } from './envelope.ts'

/** The part of the connections that streams of events may take. They stay, and requests need room too. */
const PART_OF_STREAMS = 0.75
/** Connections beyond the limit that are told to come again. */
const SURPLUS = 4
/** A request follows its connection, or the answer before it, within this time; or it may take long. */
const FRESH_MS = 100

export class Connections {
  readonly #most: number
  /** Connections without a request, the longest first, and since when. */
  readonly #idle = new Map<Socket, number>()
  readonly #surplus = new Set<Socket>()
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #count = 0

  /** `most`: descriptors for connections, with those of the few that are refused. */
  constructor(most: number, clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
    this.#most = Math.max(1, most - SURPLUS)
  }

  /** Accepted and open. */
  get count(): number {
    return this.#count
  }

  /** Streams of events that may be open at once. */
  get streams(): number {
    return Math.max(1, Math.floor(this.#most * PART_OF_STREAMS))
  }

  /** Bounds the connections of a server, whose listeners get a request only if there is room for it. */
  watch(server: Server): void {
    const listeners = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    for (const listener of listeners) server.on('request', this.#around(listener))
    server.on('connection', (socket: Socket) => this.#take(socket))
  }

  #around(listener: RequestListener): RequestListener {
    return (request, response) => {
      const { socket } = request
      if (this.#surplus.has(socket)) return refuse(response)
      this.#idle.delete(socket)
      response.once('close', () => {
        if (!socket.destroyed) this.#idle.set(socket, this.#clock.monotonicMs())
      })
      if (this.#count >= this.#most) response.shouldKeepAlive = false
      return listener(request, response)
    }
  }

  #take(socket: Socket): void {
    if (this.#count >= this.#most && !this.#makeRoom()) {
      if (this.#surplus.size >= SURPLUS) {
        socket.destroy()
        return
      }
      this.#surplus.add(socket)
    } else this.#idle.set(socket, this.#clock.monotonicMs())
    this.#count++
    socket.once('close', () => {
      this.#count--
      this.#idle.delete(socket)
      this.#surplus.delete(socket)
    })
  }

  /** False if every connection has a request, or may have one in a moment. */
  #makeRoom(): boolean {
    for (const [longest, sinceMs] of this.#idle) {
      if (this.#clock.monotonicMs() - sinceMs < FRESH_MS) return false
      this.#idle.delete(longest)
      longest.destroy()
      return true
    }
    return false
  }
}

function refuse(response: ServerResponse): void {
  const busy = new HoldfastError('RESOURCE_EXHAUSTED', 'The server has no connection free. Try again in a moment.')
  const { status, body } = failureOf(busy, { ifMatch: false })
  response.shouldKeepAlive = false
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' }).end(body)
}
