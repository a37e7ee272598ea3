/**
 * Requests to a server, and what becomes of them. Every write carries a key, so a request whose answer was lost, or that met a server out
 * of service, is sent again: it happens once. Needs nothing but `fetch`, so it works in a browser as well.
 */
import { HoldfastError, invalid, withOutcomeUnknown } from '../errors.ts'
import { notJson } from '../record/json-values.ts'
import { AGAIN, type Decode, parsed, understood } from './answer.ts'

export interface ConnectOptions {
  /** An API key or a session token. Defaults to the cookie of the browser. */
  readonly key?: string
  /** The largest number of retries of a request. Defaults to 5. */
  readonly retries?: number
  /** How long one attempt may take. Defaults to 60,000. */
  readonly timeoutMs?: number
  /** Headers for every request. Defaults to none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Defaults to the global `fetch`. */
  readonly fetch?: typeof fetch
}

export interface Asked {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  /** Sent as they are, instead of a body. */
  readonly bytes?: Uint8Array
  /** Of the operation; one is made for a write that has none. */
  readonly key?: string | undefined
  readonly expect?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** How long the server may take, if it is to wait. */
  readonly timeoutMs?: number
  /** Called with the headers of a stream before its first piece. */
  readonly onHeaders?: (headers: Headers) => void
}

/** A request whose body is text already: each attempt sends the same. */
interface Sent extends Omit<Asked, 'body'> {
  readonly text?: string | undefined
}

const BASE = '/api/v1'
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000

export class Transport {
  readonly #url: string
  readonly #options: ConnectOptions
  /** Of what is under way. */
  readonly #underWay = new Set<AbortController>()
  #closed: HoldfastError | undefined

  constructor(url: string, options: ConnectOptions) {
    checkUrl(url)
    this.#url = url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
    this.#options = options
  }

  /** Later requests are refused, and those under way are given up. */
  close(): void {
    this.#closed = new HoldfastError('CLOSED', 'The connection to the server was closed.')
    for (const controller of this.#underWay) controller.abort(this.#closed)
  }

  /** Asks until there is an answer, and decodes its result. A result that cannot be decoded acknowledges nothing. */
  async ask<Out>(method: string, path: string, decode: Decode<Out>, { body: value, ...asked }: Asked = {}): Promise<Out> {
    const { retries = 5 } = this.#options
    const text = value === undefined ? undefined : jsonOf(value)
    // The same one for every attempt: that is what makes it safe.
    const key = method === 'GET' ? undefined : (asked.key ?? globalThis.crypto.randomUUID())
    let unsure = false
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#attempt(method, path, { ...asked, key, text })
      const body = answer instanceof HoldfastError ? answer : await parsed(answer, method)
      if (!(answer instanceof HoldfastError || body instanceof HoldfastError))
        return understood(decode, body.result, { headers: answer.headers, method })
      const error = body as HoldfastError
      const mayHelp = answer instanceof HoldfastError || (AGAIN.has(answer.status) && error.details.retryable !== false)
      // The error describes the last attempt. An earlier one may have been carried out.
      if (attempt >= retries || !mayHelp) throw unsure ? withOutcomeUnknown(error) : error
      unsure ||= error.outcome === 'unknown'
      await this.#wait(attempt, answer instanceof HoldfastError ? 0 : Number(answer.headers.get('retry-after')) * 1000, asked.signal)
    }
  }

  /** Text that is too much for one answer, in pieces. Where it breaks off, nobody can go on: it has to be asked for again. */
  async *text(path: string, asked: Asked): AsyncGenerator<string> {
    const decoder = new TextDecoder()
    try {
      for await (const bytes of (await this.open(path, asked)) as unknown as AsyncIterable<Uint8Array>) {
        yield decoder.decode(bytes, { stream: true })
      }
    } catch (error) {
      if (error instanceof HoldfastError || asked.signal?.aborted === true) throw error
      throw new HoldfastError('UNAVAILABLE', 'The answer of the server broke off. Try again.', { cause: error })
    }
    const rest = decoder.decode()
    if (rest !== '') yield rest
  }

  /** Opens a stream. Not tried again here: whoever reads it knows where to go on. */
  async open(path: string, asked: Asked & { readonly lastEventId?: string | undefined }): Promise<ReadableStream<Uint8Array>> {
    const headers = { accept: 'text/event-stream', ...(asked.lastEventId === undefined ? {} : { 'last-event-id': asked.lastEventId }) }
    // It stays under way until this is closed, or its reader lets go.
    const outcome = await this.#send('GET', path, asked, headers, this.#begin(asked.signal))
    if (outcome instanceof HoldfastError) throw outcome
    if (outcome.ok && outcome.body !== null) {
      asked.onHeaders?.(outcome.headers)
      return outcome.body as ReadableStream<Uint8Array>
    }
    const body = await parsed(outcome, 'GET')
    throw body instanceof HoldfastError ? body : new HoldfastError('UNAVAILABLE', 'The server opened no stream.')
  }

  async #attempt(method: string, path: string, asked: Sent): Promise<Response | HoldfastError> {
    const { timeoutMs = asked.timeoutMs ?? 60_000 } = this.#options
    const controller = this.#begin(asked.signal)
    const late = setTimeout(() => controller.abort(new LateError()), timeoutMs)
    const headers = {
      accept: 'application/json',
      ...(asked.text === undefined ? {} : { 'content-type': 'application/json' }),
      ...(asked.bytes === undefined ? {} : { 'content-type': 'application/octet-stream' }),
      ...(asked.key === undefined ? {} : { 'idempotency-key': asked.key }),
    }
    const query = { ...asked.query, ...(asked.expect === undefined ? {} : { expect: asked.expect }) }
    try {
      return await this.#send(method, path, { ...asked, query }, headers, controller)
    } finally {
      clearTimeout(late)
      this.#underWay.delete(controller)
    }
  }

  async #send(
    method: string,
    path: string,
    { query = {}, text, bytes }: Sent,
    headers: Readonly<Record<string, string>>,
    { signal }: AbortController,
  ): Promise<Response | HoldfastError> {
    const { key, headers: always = {}, fetch: send = globalThis.fetch } = this.#options
    const words = Object.entries(query).filter(([, value]) => value !== undefined)
    const search = words.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join('&')
    try {
      return await send(`${this.#url}${BASE}${path}${search === '' ? '' : `?${search}`}`, {
        method,
        headers: { ...(key === undefined ? {} : { 'x-api-key': key }), ...always, ...headers },
        ...(text === undefined ? {} : { body: text }),
        ...(bytes === undefined ? {} : { body: bytes as Uint8Array<ArrayBuffer> }),
        signal,
      })
    } catch (error) {
      if (signal.aborted && !(signal.reason instanceof LateError)) throw signal.reason
      return new HoldfastError('UNAVAILABLE', `The server at ${this.#url} does not answer. Is it running?`, {
        cause: error,
        outcome: method === 'GET' ? 'none' : 'unknown',
      })
    }
  }

  /** Something that the caller, or closing, can give up. */
  #begin(signal: AbortSignal | undefined): AbortController {
    if (this.#closed !== undefined) throw this.#closed
    signal?.throwIfAborted()
    const controller = new AbortController()
    this.#underWay.add(controller)
    signal?.addEventListener('abort', () => controller.abort(signal.reason), { once: true, signal: controller.signal })
    return controller
  }

  /** Longer each time, never all at once; not sooner than the server said. */
  async #wait(attempt: number, leastMs: number, signal: AbortSignal | undefined): Promise<void> {
    const ms = Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) * (0.5 + Math.random())
    await pause(Math.max(ms, Number.isFinite(leastMs) ? Math.min(leastMs, LONGEST_WAIT_MS) : 0), signal)
  }
}

/** An attempt took too long; another one may not. */
class LateError extends Error {}

/** Resolves after so long, or when it is told to end. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}

function checkUrl(url: unknown): void {
  const { protocol } = typeof url === 'string' && URL.canParse(url) ? new URL(url) : { protocol: '' }
  if (protocol !== 'http:' && protocol !== 'https:')
    throw invalid(`The address of a server begins with http:// or https://; got ${JSON.stringify(url) ?? String(url)}.`)
}

function jsonOf(value: unknown): string {
  let text: string
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw invalid(`The call cannot be sent as JSON: ${(error as Error).message}`, error)
  }
  const found = notJson(value)
  if (found !== undefined) throw invalid(`The call cannot be sent as JSON: ${found}.`)
  return text
}
