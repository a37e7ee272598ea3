/** Servers as processes of their own, as they run. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface ChildServer {
  readonly port: number
  readonly pid: number
  readonly key: string
  stop(): Promise<void>
}

/** `holdfast serve` as it is: keys, worker, log and all. */
export async function startHoldfast(store: string): Promise<ChildServer> {
  const main = fileURLToPath(new URL('../../dist/cli/start.cjs', import.meta.url))
  const child = spawn(process.execPath, [main, 'serve', '--json', '--store', store, '--port', '0'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const { url } = JSON.parse(await firstLine(child)) as { url: string }
  const key = readFileSync(join(store, 'server.key'), 'utf8').trim()
  return { port: Number(new URL(url).port), pid: child.pid as number, key, stop: () => stopped(child) }
}

export async function startBare(directory: string): Promise<ChildServer> {
  const main = fileURLToPath(new URL('./bare-server.js', import.meta.url))
  const child = spawn(process.execPath, [main, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { port } = JSON.parse(await firstLine(child)) as { port: number }
  return { port, pid: child.pid as number, key: '', stop: () => stopped(child) }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('The server has no standard output.')
  const [line] = await once(createInterface(child.stdout), 'line')
  return line as string
}

async function stopped(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'close')
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
