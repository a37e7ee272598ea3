/**
 * The catalog in a thread of its own, so that neither SQLite nor reading sessions for it holds up the caller's. The thread is started with the
 * first question, keeps no process alive, and opens the store for itself. While a catalog is made anew it has a second one read for it.
 */
import { Worker } from 'node:worker_threads'
import { CatalogUnavailable } from '../engine/catalog.ts'
import { type ErrorCode, HoldfastError, type Outcome } from '../errors.ts'
import type { Spawned } from './indexer.ts'
import type { CatalogRequests } from './requests.ts'

/** Files that threads may hold open: the catalog, and each one that reads for it. 0 readers' files: there are no such threads. */
export interface ThreadFiles {
  readonly catalogFiles: number
  readonly readerFiles: number
}

/** What a thread is for: to be the catalog, to read for it, or to check its file. */
export interface ThreadData extends ThreadFiles {
  readonly directory: string
  /** The id of the store: another one may have taken its place. */
  readonly store: string | undefined
  readonly role: 'catalog' | 'reader' | 'checker'
}

export interface Question {
  readonly id: number
  readonly method: string
  readonly words: readonly unknown[]
}

export interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: TellableError
}

/** Errors lose what they are on their way between threads. */
type TellableError =
  | { readonly kind: 'unavailable'; readonly reason: CatalogUnavailable['reason']; readonly message: string }
  | { readonly kind: 'holdfast'; readonly code: ErrorCode; readonly message: string; readonly outcome: Outcome; readonly details: object }
  | { readonly kind: 'other'; readonly message: string; readonly stack: string | undefined }

/** So long after its end a thread that kept the catalog up to date is started anew: one that ends at once takes little time. */
const AGAIN_MS = 1000

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Asks the catalog of a directory. */
export function askCatalog(
  directory: string,
  store: string | undefined,
  { catalogFiles, readerFiles }: ThreadFiles,
): {
  ask(method: keyof CatalogRequests, query?: unknown): Promise<unknown>
  close(): Promise<void>
} {
  const thread = new Thread({ directory, store, role: 'catalog', catalogFiles, readerFiles })
  return { ask: (method, query) => thread.ask(method, query), close: () => thread.close() }
}

/** Has sessions of a directory read by another thread. */
export function spawnReader(directory: string, store: string | undefined, files: ThreadFiles): Spawned {
  const thread = new Thread({ ...files, directory, store, role: 'reader' })
  return {
    rows: (sessions, look) => thread.ask('rows', sessions, look) as ReturnType<Spawned['rows']>,
    texts: (sessions) => thread.ask('texts', sessions) as ReturnType<Spawned['texts']>,
    wholes: (names) => thread.ask('wholes', names) as ReturnType<Spawned['wholes']>,
    close: () => thread.close(),
  }
}

/** Has the file of a catalog checked by another thread, which ends with that. */
export async function checkInThread(directory: string, path: string, signal?: AbortSignal): Promise<string | undefined> {
  const thread = new Thread({ directory, store: undefined, role: 'checker', catalogFiles: 0, readerFiles: 0 })
  // Asked to end, not terminated: SQLite's binding panics when its thread is ended during a call.
  const end = (): void => void thread.ask('endCheck').catch(() => undefined)
  signal?.addEventListener('abort', end)
  try {
    return (await thread.ask('checkFile', path)) as string | undefined
  } finally {
    signal?.removeEventListener('abort', end)
    await thread.end()
  }
}

class Thread {
  readonly #data: ThreadData
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #count = 0
  /** It is to keep the catalog up to date, whatever becomes of the thread that was asked to. */
  #keeps = false

  constructor(data: ThreadData) {
    this.#data = data
  }

  ask(method: string, ...words: readonly unknown[]): Promise<unknown> {
    if (method === 'keep') this.#keeps = true
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#start()
      // While somebody waits for an answer, the process must not end.
      this.#worker.ref()
      const question: Question = { id: this.#count++, method, words }
      this.#waiting.set(question.id, { resolve, reject })
      this.#worker.postMessage(question)
    })
  }

  async close(): Promise<void> {
    this.#keeps = false
    if (this.#worker === undefined) return
    await this.ask('close').catch(() => undefined)
    await this.end()
  }

  /** Ends the thread at once. Those who wait for an answer get an error. */
  async end(): Promise<void> {
    this.#keeps = false
    await this.#worker?.terminate()
  }

  #start(): Worker {
    // In the bundle of the command line, all files are CommonJS.
    const file = import.meta.url.endsWith('.cjs') ? './thread.cjs' : './thread.js'
    // What it reads is put and forgotten: a small nursery does, and most of it is cleared where it stands.
    const worker = new Worker(new URL(file, import.meta.url), {
      workerData: this.#data,
      resourceLimits: { maxYoungGenerationSizeMb: 12 },
      // What the process was started with, such as a text to run, is not for it.
      execArgv: [],
    })
    worker.unref()
    worker.on('message', ({ id, result, error }: Answer) => {
      const one = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) worker.unref()
      if (error === undefined) one?.resolve(result)
      else one?.reject(errorOf(error))
    })
    const end = (why: string): void => {
      // Told twice of a mistake; those who wait by then wait for another thread.
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const { reject } of this.#waiting.values()) reject(new CatalogUnavailable('busy', why))
      this.#waiting.clear()
      setTimeout(() => {
        if (this.#keeps) this.ask('keep').catch(() => undefined)
      }, AGAIN_MS).unref()
    }
    worker.on('error', (error) => end(`The thread of the catalog has ended: ${error.message}`))
    worker.on('exit', () => end('The thread of the catalog has ended.'))
    return worker
  }
}

export function tellable(error: unknown): TellableError {
  if (error instanceof CatalogUnavailable) return { kind: 'unavailable', reason: error.reason, message: error.message }
  if (error instanceof HoldfastError) {
    const { code, message, outcome, details } = error
    return { kind: 'holdfast', code, message, outcome, details }
  }
  return error instanceof Error
    ? { kind: 'other', message: error.message, stack: error.stack }
    : { kind: 'other', message: String(error), stack: undefined }
}

function errorOf(told: TellableError): Error {
  if (told.kind === 'unavailable') return new CatalogUnavailable(told.reason, told.message)
  if (told.kind === 'holdfast') {
    const { code, message, outcome, details } = told
    return new HoldfastError(code, message, { outcome, details: details as Record<string, unknown> })
  }
  return Object.assign(new Error(told.message), { stack: told.stack })
}
