/** The test's end of a process that holds a session open. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { afterEach } from 'vitest'

let children: ChildProcess[] = []

/** Registers the ending of every process that a test of a file has started. */
export function useSessionClients(): (directory: string, session: string) => Promise<SessionClient> {
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL')
    children = []
  })
  return async (directory, session) => {
    const program = join(process.cwd(), 'build', 'test', 'failures', 'session-client', 'main.js')
    const child = spawn(process.execPath, [program, directory, session], { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(child)
    const client = new SessionClient(child)
    await client.answer()
    return client
  }
}

export class SessionClient {
  readonly #child: ChildProcess
  readonly #lines: Interface

  constructor(child: ChildProcess) {
    this.#child = child
    this.#lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  }

  async call<T>(method: string, ...args: unknown[]): Promise<T> {
    const answer = this.answer()
    this.#child.stdin?.write(`${JSON.stringify([method, ...args])}\n`)
    const { value, error } = await answer
    if (error !== undefined) throw new Error(error)
    return value as T
  }

  async answer(): Promise<{ value?: unknown; error?: string }> {
    const [line] = (await once(this.#lines, 'line')) as [string]
    return JSON.parse(line) as { value?: unknown; error?: string }
  }
}
