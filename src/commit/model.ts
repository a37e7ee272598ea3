/**
 * The model port: what summarises an archive and extracts memories from it. One call gets a bounded number of messages; longer archives
 * come in several calls, each with the overview that the one before gave. A model may be asked twice for the same archive, since workers
 * die; one answer counts.
 */

export interface PromptMessage {
  readonly id: string
  readonly role: string
  /** What was said, with tool calls and results, perhaps shortened. */
  readonly text: string
  /** Whether memories may be drawn from it: a message is extracted at most once, ever. */
  readonly extract: boolean
}

export interface SummaryRequest {
  /** The last good overview, which the new one continues; null for the first. */
  readonly previous: string | null
  readonly messages: readonly PromptMessage[]
  readonly signal: AbortSignal
}

export interface SummaryAnswer {
  /** One line: what these messages are about. */
  readonly abstract: string
  /** Markdown: goal, current state, decisions and facts, files and references, errors and corrections, open questions. */
  readonly overview: string
  readonly memories: readonly DraftMemory[]
  /** As the provider reported it. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}

export interface DraftMemory {
  /** Names what it is about, so that a later memory of the same replaces it, e.g. `preference: tea`. */
  readonly key: string
  readonly category: string
  /** Absent: what was known under the key no longer holds. */
  readonly text?: string
  /** Ids of messages; only of those that may be extracted. */
  readonly sources: readonly string[]
}

export interface Model {
  /** Recorded with what it makes, and in the session's usage. */
  readonly name: string
  /** How many tokens one request may have. */
  readonly inputTokens: number
  /** Throws ModelUnavailable, InputTooLong, or any other error, which spends an attempt. */
  summarise(request: SummaryRequest): Promise<SummaryAnswer>
}

/**
 * A model throws this if its provider cannot answer now: too many requests, a failure of its own, no connection, no quota. It does not count as an attempt.
 *
 * @example throw new ModelUnavailable('Too many requests.', { retryAfterMs: 2000 })
 */
export class ModelUnavailable extends Error {
  readonly retryAfterMs: number | undefined

  constructor(message: string, { retryAfterMs, cause }: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * A model throws this if a request is longer than its provider takes. The worker splits the request further.
 *
 * @example throw new InputTooLong('The provider takes 8,192 tokens.')
 */
export class InputTooLong extends Error {}
