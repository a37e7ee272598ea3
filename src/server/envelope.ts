/** What every answer looks like: `{status: "ok", result}` or `{status: "error", error: {code, message, details}}`. */
import { type ErrorCode, HoldfastError } from '../errors.ts'

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
  const { details, retryable, outcome } = error
  const all = { ...details, retryable, outcome }
  const isVersion = error.code === 'CONFLICT' && details.reason === 'version' && ifMatch
  const code: ErrorCode = isVersion ? 'FAILED_PRECONDITION' : error.code
  // A cursor that no longer fits was good once: it is gone, and the list has to be begun anew.
  const status = details.reason === 'cursor' ? 410 : isVersion ? 412 : error.status
  return { status, body: errorBody(code, status >= 500 ? withoutPaths(error.message) : error.message, all) }
}

function errorBody(code: string, message: string, details: object): string {
  return JSON.stringify({ status: 'error', error: { code, message, details } })
}

/** Errors of the system may name files of this machine, which no caller needs to know. A route of the server is no file. */
function withoutPaths(message: string): string {
  return message.replace(/(?:[A-Za-z]:)?(?:[\\/][^\s\\/'"`():,;]*[^\s\\/'"`():,;.]){2,}/g, (path) =>
    path.startsWith(`${BASE}/`) ? path : '(a file of the store)',
  )
}
