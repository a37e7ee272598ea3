/**
 * The catalog in a thread of its own, so that neither SQLite nor reading sessions for it holds up the caller's. The thread is started with the
 * first question, keeps no process alive, and opens the store for itself.
 */
import { Worker } from 'node:worker_threads'
import { CatalogUnavailable } from '../engine/catalog.ts'
import { type ErrorCode, HoldfastError, type Outcome } from '../errors.ts'
import type { CatalogRequests } from './service.ts'

export type Method = keyof CatalogRequests

export interface Question {
  readonly id: number
  readonly method: Method
  readonly query: unknown
}

export interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: TellableError
}

/** Errors lose what they are on their way between threads. */
export type TellableError =
  | { readonly kind: 'unavailable'; readonly reason: CatalogUnavailable['reason']; readonly message: string }
  | { readonly kind: 'holdfast'; readonly code: ErrorCode; readonly message: string; readonly outcome: Outcome; readonly details: object }
  | { readonly kind: 'other'; readonly message: string; readonly stack: string | undefined }

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Asks the catalog of a directory. */
export function askThread(directory: string): { ask(method: Method, query?: unknown): Promise<unknown>; close(): Promise<void> } {
  const waiting = new Map<number, Waiting>()
  let thread: Worker | undefined
  let count = 0

  const start = (): Worker => {
    const started = new Worker(new URL('./thread.js', import.meta.url), { workerData: { directory } })
    started.unref()
    started.on('message', ({ id, result, error }: Answer) => {
      const one = waiting.get(id)
      waiting.delete(id)
      if (waiting.size === 0) started.unref()
      if (error === undefined) one?.resolve(result)
      else one?.reject(errorOf(error))
    })
    const end = (why: string): void => {
      if (thread === started) thread = undefined
      for (const { reject } of waiting.values()) reject(new CatalogUnavailable('busy', why))
      waiting.clear()
    }
    started.on('error', (error) => end(`The thread of the catalog has ended: ${error.message}`))
    started.on('exit', () => end('The thread of the catalog has ended.'))
    return started
  }

  const ask = (method: Method, query?: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      thread ??= start()
      // While somebody waits for an answer, the process must not end.
      thread.ref()
      const question: Question = { id: count++, method, query }
      waiting.set(question.id, { resolve, reject })
      thread.postMessage(question)
    })

  return {
    ask,
    close: async () => {
      const running = thread
      if (running === undefined) return
      await ask('close').catch(() => undefined)
      await running.terminate()
    },
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
