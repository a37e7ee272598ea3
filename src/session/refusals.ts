/** Why commands are refused: each says what to do. */
import { type ErrorDetails, HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import type { SessionState } from './state.ts'

export function absent(session: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `There is no session "${session}". Check its id: \`list\` shows all sessions.`, {
    details: { reason: 'absent', session_id: session },
  })
}

export function noMessage(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `There is no message "${id}" in this session. Its pages of messages show their ids.`, {
    details: { reason: 'no message', message_id: id },
  })
}

export function noTask(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', 'There is no such task. `tasks` lists those of all sessions.', {
    details: { reason: 'no task', task_id: id },
  })
}

/** Of a session that is absent, a state does not tell which one. */
export function notFound(state: SessionState): HoldfastError {
  if (state.status === 'absent') return new HoldfastError('NOT_FOUND', 'There is no such session.', { details: { reason: 'absent' } })
  if (state.purged) {
    const message = 'The session was deleted and purged. Only a backup may still have it.'
    return new HoldfastError('NOT_FOUND', message, { details: { reason: 'purged', ...named(state) } })
  }
  return new HoldfastError('NOT_FOUND', 'The session was deleted. It can be restored until it is purged.', {
    details: { reason: 'deleted', ...named(state) },
  })
}

function named({ id }: SessionState): { readonly session_id?: string } {
  return id === null ? {} : { session_id: id }
}

/** A writer that is late must be told, and must not be taken for somebody who mistyped an id. */
export function gone(state: SessionState): HoldfastError {
  if (state.status === 'absent') return notFound(state)
  return conflict('The session was deleted, so nothing can be added to it. Restore it, or create it again.', {
    reason: 'deleted',
    ...named(state),
  })
}

export function exists(id: string): HoldfastError {
  return new HoldfastError('ALREADY_EXISTS', `The session "${id}" exists already.`, { details: { session_id: id } })
}

export function unexpected(expected: string, { version }: SessionState): HoldfastError {
  return conflict('The session has changed since the version that was expected. Read it again and decide anew.', {
    reason: 'version',
    expected,
    version,
  })
}

export function otherBody(what: string, value: string): HoldfastError {
  return conflict(`The ${what} "${value}" was used before, with another body. Use a new one.`, {
    reason: 'other body',
    [what.replace(' ', '_')]: value,
  })
}

export function someKnown(id: string): HoldfastError {
  return conflict(
    `Some messages of this batch were appended before ("${id}"), others were not. Send the batch as it was, or only new ones.`,
    {
      reason: 'part of the batch',
      message_id: id,
    },
  )
}

export function replacedMeanwhile(id: string, reason: 'replaced meanwhile' | 'other content'): HoldfastError {
  return conflict(`The message "${id}" has other content by now. Read it again.`, { reason, message_id: id })
}

/** `changed meanwhile`: whoever looked has to look again. `other messages`: he looked, and they are not what was expected. */
export function otherEnd(reason: 'changed meanwhile' | 'other messages'): HoldfastError {
  return conflict('The last messages of the session are not the ones that were expected. Read them again and decide anew.', { reason })
}

export function anew(): HoldfastError {
  return conflict('The session was deleted and created anew meanwhile. Read it again and decide anew.', { reason: 'created anew' })
}

/** Everything that grows has a limit: what a state lists is read and written whole with each checkpoint. */
export function tooMany(
  what: 'branches' | 'archives' | 'snapshots' | 'forks' | 'shares' | 'channels' | 'models',
  count: number,
): HoldfastError | undefined {
  const limit = LIMITS[what]
  if (count <= limit) return undefined
  return tooLarge(`A session has at most ${limit} ${what}, and this one has all of them. Go on in a fork or in another session.`, limit)
}

export function tooLarge(message: string, limit: number): HoldfastError {
  return new HoldfastError('PAYLOAD_TOO_LARGE', message, { details: { limit } })
}

export function conflict(message: string, details: ErrorDetails): HoldfastError {
  return new HoldfastError('CONFLICT', message, { details })
}
