/** Which session a line of a journal belongs to. */
import { decodeLine } from '../record/line.ts'
import type { SessionCreated } from './records.ts'
import type { SessionState } from './state.ts'

/** Undefined if the line does not hold it, is spoiled, or is encrypted. */
export function identityOf(line: Uint8Array): { readonly space: string; readonly id: string } | undefined {
  const decoded = decodeLine(line)
  if (decoded.kind !== 'record') return undefined
  const { type, state, ...payload } = decoded.record
  const { space, session } = payload as Partial<SessionCreated>
  if (type === 'session.created') return named(space, session)
  return type === 'checkpoint' ? named((state as Partial<SessionState>)?.space, (state as Partial<SessionState>)?.id) : undefined
}

function named(space: unknown, id: unknown): { readonly space: string; readonly id: string } | undefined {
  return typeof space === 'string' && typeof id === 'string' ? { space, id } : undefined
}
