/**
 * The one error class of Holdfast and its closed set of codes.
 *
 * Every failure that a caller can meet is a `HoldfastError`, a wrong argument too (INVALID_ARGUMENT). A few mistakes in the code
 * around Holdfast are a `TypeError`. An error has four parts: what to do (its message), whether trying again can help (`retryable`),
 * whether anything happened (`outcome`), and which case it is (`details.reason`). HTTP status and exit code come from the table below and from nowhere else.
 *
 * Where one code covers several cases, `details.reason` names the case. `REASONS` lists all of them; docs/errors.md shows both tables.
 */

interface CodeFacts {
  readonly status: number
  readonly exitCode: number
  readonly retryable: boolean
}

/** Every code, with its HTTP status, its exit code, and whether the same call can succeed later. */
export const CODES = {
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

/**
 * What a caller does about an error before it calls again.
 *
 * - `repeat`: send the same call again, under the same ids.
 * - `reread`: read the session again and decide again.
 * - `change`: change the call. The same call never succeeds.
 * - `repair`: somebody has to repair or open something first. The message names the command. Then the same call can succeed.
 */
type RetryAdvice = 'repeat' | 'reread' | 'change' | 'repair'

interface ReasonFacts {
  /** The codes that come with this reason. */
  readonly codes: readonly [ErrorCode, ...ErrorCode[]]
  /** The HTTP status, where it is not that of the code. */
  readonly status?: number
  readonly retry: RetryAdvice
  readonly meaning: string
}

/** Every value of `details.reason`. Values are part of the interface over HTTP: they never change. */
export const REASONS = {
  absent: { codes: ['NOT_FOUND'], retry: 'change', meaning: 'No session has this id.' },
  purged: { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The session was deleted and purged. Only a backup has it.' },
  deleted: {
    codes: ['NOT_FOUND', 'CONFLICT'],
    retry: 'repair',
    meaning: 'The session was deleted. You can restore it until it is purged.',
  },
  'no message': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The session has no message with this id.' },
  'no snapshot': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The session has no snapshot of this name.' },
  'no archive': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The session has no archive of this number.' },
  'no tool result': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The session has no tool result with this id.' },
  'no task': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'No task has this id.' },
  'no share': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The share was revoked, has expired, or never existed.' },
  'no API key': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'No API key of the space has this id.' },
  'no token': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The session token was revoked, has expired, or never existed.' },
  'no path': { codes: ['NOT_FOUND'], retry: 'repair', meaning: 'There is nothing readable at a path to import.' },
  'no store': { codes: ['NOT_FOUND'], retry: 'repair', meaning: 'There is no store in this directory.' },
  'no backup': { codes: ['NOT_FOUND'], retry: 'repair', meaning: 'There is no backup in this directory, or it lacks the session.' },
  'no route': { codes: ['NOT_FOUND'], retry: 'change', meaning: 'The server has no such route or file.' },
  version: {
    codes: ['CONFLICT', 'FAILED_PRECONDITION'],
    retry: 'reread',
    meaning: 'The session has changed since the version that you expected. With `If-Match`, the code is `FAILED_PRECONDITION`.',
  },
  'other body': { codes: ['CONFLICT'], retry: 'change', meaning: 'You used this message id or idempotency key before, with another body.' },
  'part of the batch': {
    codes: ['CONFLICT'],
    retry: 'change',
    meaning: 'Some messages of this batch were appended before, others were not.',
  },
  'replaced meanwhile': { codes: ['CONFLICT'], retry: 'reread', meaning: 'Another caller replaced the message first.' },
  'other content': { codes: ['CONFLICT'], retry: 'reread', meaning: 'The message does not have the content that you expected.' },
  'changed meanwhile': { codes: ['CONFLICT'], retry: 'reread', meaning: 'Another caller changed the last messages first.' },
  'other messages': { codes: ['CONFLICT'], retry: 'reread', meaning: 'The last messages are not the ones that you expected.' },
  'created anew': { codes: ['CONFLICT'], retry: 'reread', meaning: 'The session was deleted and created again during this call.' },
  'name taken': { codes: ['CONFLICT'], retry: 'change', meaning: 'A message has the name of the snapshot as its id.' },
  'not empty': { codes: ['CONFLICT'], retry: 'change', meaning: 'There are other files where the store is to be restored.' },
  'other records': {
    codes: ['CONFLICT'],
    retry: 'change',
    meaning: 'Two copies of a session hold different records. Nothing was changed.',
  },
  'not completed': { codes: ['CONFLICT'], retry: 'change', meaning: 'The task of the archive is not completed, so it has no memories.' },
  'not deleted': { codes: ['CONFLICT'], retry: 'change', meaning: 'The session is not deleted, so there is nothing to restore.' },
  erased: { codes: ['CONFLICT'], retry: 'change', meaning: 'The message was erased and cannot get content again.' },
  lease: { codes: ['CONFLICT'], retry: 'change', meaning: 'Another worker holds the lease of this task, or the task has ended.' },
  ended: { codes: ['CONFLICT'], retry: 'change', meaning: 'The task has ended.' },
  key: { codes: ['CONFLICT'], retry: 'change', meaning: 'This idempotency key created another API key before.' },
  changed: { codes: ['CONFLICT'], retry: 'repeat', meaning: 'Another process wrote to the session during the restore.' },
  cursor: {
    codes: ['INVALID_ARGUMENT'],
    status: 410,
    retry: 'change',
    meaning: 'The cursor does not fit this list. Start at the first page.',
  },
  'nothing to undo': { codes: ['FAILED_PRECONDITION'], retry: 'change', meaning: 'No revert is left to undo.' },
  'not encrypted': { codes: ['FAILED_PRECONDITION'], retry: 'change', meaning: 'The store has no keys, because it is not encrypted.' },
  'no summary': { codes: ['FAILED_PRECONDITION'], retry: 'repair', meaning: 'The task failed or was cancelled. Retry the task first.' },
  'old tables': {
    codes: ['FAILED_PRECONDITION'],
    retry: 'repair',
    meaning: 'The tables in PostgreSQL are of an earlier version. Run `holdfast migrate`.',
  },
  scope: { codes: ['PERMISSION_DENIED'], retry: 'change', meaning: 'The key or token lacks the scope that the call needs.' },
  owner: { codes: ['PERMISSION_DENIED'], retry: 'change', meaning: 'The key or token is bound to an owner, and the call is not for it.' },
  session: { codes: ['PERMISSION_DENIED'], retry: 'change', meaning: 'The token is for another session.' },
  token: { codes: ['PERMISSION_DENIED'], retry: 'change', meaning: 'The call needs an API key. A token cannot make it.' },
  space: { codes: ['PERMISSION_DENIED'], retry: 'change', meaning: 'The call needs a key of the space of the server.' },
  host: { codes: ['PERMISSION_DENIED'], retry: 'change', meaning: 'The server does not accept this `Host` header.' },
  origin: { codes: ['PERMISSION_DENIED'], retry: 'change', meaning: 'The server does not accept pages of this origin.' },
  'sync failed': { codes: ['UNAVAILABLE'], retry: 'repeat', meaning: 'The disk failed to sync. The next attempt continues in a new file.' },
  'file replaced': { codes: ['UNAVAILABLE'], retry: 'repair', meaning: 'A file of the journal was removed or replaced during the write.' },
  'store moved': {
    codes: ['UNAVAILABLE'],
    retry: 'repair',
    meaning:
      'The directory of the store was unmounted, moved or replaced while the process had it open. It continues when the directory is back.',
  },
  'not exclusive': {
    codes: ['UNAVAILABLE'],
    retry: 'repair',
    meaning: 'A store that you opened with `exclusive: true` was opened again, in this process or another one.',
  },
  'no master key': { codes: ['UNREADABLE'], retry: 'repair', meaning: 'The store is encrypted and was opened without its master key.' },
  'wrong master key': { codes: ['UNREADABLE'], retry: 'repair', meaning: 'This master key did not wrap the data keys of the store.' },
  'no session key': {
    codes: ['UNREADABLE', 'NOT_FOUND'],
    retry: 'change',
    meaning: 'The data key of the session was destroyed, or a backup lacks it.',
  },
  rotten: { codes: ['DAMAGED'], retry: 'repair', meaning: 'The bytes are not what was written.' },
  zeros: { codes: ['DAMAGED'], retry: 'repair', meaning: 'The bytes are zeros.' },
  missing: { codes: ['DAMAGED'], retry: 'repair', meaning: 'A file or a line is missing.' },
  vanished: { codes: ['DAMAGED'], retry: 'repair', meaning: 'The journal reached further than it does now.' },
  identity: { codes: ['DAMAGED'], retry: 'repair', meaning: 'The files of the journal belong to another session.' },
  histories: { codes: ['DAMAGED'], retry: 'repair', meaning: 'The backup holds segments of two histories of the session.' },
} as const satisfies Record<string, ReasonFacts>

/** A value of `details.reason`. A newer server may send one that this version does not list. */
export type ErrorReason = keyof typeof REASONS

/** What an error carries for programs: the case in `reason`, and values such as ids and limits. */
export interface ErrorDetails {
  readonly reason?: ErrorReason | undefined
  readonly [name: string]: unknown
}

/** `none`: nothing happened, and nothing of it will appear later. `unknown`: it may have happened; repeat it under the same key or ids. */
export type Outcome = 'none' | 'unknown'

export interface HoldfastErrorOptions {
  readonly outcome?: Outcome
  readonly details?: ErrorDetails
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
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.outcome = options.outcome ?? 'none'
    this.details = options.details ?? {}
    this.retryable = CODES[code].retryable && this.details.retryable !== false
  }

  /** The HTTP status of this error. */
  get status(): number {
    return factsOf(this.details.reason)?.status ?? CODES[this.code].status
  }

  /** The exit code of a command that ends with this error. */
  get exitCode(): number {
    return CODES[this.code].exitCode
  }
}

/** Undefined for a reason that only a newer server has. */
function factsOf(reason: ErrorReason | undefined): ReasonFacts | undefined {
  return reason !== undefined && Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined
}

/** What a caller handed in is wrong. */
export function invalid(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', message, cause === undefined ? {} : { cause })
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
