/** The server as its users have it: the built program, as a process of its own, spoken to by its address alone. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { storeAddress } from '../store-address.ts'

/** Vitest runs at the root of the repository. */
const MAIN = join(process.cwd(), 'dist', 'cli', 'start.cjs')

/** A directory for one test, to be served by any number of servers. */
export function storeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-server-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'store')
}

/** A server for all tests of one file, which stops it itself. */
export async function startForFile(): Promise<ServerProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-server-'))
  const where = process.env.HOLDFAST_TEST_STORE === 'postgres' ? await storeAddress() : join(directory, 'store')
  const server = await ServerProcess.start(where, [], { port: 0, lasting: true, home: directory })
  void server.ended().then(() => rmSync(directory, { recursive: true, force: true }))
  return server
}

interface StartOptions {
  readonly port?: number
  /** Outlives the test that starts it. */
  readonly lasting?: boolean
  /** The program, if it is not the one that was built. */
  readonly main?: string
  /** The home of whoever runs it, where the key lies of a store that is no directory. */
  readonly home?: string
  /** The hard limit of descriptors of the process. Node raises the soft limit to it. */
  readonly descriptors?: number
}

interface Told {
  readonly url: string
  readonly pid: number
  readonly ready_link: string
}

export class ServerProcess {
  readonly url: string
  readonly told: Told
  readonly directory: string
  readonly #home: string | undefined
  readonly #child: ChildProcess
  readonly #ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  #log = ''

  private constructor(child: ChildProcess, told: Told, directory: string, home: string | undefined) {
    this.#home = home
    this.#child = child
    this.told = told
    this.url = told.url
    this.directory = directory
    this.#ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  }

  static async start(
    directory: string,
    words: readonly string[] = [],
    { port = 0, lasting = false, main = MAIN, home, descriptors }: StartOptions = {},
  ): Promise<ServerProcess> {
    const command = [process.execPath, main, 'serve', '--json', '--store', directory, '--port', String(port), ...words]
    // The shell becomes the server: it has the same process id.
    const limited = descriptors === undefined ? command : ['sh', '-c', `ulimit -n ${descriptors} && exec "$@"`, 'sh', ...command]
    const child = spawn(limited[0] as string, limited.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(home === undefined ? {} : { env: { ...process.env, HOME: home } }),
    })
    if (!lasting) onTestFinished(() => void child.kill('SIGKILL'))
    let log = ''
    child.stderr?.on('data', (data: Buffer) => {
      log += data.toString()
    })
    const line = await Promise.race([
      once(createInterface(child.stdout), 'line').then(([text]) => text as string),
      once(child, 'close').then(() => undefined),
    ])
    if (line === undefined) throw new Error(`The server did not start: ${log}`)
    const server = new ServerProcess(child, JSON.parse(line) as Told, directory, home)
    server.#log = log
    child.stderr?.on('data', (data: Buffer) => {
      server.#log += data.toString()
    })
    return server
  }

  /** The key that it made for its own machine. */
  get key(): string {
    return readFileSync(this.#keyFile, 'utf8').trim()
  }

  get #keyFile(): string {
    if (this.#home === undefined || !this.directory.startsWith('postgres://')) return join(this.directory, 'server.key')
    const keys = join(this.#home, '.holdfast')
    return join(keys, readdirSync(keys).find((name) => name.endsWith('.key')) as string)
  }

  get log(): string {
    return this.#log
  }

  get pid(): number {
    return this.told.pid
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return this.#ended
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.#ended
  }

  async stop(): Promise<{ code: number | null }> {
    this.signal('SIGTERM')
    return this.#ended
  }
}
