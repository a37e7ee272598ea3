/**
 * A stand-in for a pooler in transaction mode: clients have no server process of their own. Each transaction gets whichever is free, so nothing that is set,
 * prepared or listened to lasts longer, and what a server process says to nobody in particular, such as a notification, is dropped. Parameters of a session
 * that such a pooler does not know are refused when a client connects.
 */
import { createServer, type Socket, connect as tcp } from 'node:net'

const KNOWN = new Set(['user', 'database', 'client_encoding', 'application_name'])
const READY = 'Z'.charCodeAt(0)
const NOTIFICATION = 'A'.charCodeAt(0)
const TERMINATE = 'X'.charCodeAt(0)

/** Cuts a stream into messages: a letter, four bytes of length, and what follows. */
class Messages {
  #rest = Buffer.alloc(0);

  *add(bytes: Buffer): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, bytes])
    while (this.#rest.length >= 5 && this.#rest.length >= 1 + this.#rest.readInt32BE(1)) {
      const end = 1 + this.#rest.readInt32BE(1)
      yield this.#rest.subarray(0, end)
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** A connection to the server, and the client that has it for the moment. */
class ServerProcessOfPool {
  readonly #socket: Socket
  readonly #whenFree: () => void
  client: Socket | undefined
  ready: Promise<void>

  constructor(target: URL, whenFree: () => void) {
    this.#whenFree = whenFree
    this.#socket = tcp(Number(target.port), target.hostname).setNoDelay(true)
    const messages = new Messages()
    let begin: () => void
    this.ready = new Promise((resolve) => {
      begin = resolve
    })
    this.#socket.on('error', () => undefined)
    this.#socket.on('data', (bytes) => {
      for (const message of messages.add(bytes)) {
        if (message[0] === NOTIFICATION) continue
        this.client?.write(message)
        if (message[0] !== READY || message[5] !== 'I'.charCodeAt(0)) continue
        begin()
        this.client = undefined
        this.#whenFree()
      }
    })
    const parameters = `user\0${target.username}\0database\0${target.pathname.slice(1)}\0\0`
    const start = Buffer.alloc(8 + parameters.length)
    start.writeInt32BE(start.length)
    start.writeInt32BE(196_608, 4)
    start.write(parameters, 8)
    this.#socket.write(start)
  }

  send(message: Buffer): void {
    this.#socket.write(message)
  }

  end(): void {
    this.#socket.destroy()
  }
}

export interface Pooler {
  readonly url: string
  /** Transactions that were given to another server process than the one before, of the same client. */
  readonly moved: number
  close(): Promise<void>
}

export async function startPooler(address: string, processes = 3): Promise<Pooler> {
  const target = new URL(address)
  const waiting: { readonly client: Socket; readonly messages: Buffer[] }[] = []
  const last = new WeakMap<Socket, ServerProcessOfPool>()
  const state = { moved: 0 }
  // Round and round, so that nobody meets the same one twice by chance.
  let turn = 0
  const hand = (): void => {
    for (let i = 0; i < pool.length && waiting.length > 0; i++) {
      const process = pool[turn++ % pool.length] as ServerProcessOfPool
      if (process.client !== undefined) continue
      const { client, messages } = waiting.shift() as (typeof waiting)[number]
      process.client = client
      if (last.has(client) && last.get(client) !== process) state.moved++
      last.set(client, process)
      for (const message of messages) process.send(message)
    }
  }
  const pool = Array.from({ length: processes }, () => new ServerProcessOfPool(target, hand))
  await Promise.all(pool.map(({ ready }) => ready))
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    sockets.add(client)
    client.setNoDelay(true).on('error', () => undefined)
    client.on('close', () => sockets.delete(client))
    const messages = new Messages()
    client.once('data', (start) => {
      const refused = parametersOf(start).find((name) => !KNOWN.has(name))
      if (refused !== undefined) return void client.destroy(new Error(`unsupported startup parameter: ${refused}`))
      client.write(WELCOME)
      client.on('data', (bytes) => {
        for (const message of messages.add(bytes)) {
          if (message[0] === TERMINATE) continue
          const own = pool.find((process) => process.client === client)
          const asked = waiting.find((one) => one.client === client)
          if (own !== undefined) own.send(message)
          else if (asked !== undefined) asked.messages.push(message)
          else waiting.push({ client, messages: [message] })
        }
        hand()
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(address)
  url.port = String((server.address() as { port: number }).port)
  return Object.assign(state, {
    url: url.toString(),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
        for (const process of pool) process.end()
      }),
  })
}

function parametersOf(start: Buffer): string[] {
  return start
    .subarray(8)
    .toString()
    .split('\0')
    .filter((word, i) => i % 2 === 0 && word !== '')
}

/** Authentication is fine, the encoding is UTF8, go on. */
const WELCOME = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]),
  parameter('client_encoding', 'UTF8'),
  parameter('standard_conforming_strings', 'on'),
  Buffer.from([READY, 0, 0, 0, 5, 'I'.charCodeAt(0)]),
])

function parameter(name: string, value: string): Buffer {
  const text = Buffer.from(`${name}\0${value}\0`)
  const head = Buffer.from([0x53, 0, 0, 0, 0])
  head.writeInt32BE(4 + text.length, 1)
  return Buffer.concat([head, text])
}
