/**
 * A process in which one contender plays. It does what it is told, one thing after the other; if it dies, whatever was asked of it fails. Others have
 * processes of their own, so that nobody pays for another's memory.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Message } from './contender.ts'

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url))

export type Order =
  | { readonly do: 'open'; readonly directory: string }
  | { readonly do: 'close' }
  | { readonly do: 'fill'; readonly session: string; readonly count: number }
  /** Appends one by one, some to each session; answers with the milliseconds of one. */
  | { readonly do: 'append'; readonly sessions: readonly string[]; readonly each: number; readonly tag: string }
  /** Many at once, each to a session of its own. */
  | { readonly do: 'append at once'; readonly callers: number; readonly each: number; readonly tag: string }
  /** Milliseconds to open it anew and to read the last messages of a session. */
  | { readonly do: 'reopen'; readonly directory: string; readonly session: string; readonly last: number }
  /** Milliseconds, after an append that must be found: indexes that are kept later are kept now. */
  | { readonly do: 'list'; readonly session: string; readonly tag: string }
  | { readonly do: 'search'; readonly session: string; readonly tag: string }
  | { readonly do: 'fork'; readonly session: string; readonly as: string }
  /** Tells of each message what came of it; until one is refused, if that is wanted. */
  | {
      readonly do: 'write'
      readonly session: string
      readonly tag: string
      readonly from: number
      readonly count: number
      readonly bytes: number
      readonly untilRefused?: boolean
    }
  | { readonly do: 'read'; readonly directory: string; readonly sessions: readonly string[] }
  | { readonly do: 'remove'; readonly path: string }

/** What came of one message of a `write`. */
export interface Told {
  readonly id: string
  /** Undefined if it was acknowledged. */
  readonly refused?: string
}

/** What was read of a whole store. */
export interface Read {
  readonly messages: Readonly<Record<string, readonly Message[]>>
  /** Why something could not be read, or that something is damaged: what a user would be told. */
  readonly told: readonly string[]
}

export type Reply = { readonly answer: unknown } | { readonly failed: string } | { readonly told: Told }

export class Player {
  readonly told: Told[] = []
  readonly #process: ChildProcess
  readonly #gone: Promise<unknown>
  #heard: (() => void) | undefined

  /** `within` is a program that runs it: one that watches it, or gives it another disk. */
  constructor(contender: string, within: readonly string[] = []) {
    const [program = '', ...words] = [...within, process.execPath, CHILD, contender]
    this.#process = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    this.#gone = once(this.#process, 'exit')
    this.#process.on('message', (reply: Reply) => {
      if (!('told' in reply)) return
      this.told.push(reply.told)
      this.#heard?.()
    })
  }

  async ask(order: Order): Promise<unknown> {
    let complaint = ''
    const listen = (text: Buffer): void => {
      complaint += text
    }
    this.#process.stderr?.on('data', listen)
    const answered = new Promise<unknown>((resolve, reject) => {
      const hear = (reply: Reply): void => {
        if ('told' in reply) return
        this.#process.off('message', hear)
        if ('failed' in reply) reject(new Error(reply.failed))
        else resolve(reply.answer)
      }
      this.#process.on('message', hear)
    })
    const died = this.#gone.then(() => {
      const { exitCode, signalCode } = this.#process
      throw new Error(`The process ended with ${signalCode ?? exitCode}. ${complaint.trim().split('\n').at(-1) ?? ''}`.trim())
    })
    died.catch(() => undefined)
    this.#process.send(order)
    try {
      return await Promise.race([answered, died])
    } finally {
      this.#process.stderr?.off('data', listen)
    }
  }

  /** Until it has told of so many messages. */
  async hasTold(count: number): Promise<void> {
    while (this.told.length < count) {
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    }
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#gone
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }

  async end(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect()
    await this.#gone
  }
}
