/** A process that is to be there all the while: whenever it ends, another one takes its place, until it is told to finish. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Child, type Ended } from '../processes/children.ts'
import type { ClientOptions } from './client.ts'
import { isExpected } from './expected-end.ts'
import type { FaultPage } from './faults.ts'
import { type End, nowUs } from './history.ts'

const COMPLAINT_CHARACTERS = 4000
const SHOWN_CHARACTERS = 1500
/** A process that comes to its end by itself more often than this is broken. */
const MOST_CRASHES = 20

interface StartOptions {
  readonly env: Readonly<Record<string, string>>
  /** How many descriptors it may have. Undefined: as many as the driver. */
  readonly descriptors: number | undefined
}

interface PlaceOptions {
  readonly faults?: FaultPage | undefined
  readonly descriptors?: number | undefined
}

interface Running {
  readonly ended: Promise<Ended>
  /** Whether it said that it had opened the store. */
  readonly isReady: () => boolean
  signal(signal: NodeJS.Signals): void
  /** Lets it come to its end. */
  finish(): void
}

export class Place {
  readonly name: string
  readonly faults: FaultPage | undefined
  /** Ends that nobody had asked for. */
  readonly ends: End[] = []
  kills = 0
  isStopped = false
  readonly #start: () => Running
  #running: Running
  #startedUs = nowUs()
  #isKilled = false
  #hasEnded = false
  #finished: Promise<void>
  #isOver = false
  /** Nobody takes its place before this. */
  #held: Promise<void> = Promise.resolve()

  constructor(name: string, start: (options: StartOptions) => Running, { faults, descriptors }: PlaceOptions = {}) {
    this.name = name
    this.faults = faults
    this.#start = () => start({ env: faults?.env ?? {}, descriptors })
    this.#running = this.#start()
    this.#finished = this.#keep()
  }

  async #keep(): Promise<void> {
    for (;;) {
      const ended = await this.#running.ended
      this.isStopped = false
      this.#hasEnded = true
      if (!isExpected(ended, { isKilled: this.#isKilled, isOver: this.#isOver })) this.#note(ended)
      if (this.#isOver || this.ends.length > MOST_CRASHES) return
      await this.#held
      this.#isKilled = false
      this.#hasEnded = false
      this.#startedUs = nowUs()
      this.#running = this.#start()
    }
  }

  #note({ code, signal, complaint }: Ended): void {
    const isRefused = !this.#running.isReady() && isRefusal(complaint)
    this.ends.push({
      place: this.name,
      code,
      signal,
      complaint: complaint.slice(-SHOWN_CHARACTERS),
      isRefused,
      from: this.#startedUs,
      to: nowUs(),
    })
  }

  /** Whether a process runs that has not opened the store yet. */
  get isStarting(): boolean {
    return !this.#hasEnded && !this.#running.isReady()
  }

  kill(): void {
    this.kills++
    this.#isKilled = true
    this.#running.signal('SIGKILL')
  }

  /** Nothing is there from when this resolves until `held` does. */
  async killUntil(held: Promise<void>): Promise<void> {
    this.hold(held)
    const { ended } = this.#running
    this.kill()
    await ended
  }

  /** If it ends before that, its next life waits until then. */
  hold(until: Promise<void>): void {
    this.#held = Promise.all([this.#held, until]).then(() => undefined)
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
      this.#note({ code: null, signal: null, complaint: `${this.name} did not come to its end in ${patienceMs} ms` })
      this.#isKilled = true
      this.#running.signal('SIGKILL')
    }, patienceMs)
    await this.#finished
    clearTimeout(late)
  }
}

/** One that starts while its store is out of reach says so and gives up; whoever runs it starts it again. */
function isRefusal(complaint: string): boolean {
  return complaint.startsWith('{"error":') && complaint.includes('"retryable":true')
}

export function startClient(options: ClientOptions, { env, descriptors }: StartOptions): Running {
  const child = new Child('torturer', { ...options, descriptors }, { env })
  let isReady = false
  child.onLine(() => {
    isReady = true
  })
  return { ended: child.ended, isReady: () => isReady, signal: (signal) => child.signal(signal), finish: () => void child.finish() }
}

/** `holdfast serve`, as its users have it. Ends when it is told to. */
export function startServing(store: string, port: number, { env, descriptors }: StartOptions): Running {
  const main = join(process.cwd(), 'dist', 'cli', 'start.cjs')
  // Node raises the soft limit to the hard one.
  const under = descriptors === undefined ? [] : ['/bin/sh', '-c', `ulimit -n ${descriptors} && exec "$@"`, 'sh']
  const [command = process.execPath, ...words] = [
    ...under,
    process.execPath,
    main,
    'serve',
    '--json',
    '--store',
    store,
    '--port',
    String(port),
    '--no-auth',
    '--no-worker',
    '--no-migrate',
    '--quiet',
  ]
  const child: ChildProcess = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  let complaint = ''
  let isReady = false
  child.stdout?.on('data', () => {
    isReady = true
  })
  child.stderr?.on('data', (data: Buffer) => {
    complaint = `${complaint}${data.toString()}`.slice(-COMPLAINT_CHARACTERS)
  })
  return {
    ended: once(child, 'close').then(([code, signal]) => ({ code, signal, complaint })),
    isReady: () => isReady,
    signal: (signal) => void child.kill(signal),
    finish: () => void child.kill('SIGTERM'),
  }
}
