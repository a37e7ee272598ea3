/** What the operating system's refusals mean to a caller. */
import type { Vanished } from '../../engine/port.ts'
import { HoldfastError, type Outcome } from '../../errors.ts'
import { errorCode } from './disk.ts'

export function isMissing(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Another program put something else there than a file: a directory, a pipe or a loop of links. */
export function isStrange(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'EISDIR' || code === 'ELOOP' || code === 'ENXIO'
}

export function isFull(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** The file may be read but not written. */
export function isReadOnly(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
}

/** The system has no more files or memory to give; nothing was tried. */
export function isExhausted(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM'
}

/** A read failed: the session is neither absent nor damaged, it cannot be seen just now. */
export function unreadable(error: unknown, what: string): HoldfastError {
  if (error instanceof HoldfastError) return error
  const code = errorCode(error)
  if (isExhausted(error)) return exhausted(error, what, 'none')
  const advice = isReadOnly(error) ? 'Check the owner and the rights of the store.' : 'Check the disk; nothing was changed.'
  return new HoldfastError('UNREADABLE', `${what} could not be read (${code ?? String(error)}). ${advice}`, { cause: error })
}

/** Nothing is wrong with the store: the same call succeeds once there are files or memory again. */
function exhausted(error: unknown, what: string, outcome: Outcome): HoldfastError {
  const message = `${what} could not be opened: the system is out of files or memory (${errorCode(error)}). Raise the limit (ulimit -n) or try again.`
  return new HoldfastError('UNAVAILABLE', message, { cause: error, outcome })
}

/** A write failed and nothing of it will count. */
export function unwritable(error: unknown, what: string, outcome: Outcome = 'none'): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (isFull(error)) return noSpace(error)
  if (isExhausted(error)) return exhausted(error, what, outcome)
  const code = errorCode(error) ?? String(error)
  const advice = isReadOnly(error)
    ? 'The store may only be read here; check its owner, rights and mount.'
    : 'Check the disk, then try again.'
  return new HoldfastError('UNAVAILABLE', `${what} could not be written (${code}). ${advice}`, { cause: error, outcome })
}

export function noSpace(cause?: unknown): HoldfastError {
  return new HoldfastError(
    'NO_SPACE',
    'The disk is full; nothing was written. Free some space (`holdfast purge` removes deleted sessions) and try again.',
    {
      cause,
    },
  )
}

/** Bytes that a watermark covers are no longer there. */
export function vanishedError({ from, to }: Vanished, outcome: Outcome): HoldfastError {
  return new HoldfastError(
    'DAMAGED',
    `Bytes of this session have vanished: its journal reached position ${to}, and is cut or replaced at ${from}. ` +
      'Restore it with `holdfast restore-backup <backup> --session <id>`, or run `holdfast accept-damage <id>` to continue without them.',
    { outcome, details: { reason: 'vanished', from, to } },
  )
}

/** What was written is in a file that is no longer part of the store. */
export function replaced(): HoldfastError {
  return new HoldfastError(
    'UNAVAILABLE',
    'The file of this journal was removed or replaced while it was written to. Check what did that, then repeat this under the same ids.',
    { outcome: 'unknown', details: { reason: 'file replaced' } },
  )
}
