/** What a command has to work with: the store, which may be at a server, where to speak, and when to stop. */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { HoldfastError } from '../errors.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { StoreApi } from '../store/api/store-api.ts'
import type { EncryptionOptions, OpenOptions } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'
import { type GlobalOptions, wrongUsage } from './arguments.ts'
import type { Output } from './output.ts'

const MASTER_KEY_BYTES = 32

export class Context {
  readonly out: Output
  /** Stop: the command was interrupted, or nobody reads what it prints. */
  readonly signal: AbortSignal
  readonly #options: GlobalOptions
  #store: StoreApi | undefined
  #last: (() => Promise<void>) | undefined

  constructor(out: Output, signal: AbortSignal, options: GlobalOptions) {
    this.out = out
    this.signal = signal
    this.#options = options
  }

  /** The store, for a command that only looks: one that is not there is empty, and is not made by looking. */
  async read(): Promise<StoreApi> {
    const where = this.#where()
    if (isDirectory(where) && !existsSync(where)) {
      this.out.warn(`There is no store at ${where}.`, { reason: 'absent' })
      return this.#open('memory:')
    }
    return this.#open(where)
  }

  /** The store, for a command that writes: it is made if need be. */
  write(): Promise<StoreApi> {
    return this.#open(this.#where())
  }

  /** The store, for a command that needs it in this process; undefined if it is at a server. */
  async local(
    options: Pick<OpenOptions, 'wrap' | 'limits' | 'redact' | 'migrate' | 'encryption' | 'quotas'> = {},
  ): Promise<Store | undefined> {
    const where = this.#where()
    return isServer(where) ? undefined : this.#openHere(where, options)
  }

  /** Where the store is, if it is a directory. */
  get directory(): string | undefined {
    const where = this.#where()
    return isDirectory(where) ? resolve(where) : undefined
  }

  /** The directory of the store, or its address if it is elsewhere. */
  get target(): string {
    return this.directory ?? this.#where()
  }

  /** The space to use, if one was named. */
  get space(): string | undefined {
    return this.#options.space
  }

  /** Where the store is, as it may be shown: without a password. */
  get address(): string {
    const where = this.#where()
    if (isDirectory(where)) return resolve(where)
    return where.replace(/^([a-z]+:\/\/[^/@:]*):[^/@]*@/i, '$1@')
  }

  /** The address of the database that the store is in, for a command that works on its tables. */
  requireDatabase(): string {
    const where = this.#where()
    if (!/^postgres(?:ql)?:\/\//i.test(where)) throw wrongUsage('This works on a store in PostgreSQL only: --store postgres://…')
    return where
  }

  /** The same, for a command that works on its files. */
  requireDirectory(): string {
    const { directory } = this
    if (directory === undefined) throw wrongUsage('This works on a store in a directory only.')
    return directory
  }

  /** The store, for a command that needs more of it than a server gives: to look at, or to write to. */
  async here(purpose: 'read' | 'write'): Promise<Store> {
    if (this.isRemote) throw wrongUsage('This works where the store is. Name its directory.')
    return (await (purpose === 'read' ? this.read() : this.write())) as Store
  }

  get isRemote(): boolean {
    return isServer(this.#where())
  }

  /** The same error, for a person who sets the key of a server in the environment. */
  explained(error: unknown): unknown {
    if (!(error instanceof HoldfastError) || error.code !== 'UNAUTHENTICATED' || !this.isRemote) return error
    const hint = process.env.HOLDFAST_KEY ? 'Check the API key in HOLDFAST_KEY.' : 'Set HOLDFAST_KEY to an API key of this server.'
    return new HoldfastError('UNAUTHENTICATED', `${error.message} ${hint}`, { details: error.details, cause: error })
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

  #open(where: string): Promise<StoreApi> {
    return isServer(where) ? this.#connect(where) : this.#openHere(where, { brief: true, mayBlock: true })
  }

  async #connect(url: string): Promise<StoreApi> {
    if (this.#options.space !== undefined) throw wrongUsage('At a server the key says which space it is: leave out --space.')
    const { connect } = await import('../client/index.ts')
    const key = process.env.HOLDFAST_KEY
    this.#store = connect(url, key === undefined || key === '' ? {} : { key })
    return this.#store
  }

  /** How the store is encrypted, if a master key was given. */
  get encryption(): EncryptionOptions | undefined {
    const file = this.#options.masterKeyFile ?? (process.env.HOLDFAST_MASTER_KEY_FILE || undefined)
    const masterKey = file === undefined ? process.env.HOLDFAST_MASTER_KEY || undefined : masterKeyIn(file)
    return masterKey === undefined ? undefined : { masterKey }
  }

  async #openHere(
    where: string,
    options: Pick<OpenOptions, 'wrap' | 'brief' | 'mayBlock' | 'redact' | 'migrate' | 'encryption' | 'quotas'> = {},
  ): Promise<Store> {
    const { openStore } = await import('../store/open-store.ts')
    try {
      const store = await openStore(where, { ...withoutUndefined({ encryption: this.encryption, space: this.#options.space }), ...options })
      this.#store = store
      for (const warning of store.warnings) this.out.warn(warning)
      return store
    } catch (error) {
      // An address of a kind that there is not: a mistake of whoever typed it.
      if (error instanceof TypeError) throw wrongUsage(error.message)
      throw error
    }
  }

  #where(): string {
    const where = this.#options.store ?? (process.env.HOLDFAST_STORE || join(homedir(), '.holdfast'))
    if (where === 'memory:') throw wrongUsage('A store in memory would end with this command. Name a directory.')
    return where
  }
}

/** The text of a file with a master key. Its form is checked here, where the name of the file is known. */
export function masterKeyIn(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw wrongUsage(`The master key in ${file} cannot be read: ${(error as Error).message}`)
  }
  if (/^[0-9a-f]{64}$/i.test(text) || Buffer.from(text, 'base64').length === MASTER_KEY_BYTES) return text
  throw wrongUsage(
    `The file ${file} holds no master key: that has ${MASTER_KEY_BYTES} bytes, as 64 hex digits or in base64. Nothing was changed. ` +
      'Put back the copy of the key. Another key opens nothing of the store.',
  )
}

function isDirectory(where: string): boolean {
  return where !== '' && !/^[a-z][a-z0-9+.-]+:\/\//i.test(where)
}

function isServer(where: string): boolean {
  return /^https?:\/\//i.test(where)
}
