/**
 * Any endpoint that speaks OpenAI's chat completions. It is asked for JSON of a fixed shape; what comes back is checked before it is
 * believed, and everything else is an error that says what was wrong. Which errors mean what:
 *
 *     429, 5xx, no connection, no quota          ModelUnavailable: costs no attempt, honours Retry-After
 *     a request longer than the context          InputTooLong: is split further
 *     anything else, also no answer in time      Error: costs an attempt
 *
 * A slow answer counts as the last kind since a request that always takes too long must not be repeated for ever. The key is in no
 * message of any error.
 */
import { DeadlinePassed, withDeadline } from '../../engine/deadline.ts'
import { checkAnswer } from '../answer.ts'
import { InputTooLong, type Model, ModelUnavailable, type PromptMessage, type SummaryAnswer, type SummaryRequest } from '../model.ts'
import { INSTRUCTIONS, INSTRUCTIONS_TOKENS, parseAnswer, promptFor, SCHEMA } from './openai-prompt.ts'

export interface OpenAiOptions {
  /** Up to and including the version, as in `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Not every endpoint wants one. */
  readonly apiKey?: string
  readonly model: string
  /** The largest number of tokens of a request. Defaults to 32,000. */
  readonly inputTokens?: number
  /** How long one request may take. Defaults to 120,000. */
  readonly timeoutMs?: number
  /** The largest number of tokens of an answer. Defaults to 4,000. */
  readonly maxOutputTokens?: number
  /** Sent with each request, besides those that every request has. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What an endpoint turned out not to know. */
interface Dialect {
  schema: boolean
  /** The name under which it takes the limit of the answer. */
  limit: 'max_tokens' | 'max_completion_tokens'
}

const ANSWER_BYTES = 4 * 1024 * 1024
const TOO_LONG =
  /context_length_exceeded|exceed_context_size|maximum context|context (?:length|window|size)|(?:prompt|input|request) (?:is )?too (?:long|large)|too many tokens|reduce the length/i
const NO_QUOTA = /insufficient_quota|quota exceeded|exceeded your (?:current )?quota|insufficient (?:balance|credits|funds)|billing/i

/**
 * Creates a model behind an endpoint that speaks the protocol of OpenAI's chat completions.
 *
 * @param options `inputTokens` defaults to 32,000, `timeoutMs` to 120,000, `maxOutputTokens` to 4,000.
 * @returns The model for a worker.
 * @throws TypeError when `model` is empty, or a limit is no whole number.
 * @example
 * const worker = new Worker(store, { model: openAi({ baseUrl: 'http://127.0.0.1:11434/v1', model: 'llama3.2' }) })
 */
export function openAi(options: OpenAiOptions): Model {
  return new OpenAiModel(options)
}

class OpenAiModel implements Model {
  readonly name: string
  readonly inputTokens: number
  readonly #url: string
  readonly #headers: Headers
  readonly #secrets: readonly string[]
  readonly #timeoutMs: number
  readonly #maxOutputTokens: number
  readonly #dialect: Dialect = { schema: true, limit: 'max_tokens' }

  constructor({ baseUrl, apiKey, model, inputTokens = 32_000, timeoutMs = 120_000, maxOutputTokens = 4000, headers = {} }: OpenAiOptions) {
    if (typeof model !== 'string' || model === '') throw new TypeError('openAi: `model` must be a text that is not empty.')
    for (const [name, value] of Object.entries({ inputTokens, timeoutMs, maxOutputTokens })) {
      if (!Number.isSafeInteger(value) || value < 1)
        throw new TypeError(`openAi: \`${name}\` must be a whole number from 1 on; got ${value}.`)
    }
    this.name = model
    // Escaping takes some room as well.
    this.inputTokens = Math.max(1, Math.floor((inputTokens - INSTRUCTIONS_TOKENS) * 0.9))
    this.#url = checkUrl(baseUrl)
    this.#timeoutMs = timeoutMs
    this.#maxOutputTokens = maxOutputTokens
    this.#secrets = [apiKey, ...Object.values(headers)].filter((value) => value !== undefined && value.length > 3) as string[]
    this.#headers = checkHeaders({ ...headers, 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) })
  }

  async summarise({ previous, messages, signal }: SummaryRequest): Promise<SummaryAnswer> {
    const prompt = promptFor(previous, messages)
    // An endpoint may take neither the schema nor the name of the limit, and says so one by one.
    for (let tries = 0; ; tries++) {
      const { status, headers, text } = await this.#post(prompt, signal)
      if (status === 200) return this.#answerOf(text, messages)
      if (status === 400 && tries < 2 && this.#adapt(text)) continue
      throw this.#failure(status, headers, text)
    }
  }

  async #post(prompt: string, signal: AbortSignal): Promise<{ status: number; headers: Headers; text: string }> {
    const request = {
      method: 'POST',
      headers: this.#headers,
      body: JSON.stringify(this.#body(prompt)),
      // A key must not follow to wherever an answer points.
      redirect: 'manual',
    } as const
    let answered = false
    try {
      return await withDeadline(this.#timeoutMs, signal, async (bounded) => {
        const response = await fetch(this.#url, { ...request, signal: bounded })
        answered = true
        return { status: response.status, headers: response.headers, text: await readText(response) }
      })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof DeadlinePassed) throw new Error(`The model's provider did not answer within ${this.#timeoutMs} ms.`)
      const why = this.#redacted(reasonOf(error))
      if (answered) throw new Error(`The answer of the model's provider broke off: ${why}.`)
      throw new ModelUnavailable(`The model's provider cannot be reached: ${why}.`)
    }
  }

  #body(prompt: string): object {
    const { schema, limit } = this.#dialect
    return {
      model: this.name,
      messages: [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: prompt },
      ],
      response_format: schema
        ? { type: 'json_schema', json_schema: { name: 'summary', strict: true, schema: SCHEMA } }
        : { type: 'json_object' },
      [limit]: this.#maxOutputTokens,
    }
  }

  /** Whether a refusal was about something that can be said otherwise, from now on. */
  #adapt(text: string): boolean {
    const dialect = this.#dialect
    if (dialect.limit === 'max_tokens' && text.includes('max_completion_tokens')) dialect.limit = 'max_completion_tokens'
    else if (dialect.schema && /response_format|json_schema|structured output/i.test(text)) dialect.schema = false
    else return false
    return true
  }

  #answerOf(text: string, messages: readonly PromptMessage[]): SummaryAnswer {
    try {
      const { answer, usage } = parseAnswer(text, messages)
      return checkAnswer({ ...answer, usage }, messages)
    } catch (error) {
      throw new Error(`The answer of ${this.name} cannot be used: ${this.#redacted((error as Error).message)}`)
    }
  }

  #failure(status: number, headers: Headers, text: string): Error {
    const said = this.#redacted(messageOf(text))
    const message = `The model's provider answered ${status}${said === '' ? '' : `: ${said}`}`
    const retryAfterMs = retryAfter(headers)
    if (status === 429 || status === 402 || NO_QUOTA.test(text)) return new ModelUnavailable(message, retryAfterMs)
    if (status === 413 || (status >= 400 && TOO_LONG.test(text))) return new InputTooLong(message)
    return status >= 500 || status === 408 ? new ModelUnavailable(message, retryAfterMs) : new Error(message)
  }

  /** Providers repeat what they were sent, or a part of it, when they refuse a key. */
  #redacted(text: string): string {
    const hidden = this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
    return hidden.replace(/\b(?:sk|key|pk)-[\w*.-]{4,}/gi, '[hidden]').slice(0, 300)
  }
}

function checkUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new TypeError('openAi: `baseUrl` must be an address that begins with http:// or https://.')
  if (url.username !== '' || url.password !== '')
    throw new TypeError('openAi: `baseUrl` must not hold a password; use `apiKey` or `headers`.')
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`
  return url.href
}

function checkHeaders(headers: Record<string, string>): Headers {
  try {
    return new Headers(headers)
  } catch {
    // The original says what the value is.
    throw new TypeError('openAi: `apiKey` or `headers` has characters that a header cannot carry.')
  }
}

/** The whole body, but not more than any answer has. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES) throw new Error(`it is longer than ${ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  const { code, message: inner } = (cause ?? {}) as { code?: unknown; message?: unknown }
  return [code, inner ?? message].filter((part) => typeof part === 'string' && part !== '').join(' ')
}

/** What the body of a refusal says. */
function messageOf(text: string): string {
  try {
    const { error, message, detail } = JSON.parse(text) as Record<string, unknown>
    const said = (error as { message?: unknown } | null)?.message ?? error ?? message ?? detail
    return typeof said === 'string' ? said : JSON.stringify(said ?? '')
  } catch {
    return text.replace(/\s+/g, ' ').trim()
  }
}

/** In seconds, as a date, or in milliseconds under a name of its own. */
function retryAfter(headers: Headers): { retryAfterMs?: number } {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  const value = headers.get('retry-after') ?? ''
  const seconds = /^\s*\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  const wait = Number.isFinite(ms) ? ms : seconds
  return Number.isFinite(wait) ? { retryAfterMs: Math.max(0, Math.round(wait)) } : {}
}
