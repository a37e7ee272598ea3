/**
 * The one error class of Holdfast and its closed set of codes.
 *
 * Every failure that a caller can meet is a `HoldfastError`; only a programmer's mistake (a wrong option, a wrong type) is a
 * `TypeError`. An error answers three questions: what to do (its message), whether trying again can help (`retryable`), and
 * whether anything happened (`outcome`). HTTP status and exit code come from the table below and from nowhere else.
 */

interface CodeFacts {
  readonly status: number
  readonly exitCode: number
  readonly retryable: boolean
}

const CODES = {
  INVALID_ARGUMENT: { status: 400, exitCode: 2, retryable: false },
  UNAUTHENTICATED: { status: 401, exitCode: 1, retryable: false },
  PERMISSION_DENIED: { status: 403, exitCode: 1, retryable: false },
  NOT_FOUND: { status: 404, exitCode: 3, retryable: false },
  ALREADY_EXISTS: { status: 409, exitCode: 4, retryable: false },
  CONFLICT: { status: 409, exitCode: 4, retryable: false },
  FAILED_PRECONDITION: { status: 412, exitCode: 4, retryable: false },
  PAYLOAD_TOO_LARGE: { status: 413, exitCode: 1, retryable: false },
  RESOURCE_EXHAUSTED: { status: 429, exitCode: 1, retryable: true },
  DAMAGED: { status: 500, exitCode: 1, retryable: false },
  UNIMPLEMENTED: { status: 501, exitCode: 1, retryable: false },
  UNSUPPORTED_VERSION: { status: 501, exitCode: 1, retryable: false },
  UNSUPPORTED_FILESYSTEM: { status: 501, exitCode: 1, retryable: false },
  UNAVAILABLE: { status: 503, exitCode: 1, retryable: true },
  UNREADABLE: { status: 503, exitCode: 1, retryable: true },
  CLOSED: { status: 503, exitCode: 1, retryable: false },
  DEADLINE_EXCEEDED: { status: 504, exitCode: 1, retryable: true },
  NO_SPACE: { status: 507, exitCode: 6, retryable: true },
} as const satisfies Record<string, CodeFacts>

export type ErrorCode = keyof typeof CODES

/** `none`: nothing happened, and nothing of it will appear later. `unknown`: it may have happened; repeat it under the same key or ids. */
export type Outcome = 'none' | 'unknown'

export interface HoldfastErrorOptions {
  readonly outcome?: Outcome
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/**
 * Every error that Holdfast throws on purpose. Its message says what to do.
 *
 * @example
 * try {
 *   await session.append({ role: 'user', content: 'Hello' }, { ids: ['m1'] })
 * } catch (error) {
 *   if (!(error instanceof HoldfastError) || error.outcome === 'none') throw error
 *   // It may have been written: repeat it under the same id.
 * }
 */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError'
  readonly code: ErrorCode
  /** Whether the same call can succeed later without being changed: by its code, unless its details say that it cannot. */
  readonly retryable: boolean
  readonly outcome: Outcome
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.outcome = options.outcome ?? 'none'
    this.details = options.details ?? {}
    this.retryable = CODES[code].retryable && this.details.retryable !== false
  }

  /** The HTTP status of this error. */
  get status(): number {
    return CODES[this.code].status
  }

  /** The exit code of a command that ends with this error. */
  get exitCode(): number {
    return CODES[this.code].exitCode
  }
}

/** The same error for a caller whose bytes were written before it came: whether they count cannot be told here. */
export function withOutcomeUnknown(error: unknown): unknown {
  if (!(error instanceof HoldfastError) || error.outcome === 'unknown') return error
  const { code, message, details } = error
  return new HoldfastError(code, `${message} It may have been written all the same: repeat it under the same ids.`, {
    details,
    cause: error,
    outcome: 'unknown',
  })
}
