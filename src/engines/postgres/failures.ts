/** What the refusals of PostgreSQL, and of the way to it, mean to a caller. */
import { HoldfastError, type Outcome } from '../../errors.ts'

/** The five characters of PostgreSQL, or the code of the operating system. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

function isSqlState(code: string | undefined): code is string {
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)
}

/** Nobody answers there, or not yet: nothing was sent. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected'
}

/**
 * The connection broke while something was under way: whether that was done cannot be told from here. Everything that did not come from the
 * server itself is of that kind, and so is a server that ends.
 */
export function isLost(error: unknown): boolean {
  const code = errorCode(error)
  if (error instanceof NotConnected || error instanceof TypeError || error instanceof HoldfastError) return false
  return !isSqlState(code) || code.startsWith('08') || ['57P01', '57P02', '57P05', '25P03', '25P04'].includes(code)
}

/** Other transactions stood in the way of this one, so the server undid all of it: the same may succeed now. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(errorCode(error) ?? '')
}

/** A serialization failure, a deadlock, a lock that was not available. */
const CONFLICTS = ['40001', '40P01', '55P03']

/** Nothing was done, and the same may succeed at once: two that waited for each other, or a server that begins. */
export function isPassing(error: unknown): boolean {
  const code = errorCode(error instanceof NotConnected ? error.cause : error)
  if (isSqlState(code)) return [...CONFLICTS, '57P03', '53300'].includes(code)
  return error instanceof NotConnected && !['ENOTFOUND', 'ERR_INVALID_URL', 'EACCES'].includes(code ?? '')
}

/** A pooler has given the connection to another server process, which does not know the statement, or knows another one by that name. */
export function isForgottenStatement(error: unknown): boolean {
  return ['26000', '42P05'].includes(errorCode(error) ?? '')
}

const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'The database refused the password. Check the user and the password in the address.',
  '28000': 'The database refused the user. Check the user in the address, and pg_hba.conf at the server.',
  '3D000': 'There is no such database. Create it (`createdb`), or check its name in the address.',
  '3F000': 'The schema of this store is missing. Run `holdfast migrate`.',
  '42P01': 'A table of this store is missing. Run `holdfast migrate`.',
  '42703': 'A column of this store is missing. Run `holdfast migrate`.',
  '42501': 'The database user has not the rights for this. docs/postgres.md lists what to grant.',
  '25006': 'This server may only be read: it is a replica, or set to read only. Name the primary in the address.',
  '53300': 'The server has no connection to give. Use fewer, raise max_connections, or put a pooler in front of it.',
  '53200': 'The server is out of memory. Try again.',
  '57P03': 'The server is starting up or shutting down. Try again.',
  '57014': 'The server cancelled the statement: it took longer than statement_timeout allows.',
  ECONNREFUSED: 'Nobody listens there. Check host and port, and whether the server runs.',
  ENOTFOUND: 'There is no host of that name. Check the address.',
  ETIMEDOUT: 'Nobody answers there. Check host, port and firewall.',
}

/** What the driver says by itself has no code. */
function adviceOn(message: string): string | undefined {
  return /password must be a/.test(message) ? 'The database asks for a password. Put one into the address, or give `password`.' : undefined
}

/** A statement failed. `what` is what could not be done, as a sentence without its end. */
export function failureOf(error: unknown, what: string, kind: 'read' | 'write', outcome: Outcome = 'none'): HoldfastError {
  if (error instanceof HoldfastError) return error
  const source = error instanceof NotConnected ? error.cause : error
  const code = errorCode(source)
  if (code === '53100' && kind === 'write') {
    return new HoldfastError('NO_SPACE', 'The disk of the database is full; nothing was written. Free some space and try again.', {
      cause: source,
    })
  }
  const message = source instanceof Error ? source.message : String(source)
  const advice =
    (code === undefined ? adviceOn(message) : ADVICE[code]) ?? (isLost(error) ? 'The connection to the database was lost.' : '')
  const told = outcome === 'unknown' ? ' It may have been written all the same: repeat it under the same ids.' : ''
  return new HoldfastError(kind === 'read' ? 'UNREADABLE' : 'UNAVAILABLE', `${what} (${code ?? message}). ${advice}${told}`.trim(), {
    cause: source,
    outcome,
    details: code === undefined ? {} : { code },
  })
}
