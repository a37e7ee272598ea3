/**
 * What a server answered: a result, or an error. Nothing in an answer is trusted: it may come from another program, from a proxy, or from a
 * newer server. What is not understood becomes a HoldfastError, and never counts as an acknowledgement.
 */
import { CODES, type ErrorCode, HoldfastError, type Outcome } from '../errors.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import { DAMAGE_HEADER, damageIn } from '../wire/damage.ts'

/** Makes a result out of what was sent. It may throw any error if that is not what it expects. */
export type Decode<Out> = (result: never, headers: Headers) => Out

/** What may have become of a request whose answer is not understood. A read changes nothing. */
function outcomeUnclear(method: string): Outcome {
  return method === 'GET' ? 'none' : 'unknown'
}

/** The result, or an error if the server sent one, or no answer of ours. */
export async function parsed(response: Response, method: string): Promise<{ readonly result: unknown } | HoldfastError> {
  let body: unknown
  try {
    body = await response.json()
  } catch (error) {
    return new HoldfastError('UNAVAILABLE', `What answered (${response.status}) is no Holdfast server, or it broke off.`, {
      cause: error,
      outcome: outcomeUnclear(method),
    })
  }
  const { status, result, error } = fieldsOf(body)
  if (response.ok && status === 'ok') return { result }
  if (response.ok && status !== 'error') return notUnderstood(new TypeError('It is neither a result nor an error'), method)
  return errorIn(fieldsOf(error), response.status, method)
}

export function understood<Out>(decode: Decode<Out>, result: unknown, { headers, method }: { headers: Headers; method: string }): Out {
  try {
    return decode(result as never, headers)
  } catch (error) {
    throw notUnderstood(error, method)
  }
}

/** The same result, with the places that it lacks. */
export function withDamage<Out extends object>(decode: Decode<Out>): Decode<Out & { readonly damage: readonly DamagedPlace[] }> {
  return (result, headers) => ({ ...decode(result, headers), damage: damageIn(result, headers.get(DAMAGE_HEADER)) })
}

/** An answer, or an event, of which this version can make nothing. */
export function notUnderstood(cause: unknown, method: string): HoldfastError {
  const why = (cause as Error).message
  const again = method === 'GET' ? '' : ' It may have been written: repeat it under the same ids.'
  const message = `The answer of the server was not understood: ${why}. The versions of client and server may differ: compare them.${again}`
  return new HoldfastError('UNAVAILABLE', message, { cause, outcome: outcomeUnclear(method), details: { retryable: false } })
}

function errorIn({ code, message, details }: Readonly<Record<string, unknown>>, status: number, method: string): HoldfastError {
  const { outcome: given, retryable, ...rest } = fieldsOf(details)
  const unclear = status >= 400 && status < 500 ? 'none' : outcomeUnclear(method)
  const outcome: Outcome = given === 'none' || given === 'unknown' ? given : unclear
  const text = typeof message === 'string' && message !== '' ? message : `The server answered with ${status}.`
  if (isKnown(code)) {
    const error = new HoldfastError(code, text, { outcome, details: rest })
    // Said only where the code alone would say otherwise.
    return error.retryable && retryable === false ? new HoldfastError(code, text, { outcome, details: { ...rest, retryable } }) : error
  }
  // A failure that the server did not expect: the same call may succeed.
  if (code === 'INTERNAL') return new HoldfastError('UNAVAILABLE', text, { outcome, details: rest })
  const named = typeof code === 'string' ? { server_code: code } : {}
  const final = AGAIN.has(status) ? {} : { retryable: false }
  return new HoldfastError(codeFor(status), text, { outcome, details: { ...rest, ...named, ...final } })
}

/** Statuses after which the same request can succeed a moment later. */
export const AGAIN: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504])

const BY_STATUS = new Map<number, ErrorCode>([
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'CONFLICT'],
  [412, 'FAILED_PRECONDITION'],
  [413, 'PAYLOAD_TOO_LARGE'],
  [429, 'RESOURCE_EXHAUSTED'],
  [501, 'UNIMPLEMENTED'],
  [504, 'DEADLINE_EXCEEDED'],
  [507, 'NO_SPACE'],
])

/** The code that is closest to one that this version does not know. */
function codeFor(status: number): ErrorCode {
  return BY_STATUS.get(status) ?? (status >= 400 && status < 500 && !AGAIN.has(status) ? 'INVALID_ARGUMENT' : 'UNAVAILABLE')
}

function isKnown(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(CODES, code)
}

/** The fields of an object; none of anything else. */
function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
