/** What a command has to work with: the store, where to speak, and when to stop. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Store } from '../store/store.ts'
import { type GlobalOptions, given, wrongUsage } from './arguments.ts'
import type { Output } from './output.ts'

export class Context {
  readonly out: Output
  /** Stop: the command was interrupted, or nobody reads what it prints. */
  readonly signal: AbortSignal
  readonly #options: GlobalOptions
  #store: Store | undefined
  #last: (() => Promise<void>) | undefined

  constructor(out: Output, signal: AbortSignal, options: GlobalOptions) {
    this.out = out
    this.signal = signal
    this.#options = options
  }

  /** The store, for a command that only looks: one that is not there is empty, and is not made by looking. */
  async read(): Promise<Store> {
    const where = this.#where()
    if (isDirectory(where) && !existsSync(where)) {
      this.out.warn(`There is no store at ${where}.`, { reason: 'absent' })
      return this.#open('memory:')
    }
    return this.#open(where)
  }

  /** The store, for a command that writes: it is made if need be. */
  write(): Promise<Store> {
    return this.#open(this.#where())
  }

  /** Where the store lies, for a command that works on its files. */
  directory(): string {
    const where = this.#where()
    if (!isDirectory(where)) throw wrongUsage('This works on a store in a directory only.')
    return resolve(where)
  }

  /** Has something done before the store is closed, also when the command is interrupted: what it holds has to be given back. */
  beforeClosing(last: () => Promise<void>): void {
    this.#last = last
  }

  /** Waits until all that was accepted is on the disk. */
  async close(): Promise<void> {
    try {
      await this.#last?.()
    } finally {
      await this.#store?.close()
    }
  }

  async #open(where: string): Promise<Store> {
    const { openStore } = await import('../store/open-store.ts')
    try {
      this.#store = await openStore(where, given({ space: this.#options.space }))
    } catch (error) {
      // An address of a kind that there is not: a mistake of whoever typed it.
      if (error instanceof TypeError) throw wrongUsage(error.message)
      throw error
    }
    for (const warning of this.#store.warnings) this.out.warn(warning)
    return this.#store
  }

  #where(): string {
    const where = this.#options.store ?? (process.env.HOLDFAST_STORE || join(homedir(), '.holdfast'))
    if (where === 'memory:') throw wrongUsage('A store in memory would end with this command. Name a directory.')
    return where
  }
}

function isDirectory(where: string): boolean {
  return where !== '' && !/^[a-z][a-z0-9+.-]+:\/\//i.test(where)
}
