/**
 * Starts the programs of this folder as processes of their own, from what the compiler left in `build/`. Each knows the test by its
 * standard input: when that ends, because the test is done or dead, the child ends too.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Vitest runs at the root of the repository. */
const PROGRAMS = join(process.cwd(), 'build', 'test', 'processes')

export type Program =
  | 'writer'
  | 'reader'
  | 'scenario'
  | 'client'
  | 'committer'
  | 'summariser'
  | 'appender'
  | 'lister'
  | 'indexer'
  | 'adapter'
  | 'runner'
  | 'eraser'
  | 'torturer'
  | 'asker'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it wrote to standard error, for the message of a test that fails. */
  readonly complaint: string
}

export interface StartOptions {
  /** Words in front of node: a tracer, or a limit. */
  readonly under?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export class Child {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  #complaint = ''

  constructor(program: Program, options: object, { under = [], env = {} }: StartOptions = {}) {
    const main = join(PROGRAMS, program, 'main.js')
    const [command = process.execPath, ...words] = [...under, process.execPath, main, JSON.stringify(options)]
    this.process = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    // A child that was killed no longer reads.
    this.process.stdin?.on('error', () => undefined)
    this.process.stderr?.on('data', (data: Buffer) => {
      this.#complaint += data.toString()
    })
    this.ended = once(this.process, 'close').then(([code, signal]) => ({ code, signal, complaint: this.#complaint }))
  }

  get running(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null
  }

  onLine(callback: (line: string) => void): void {
    if (this.process.stdout !== null) createInterface(this.process.stdout).on('line', callback)
  }

  say(line: string): void {
    this.process.stdin?.write(`${line}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.process.kill(signal)
  }

  /** Lets it come to its end. */
  async finish(): Promise<Ended> {
    this.process.stdin?.end()
    return this.ended
  }
}
