/** Sessions that come from others: forks, which share a past, and children, the sessions of sub-agents. */
import { hash } from 'node:crypto'
import { HoldfastError } from '../errors.ts'
import { checkId } from '../session/check.ts'
import { checkCallersDescription } from '../session/check-policies.ts'
import type { Outcome } from '../session/command.ts'
import * as decide from '../session/decide.ts'
import type { Description } from '../session/records.ts'
import type { Parent } from '../session/state.ts'
import { Handle } from './handle.ts'
import { admit, admitAmount } from './messages/admission.ts'
import type { StoreParts } from './parts.ts'

export interface ForkRequest {
  readonly kind: 'fork' | 'child'
  readonly id: string | undefined
  readonly key: string | undefined
  /** The version that the parent must still have. */
  readonly expect: string | undefined
  /** When it happened, of what is imported. */
  readonly when?: string | undefined
  readonly message: string | null
  /** The incarnation of the parent in which that message was found. */
  readonly born: number | undefined
  readonly description: Description
  /** What the new session has of its parent, as that was when it granted it. */
  readonly inherit: (granted: Outcome) => object
}

/** Makes a session from another one, and returns its id. */
export async function createFork(
  parent: Handle<StoreParts>,
  { kind, id, key, expect, when, message, born, description, inherit }: ForkRequest,
): Promise<string> {
  const { space, ids, clock } = parent.parts
  // Derived from the key, so that a call that is repeated makes one session.
  const made = (): string =>
    key === undefined ? ids.next(clock.now()) : hash('sha256', JSON.stringify([space, parent.id, kind, key]), 'hex').slice(0, 32)
  const fork = new Handle(parent.parts, id === undefined ? made() : checkId('The id of the new session', id))
  if (fork.id === parent.id) throw new HoldfastError('ALREADY_EXISTS', 'A session cannot come from itself. Choose another id.')
  if (parent.parts.quotas !== undefined) await admitAmount(fork, {})
  const wanted = checkCallersDescription(admit(parent.parts, fork.id, 'description', description))
  const terms = fork.terms(kind, { of: parent.id, message, ...wanted }, key === undefined ? {} : { key })
  // The grant comes first: from then on nothing that the new session reaches is purged. If the process dies behind it, a grant is left
  // that nobody uses; repeating the call finds it, and `doctor` tells of it.
  const granted = await parent.submit({ born, expect }, (full) => decide.grant(full, { session: fork.id, kind, message }))
  const from: Parent = { session: parent.id, kind, message }
  const session = { space, session: fork.id, from, ...inherit(granted), ...wanted }
  try {
    await fork.submit({ ...terms, at: when }, (full) => decide.create(full, session))
  } catch (error) {
    const refused = error instanceof HoldfastError && error.outcome === 'none'
    // Somebody else may have made the same session from the same parent, on the strength of this very grant.
    const used = refused && (await fork.state()).parent?.session === parent.id
    if (refused && !used && granted.placed !== undefined) await parent.submit({}, () => decide.release(fork.id, granted.before.born))
    throw error
  }
  return fork.id
}
