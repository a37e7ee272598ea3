/** What every answer looks like: `{status: "ok", result}` or `{status: "error", error: {code, message, details}}`. */
import { HoldfastError } from '../errors.ts'

export interface Failure {
  readonly status: number
  readonly body: string
  /** Told to the log only. */
  readonly unexpected?: unknown
}

export function okBody(result: unknown): string {
  return `{"status":"ok","result":${JSON.stringify(result ?? null)}}`
}

/** Every route is below this path. */
export const BASE = '/api/v1'

/** A failed `If-Match` is a failed precondition; the same condition asked for otherwise is a conflict. */
export interface FailureContext {
  readonly ifMatch: boolean
}

export function failureOf(error: unknown, { ifMatch }: FailureContext): Failure {
  if (!(error instanceof HoldfastError)) {
    const details = { retryable: false, outcome: 'unknown' }
    const message = 'Something went wrong in the server. Its log says more under the id of this request.'
    return { status: 500, body: errorBody('INTERNAL', message, details), unexpected: error }
  }
  const isVersion = error.code === 'CONFLICT' && error.details.reason === 'version' && ifMatch
  const { code, status, message, details, retryable, outcome } = isVersion ? failedPrecondition(error) : error
  return { status, body: errorBody(code, status >= 500 ? withoutPaths(message) : message, { ...details, retryable, outcome }) }
}

function failedPrecondition({ message, details, outcome }: HoldfastError): HoldfastError {
  return new HoldfastError('FAILED_PRECONDITION', message, { outcome, details: { ...details, reason: 'version' } })
}

function errorBody(code: string, message: string, details: object): string {
  return JSON.stringify({ status: 'error', error: { code, message, details } })
}

/** An error inside an answer that is no failure itself. */
export function partialFailure({ code, message }: HoldfastError): HoldfastError {
  return new HoldfastError(code, withoutPaths(message))
}

/** Errors of the system may name files of this machine, which no caller needs to know. A route of the server is no file. */
function withoutPaths(message: string): string {
  return message.replace(/(?:[A-Za-z]:)?(?:[\\/][^\s\\/'"`():,;]*[^\s\\/'"`():,;.]){2,}/g, (path) =>
    path.startsWith(`${BASE}/`) ? path : '(a file of the store)',
  )
}
