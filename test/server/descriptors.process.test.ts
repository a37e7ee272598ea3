/** A server whose process may have 64 descriptors: it slows down, answers every client, and recovers. */
import { readdirSync, readlinkSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ServerProcess, storeDirectory } from './process.ts'

const LIMIT = 64
/** Connections that a server serves at once within this limit. */
const CLIENTS = 16

interface Answered {
  readonly status: number
  readonly code: string | undefined
}

function start(): Promise<ServerProcess> {
  return ServerProcess.start(storeDirectory(), ['--no-auth'], { descriptors: LIMIT })
}

/** One request by Node's own client, which repeats nothing. */
function ask(server: ServerProcess, agent: Agent, method: string, path: string, body?: object): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const asked = request(`${server.url}${path}`, { method, agent, headers }, (response) => {
      let text = ''
      response.on('data', (data: Buffer) => {
        text += data.toString()
      })
      response.on('error', reject)
      response.on('end', () => {
        const { error } = JSON.parse(text) as { error?: { code: string } }
        resolve({ status: response.statusCode ?? 0, code: error?.code })
      })
    })
    asked.on('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

function append(server: ServerProcess, agent: Agent, session: string): Promise<Answered> {
  return ask(server, agent, 'POST', `/api/v1/sessions/${session}/messages`, { role: 'user', content: `Heliotrope ${session}` })
}

/** Clients with a connection each, which they keep. */
function agents(count: number): Agent[] {
  const made = Array.from({ length: count }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  onTestFinished(() => {
    for (const agent of made) agent.destroy()
  })
  return made
}

/** Of how many answers each kind came, when these clients append to so many sessions, each to the next one. */
async function appendAll(server: ServerProcess, clients: readonly Agent[], sessions: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  let next = 0
  await Promise.all(
    clients.map(async (agent) => {
      for (let i = next++; i < sessions; i = next++) {
        const { status, code } = await append(server, agent, `s-${i}`)
        const kind = code ?? String(status)
        counts[kind] = (counts[kind] ?? 0) + 1
      }
    }),
  )
  return counts
}

/** What the descriptors of a server lead to. */
function descriptorsOf({ pid }: ServerProcess): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((number) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${number}`)]
    } catch {
      return []
    }
  })
}

const socketsOf = (server: ServerProcess): number => descriptorsOf(server).filter((path) => path.startsWith('socket:')).length

async function opened(server: ServerProcess, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(server.port, '127.0.0.1'))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          // The server may close it at once: that is its answer.
          socket.on('error', () => resolve())
          socket.on('connect', () => resolve())
        }),
    ),
  )
  return sockets
}

// skip: only Linux tells the limit of a process and its descriptors in files
describe.skipIf(process.platform !== 'linux')('a server with a hard limit of 64 descriptors', () => {
  test('acknowledges every one of 1,000 appends to 1,000 sessions, lists and searches them, and answers at once when the clients have left', async () => {
    const server = await start()
    const clients = agents(CLIENTS)
    expect(await appendAll(server, clients, 1000)).toEqual({ 200: 1000 })
    expect(descriptorsOf(server).length).toBeLessThanOrEqual(LIMIT)
    const [first] = clients as [Agent]
    expect(await ask(server, first, 'GET', '/api/v1/sessions?limit=10')).toMatchObject({ status: 200 })
    expect(await ask(server, first, 'GET', '/api/v1/search?q=heliotrope&limit=3')).toMatchObject({ status: 200 })
    for (const client of clients) client.destroy()
    const [later] = agents(1) as [Agent]
    expect(await append(server, later, 'later')).toMatchObject({ status: 200 })
    expect(await ask(server, later, 'GET', '/ready')).toMatchObject({ status: 200 })
    expect(await server.stop()).toMatchObject({ code: 130 })
  }, 180_000)

  test('serves those who ask while 200 connections are open and idle', async () => {
    const server = await start()
    const [first, probe, ...clients] = agents(6) as [Agent, Agent, ...Agent[]]
    // SQLite has sockets of its own.
    expect(await ask(server, first, 'GET', '/api/v1/sessions')).toMatchObject({ status: 200 })
    const before = socketsOf(server)
    const idle = await opened(server, 200)
    // Once those have been idle for a moment, the next connection takes the place of one of them.
    await expect.poll(() => append(server, probe, 'probe').catch(() => undefined)).toMatchObject({ status: 200 })
    expect(await appendAll(server, clients, 100)).toEqual({ 200: 100 })
    for (const one of [...idle, first, probe, ...clients]) one.destroy()
    await expect.poll(() => socketsOf(server)).toBeLessThan(before)
  })

  test('has as many descriptors after followers have come and gone as before', async () => {
    const server = await start()
    const [agent] = agents(1) as [Agent]
    for (let i = 0; i < 12; i++) expect(await append(server, agent, `s-${i}`)).toMatchObject({ status: 200 })
    const before = descriptorsOf(server).length
    for (let round = 0; round < 5; round++) {
      const followers = await Promise.all(Array.from({ length: 12 }, (_, i) => follow(server, `s-${i}`)))
      expect(await append(server, agent, 's-0')).toMatchObject({ status: 200 })
      for (const leave of followers) leave()
      await expect.poll(() => descriptorsOf(server).length).toBeLessThanOrEqual(before)
    }
  })
})

// skip: only Linux tells the descriptors of a process in files
test.skipIf(process.platform !== 'linux')(
  'a server holds no more descriptors than it was told to, however many sessions were used',
  async () => {
    const server = await ServerProcess.start(storeDirectory(), ['--no-auth', '--descriptors', '200'])
    const clients = agents(8)
    expect(await appendAll(server, clients, 600)).toEqual({ 200: 600 })
    expect(await ask(server, clients[0] as Agent, 'GET', '/api/v1/search?q=heliotrope')).toMatchObject({ status: 200 })
    expect(descriptorsOf(server).length).toBeLessThanOrEqual(200)
  },
)

/** Opens a stream of events and waits until it is ready. Returns how to leave. */
function follow(server: ServerProcess, session: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const asked = request(`${server.url}/api/v1/sessions/${session}/events`, { agent: false }, (response) => {
      response.on('error', () => undefined)
      response.on('data', (data: Buffer) => {
        if (data.toString().includes('event: ready')) resolve(() => asked.destroy())
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}
