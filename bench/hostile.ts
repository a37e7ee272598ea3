/** What the callers of a server notice of another key that asks as much as it can. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type ChildServer, startHoldfast } from './child-server.ts'
import { type Benchmark, type Figure, figure, interleave, percentile, ratios } from './harness.ts'
import { HOSTILITIES, type Hostility } from './hostile-requests.ts'
import { TEXT } from './session.ts'

/** Of the ordinary callers, each of which pauses between two requests. */
const CALLERS = 8
const PAUSE_MS = 20
const SESSIONS = 200

export const hostile: Benchmark = {
  name: 'hostile',
  about:
    'How much longer 99 of 100 requests of ordinary callers take (appends, pages of messages, lists and searches, 8 connections, 20 ms between two requests) while another key, in a space of its own, asks as much as it can on 64 connections.',
  async run({ directory, quick }) {
    const server = await startHoldfast(join(directory, 'store'))
    try {
      const hostileKey = await createKey(server, 'hostile')
      await Promise.all([fill(server, server.key), fill(server, hostileKey)])
      const milliseconds = quick ? 1500 : 6000
      const calm = (): Promise<number[]> => ordinary(server, milliseconds)
      const figures: Figure[] = []
      for (const hostility of HOSTILITIES) {
        const under = async (): Promise<number[]> => {
          const stop = await startHostile(server.port, hostileKey, hostility)
          try {
            return await ordinary(server, milliseconds)
          } finally {
            await stop()
          }
        }
        const results = await interleave(quick ? 1 : 3, { calm, under })
        const p99 = (of: 'calm' | 'under'): number[] => results[of].map((times) => percentile(times, 99))
        figures.push(figure(`beside ${hostility}`, 'times', ratios(p99('under'), p99('calm')), { is: 'at most', value: 3 }))
        figures.push(figure(`99 of 100 requests, calm, before ${hostility}`, 'ms', p99('calm')))
      }
      return figures
    } finally {
      await server.stop()
    }
  },
}

/** A key of another space. */
async function createKey({ port, key }: ChildServer, space: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/keys`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ space, scope: 'write' }),
  })
  const { result } = (await response.json()) as { result: { key: string } }
  return result.key
}

async function fill({ port }: ChildServer, key: string): Promise<void> {
  for (let i = 0; i < SESSIONS; i++) {
    const messages = Array.from({ length: 20 }, (_, n) => ({ role: 'user', content: `word${n} session${i} ${TEXT}` }))
    await send(port, key, 'POST', `/sessions/s${i}/messages/batch`, { messages })
  }
  const messages = Array.from({ length: 100 }, (_, n) => ({ role: 'user', content: `word${n} ${TEXT}` }))
  for (let i = 0; i < 10; i++) await send(port, key, 'POST', '/sessions/long/messages/batch', { messages })
}

async function send(port: number, key: string, method: string, path: string, body?: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
}

/** The times of all requests, in milliseconds. */
async function ordinary({ port, key }: ChildServer, milliseconds: number): Promise<number[]> {
  const times: number[] = []
  const untilMs = performance.now() + milliseconds
  const caller = async (number: number): Promise<void> => {
    for (let i = number; performance.now() < untilMs; i++) {
      const session = `s${(i * 7) % SESSIONS}`
      const startedMs = performance.now()
      const kind = i % 4
      if (kind === 0) await send(port, key, 'POST', `/sessions/${session}/messages`, { role: 'user', content: TEXT })
      else if (kind === 1) await send(port, key, 'GET', `/sessions/${session}/messages?limit=20`)
      else if (kind === 2) await send(port, key, 'GET', '/sessions?limit=20')
      else await send(port, key, 'GET', `/search?q=session${(i * 7) % SESSIONS}&limit=5`)
      times.push(performance.now() - startedMs)
      await sleep(PAUSE_MS)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, i) => caller(i)))
  return times
}

/** The hostile client is a process of its own, so that only the server is what both share. */
async function startHostile(port: number, key: string, hostility: Hostility): Promise<() => Promise<void>> {
  const main = fileURLToPath(new URL('./hostile-client.js', import.meta.url))
  const child = spawn(process.execPath, [main, String(port), key, hostility], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(createInterface(child.stdout), 'line')
  return async () => {
    child.stdin.end()
    await once(child, 'close')
  }
}
