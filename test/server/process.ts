/** The server as its users have it: the built program, as a process of its own, spoken to by its address alone. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'

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
  const server = await ServerProcess.start(join(directory, 'store'), [], { port: 0, lasting: true })
  void server.ended().then(() => rmSync(directory, { recursive: true, force: true }))
  return server
}

interface StartOptions {
  readonly port?: number
  /** Outlives the test that starts it. */
  readonly lasting?: boolean
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
  readonly #child: ChildProcess
  readonly #ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  #log = ''

  private constructor(child: ChildProcess, told: Told, directory: string) {
    this.#child = child
    this.told = told
    this.url = told.url
    this.directory = directory
    this.#ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  }

  static async start(
    directory: string,
    words: readonly string[] = [],
    { port = 0, lasting = false }: StartOptions = {},
  ): Promise<ServerProcess> {
    const child = spawn(process.execPath, [MAIN, 'serve', '--json', '--store', directory, '--port', String(port), ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
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
    const server = new ServerProcess(child, JSON.parse(line) as Told, directory)
    server.#log = log
    child.stderr?.on('data', (data: Buffer) => {
      server.#log += data.toString()
    })
    return server
  }

  /** The key that it made for its own machine. */
  get key(): string {
    return readFileSync(join(this.directory, 'server.key'), 'utf8').trim()
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
