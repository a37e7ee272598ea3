/** What the operating system's refusals mean to a caller. */
import { HoldfastError, type Outcome } from '../../errors.ts'
import { errorCode } from './disk.ts'

export function isMissing(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
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
  if (isExhausted(error)) {
    return new HoldfastError(
      'UNAVAILABLE',
      `${what} could not be opened: the system is out of files or memory (${code}). Raise the limit (ulimit -n) or try again.`,
      {
        cause: error,
      },
    )
  }
  const advice = isReadOnly(error) ? 'Check the owner and the rights of the store.' : 'Check the disk; nothing was changed.'
  return new HoldfastError('UNREADABLE', `${what} could not be read (${code ?? String(error)}). ${advice}`, { cause: error })
}

/** A write failed and nothing of it will count. */
export function unwritable(error: unknown, what: string, outcome: Outcome = 'none'): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (isFull(error)) return noSpace(error)
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
