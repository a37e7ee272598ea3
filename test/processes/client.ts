/** The test's end of a client process: asks for one thing at a time, and remembers everything that it was told. */
import type { Kind } from '../simulation/client.ts'
import { Child, type Ended } from './children.ts'
import type { ClientOptions, Command } from './client/main.ts'
import type { LoggedAttempt } from './log.ts'

interface Waiting {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

export class Client {
  readonly attempts: LoggedAttempt[] = []
  readonly #name: string
  readonly #child: Child
  readonly #waiting: Waiting[] = []

  /** Starts a process and waits until it has opened the store. */
  static async start(options: ClientOptions): Promise<Client> {
    const client = new Client(options)
    await client.#answer()
    return client
  }

  private constructor(options: ClientOptions) {
    this.#name = options.name
    this.#child = new Child('client', options)
    this.#child.onLine((line) => this.#waiting.shift()?.resolve(JSON.parse(line)))
    void this.#child.ended.then(({ code, complaint }) => {
      for (const { reject } of this.#waiting) reject(new Error(`The client ended with ${code}: ${complaint}`))
    })
  }

  async wish(kind: Kind, bytes = 100): Promise<LoggedAttempt> {
    const made = (await this.#ask({ wish: `${this.#name}.${this.attempts.length}`, kind, bytes })) as LoggedAttempt
    this.attempts.push(made)
    return made
  }

  /** Removes what may be removed, and tells how many bytes that freed. */
  async purge(): Promise<{ readonly freed?: number; readonly error?: string }> {
    return (await this.#ask({ purge: true })) as { freed?: number; error?: string }
  }

  finish(): Promise<Ended> {
    return this.#child.finish()
  }

  #ask(command: Command): Promise<unknown> {
    this.#child.say(JSON.stringify(command))
    return this.#answer()
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }
}
