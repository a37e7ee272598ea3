/** The command line as its users have it: the built program, as a process of its own, on a store that lasts as long as one test. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

/** Vitest runs at the root of the repository. */
export const MAIN = join(process.cwd(), 'dist', 'cli', 'start.cjs')

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A store of its own for one test. Nothing of the caller's settings reaches the program. */
export class Cli {
  readonly directory = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  readonly store = join(this.directory, 'store')
  /** Where compiled code is kept: from test to test, unless told. */
  cache = join(process.cwd(), 'build', 'compiled')
  /** Settings beside these, such as where a server is. */
  extra: Readonly<Record<string, string>> = {}

  constructor() {
    onTestFinished(() => rmSync(this.directory, { recursive: true, force: true }))
  }

  get env(): NodeJS.ProcessEnv {
    const { NO_COLOR: _, FORCE_COLOR: __, CI: ___, ...rest } = process.env
    return { ...rest, HOLDFAST_STORE: this.store, HOME: this.directory, XDG_CACHE_HOME: this.cache, TERM: 'xterm', ...this.extra }
  }

  /** What a test begins with, made without a process for each step. */
  async prepare(work: (store: Store) => Promise<unknown>): Promise<void> {
    const store = await openStore(this.store)
    await work(store)
    await store.close()
  }

  /** A session whose messages have their ids as content. */
  async prepareMessages(session: string, ...ids: string[]): Promise<void> {
    await this.prepare(async (store) => store.session(session).append(ids.map((id) => ({ role: 'user', id, content: id }))))
  }

  start(...words: string[]): ChildProcessWithoutNullStreams {
    const child = spawn(process.execPath, [MAIN, ...words], { env: this.env, stdio: 'pipe' })
    // One that has ended no longer reads.
    child.stdin.on('error', () => undefined)
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  /** Runs a command to its end, with something on its standard input if it is given. */
  async run(words: readonly string[], input = ''): Promise<Ended> {
    return ended(this.start(...words), input)
  }

  /** What a command prints with --json, which must succeed without a complaint. */
  async json(...words: string[]): Promise<Record<string, unknown>[]> {
    const { status, stdout, stderr } = await this.run(['--json', ...words])
    if (status !== 0 || stderr !== '') throw new Error(`holdfast ${words.join(' ')} ended with ${status}: ${stderr}`)
    return objectsIn(stdout)
  }

  /** The one object that a command prints. */
  async one(...words: string[]): Promise<Record<string, unknown>> {
    const [only, ...more] = await this.json(...words)
    if (only === undefined || more.length > 0) throw new Error(`holdfast ${words.join(' ')} printed ${more.length + 1} objects`)
    return only
  }

  /** The error that a command ends with. */
  async failure(words: readonly string[], input = ''): Promise<{ status: number | null; code: string; message: string; details: object }> {
    const { status, stderr } = await this.run(['--json', ...words], input)
    const { error } = objectsIn(stderr).at(-1) as { error: { code: string; message: string; details: object } }
    return { status, ...error }
  }

  /** Ids of the messages of a session, in order. */
  async messageIds(session: string): Promise<string[]> {
    return (await this.json('show', session)).map(({ id }) => String(id))
  }
}

export async function ended(child: ChildProcessWithoutNullStreams, input = ''): Promise<Ended> {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  child.stdin.end(input)
  const [status] = await once(child, 'close')
  return { status, ...output }
}

export function objectsIn(text: string): Record<string, unknown>[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** The lines that a process prints, as they come. */
export class Lines {
  readonly seen: string[] = []
  readonly #waiting = new Set<() => void>()

  constructor(child: ChildProcessWithoutNullStreams) {
    createInterface(child.stdout).on('line', (line) => {
      this.seen.push(line)
      for (const wake of this.#waiting) wake()
    })
  }

  /** Resolves once there are so many. */
  async until(count: number): Promise<void> {
    while (this.seen.length < count) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake)
          resolve()
        }
        this.#waiting.add(wake)
      })
    }
  }

  get objects(): Record<string, unknown>[] {
    return this.seen.map((line) => JSON.parse(line) as Record<string, unknown>)
  }
}
