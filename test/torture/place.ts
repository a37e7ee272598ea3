/** A process that is to be there all the while: whenever it ends, another one takes its place, until it is told to finish. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Child, type Ended } from '../processes/children.ts'
import type { FaultPage } from './faults.ts'

const COMPLAINT_CHARACTERS = 4000
/** A process that comes to its end by itself more often than this is broken. */
const MOST_CRASHES = 20

interface Running {
  readonly ended: Promise<Ended>
  signal(signal: NodeJS.Signals): void
  /** Lets it come to its end. */
  finish(): void
}

export class Place {
  readonly name: string
  readonly faults: FaultPage | undefined
  /** Ends that nobody had asked for. */
  readonly crashes: Ended[] = []
  kills = 0
  isStopped = false
  readonly #start: () => Running
  #running: Running
  #finished: Promise<void>
  #isOver = false
  /** Nobody takes its place before this. */
  #held: Promise<void> = Promise.resolve()

  constructor(name: string, start: (env: Readonly<Record<string, string>>) => Running, faults?: FaultPage) {
    this.name = name
    this.faults = faults
    this.#start = () => start(faults?.env ?? {})
    this.#running = this.#start()
    this.#finished = this.#keep()
  }

  async #keep(): Promise<void> {
    for (;;) {
      const ended = await this.#running.ended
      this.isStopped = false
      if (ended.signal !== 'SIGKILL' && !(this.#isOver && isGood(ended)) && !isRefused(ended)) this.crashes.push(ended)
      if (this.#isOver || this.crashes.length > MOST_CRASHES) return
      await this.#held
      this.#running = this.#start()
    }
  }

  kill(): void {
    this.kills++
    this.#running.signal('SIGKILL')
  }

  /** Nothing is there from when this resolves until `held` does. */
  async killUntil(held: Promise<void>): Promise<void> {
    this.#held = held
    const { ended } = this.#running
    this.kill()
    await ended
  }

  stop(): void {
    this.isStopped = true
    this.#running.signal('SIGSTOP')
  }

  goOn(): void {
    this.isStopped = false
    this.#running.signal('SIGCONT')
  }

  /** Whoever does not come to its end by itself is killed, and told as one that hangs. */
  async finish(patienceMs: number): Promise<void> {
    this.#isOver = true
    this.goOn()
    this.faults?.set(undefined)
    this.#running.finish()
    const late = setTimeout(() => {
      this.crashes.push({ code: null, signal: null, complaint: `${this.name} did not come to its end in ${patienceMs} ms` })
      this.#running.signal('SIGKILL')
    }, patienceMs)
    await this.#finished
    clearTimeout(late)
  }
}

/** A server that was interrupted says so. */
function isGood({ code }: Ended): boolean {
  return code === 0 || code === 130
}

/** One that starts while its store is out of reach says so and gives up; whoever runs it starts it again. */
function isRefused({ complaint }: Ended): boolean {
  return complaint.startsWith('{"error":') && complaint.includes('"retryable":true')
}

export function startClient(options: object, env: Readonly<Record<string, string>>): Running {
  const child = new Child('torturer', options, { env })
  child.onLine(() => undefined)
  return { ended: child.ended, signal: (signal) => child.signal(signal), finish: () => void child.finish() }
}

/** `holdfast serve`, as its users have it. Ends when it is told to. */
export function startServing(store: string, port: number, env: Readonly<Record<string, string>>): Running {
  const main = join(process.cwd(), 'dist', 'cli', 'start.cjs')
  const words = [main, 'serve', '--json', '--store', store, '--port', String(port), '--no-auth', '--no-worker', '--no-migrate', '--quiet']
  const child: ChildProcess = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } })
  let complaint = ''
  child.stderr?.on('data', (data: Buffer) => {
    complaint = `${complaint}${data.toString()}`.slice(-COMPLAINT_CHARACTERS)
  })
  return {
    ended: once(child, 'close').then(([code, signal]) => ({ code, signal, complaint })),
    signal: (signal) => void child.kill(signal),
    finish: () => void child.kill('SIGTERM'),
  }
}
