/** Who calls, and what he may. A space is all that a caller ever sees; inside it he may be bound to one owner, or to one session. */

import { KEY_SPACE, STORE_SPACE } from '../engine/names.ts'
import { HoldfastError } from '../errors.ts'
import { checkId, invalid } from '../session/check.ts'

export const SCOPES = ['read', 'write', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

export interface Principal {
  /** Of the key, whatever was made from it. */
  readonly id: string
  readonly kind: 'key' | 'token' | 'cookie' | 'nobody'
  readonly space: string
  /** The highest one that he has; it includes those before it. */
  readonly scope: Scope
  readonly owner: string | null
  readonly session: string | null
  /** What only the server and its store know of the key: secrets of a repeated call are derived from it. */
  readonly secret: string
  readonly account: string
  readonly user: string
}

/** Every kind of caller, and how a server recognises it. */
export const CALLERS = {
  key: 'an API key for the whole space, or the cookie of a browser that signed in with one',
  'owner-key': 'an API key that is bound to one owner, or the cookie of a browser that signed in with one',
  'owner-token': 'a token from `POST /tokens` for the sessions of one owner',
  'session-token': 'a token from `POST /tokens` for one session',
  keyless: 'no credential, on a server that runs without keys',
  'share-token': 'the token of a share, in the path',
} as const satisfies Record<string, string>

export type Caller = keyof typeof CALLERS

export function callerOf({ kind, owner, session }: Principal): Caller {
  if (kind === 'nobody') return 'keyless'
  if (session !== null) return 'session-token'
  if (kind === 'token') return 'owner-token'
  return owner === null ? 'key' : 'owner-key'
}

export function includes(has: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(has) >= SCOPES.indexOf(needed)
}

export function requireScope({ scope }: Principal, needed: Scope): void {
  if (!includes(scope, needed)) {
    throw new HoldfastError('PERMISSION_DENIED', `This needs a key with the scope "${needed}"; this one has "${scope}".`, {
      details: { reason: 'scope', needed, scope },
    })
  }
}

/** A space that keys can be given for: the store's own are for nobody. */
export function checkSpace(space: unknown): string {
  const checked = checkId('The name of a space', space)
  if ([STORE_SPACE, KEY_SPACE].includes(checked.split(SEPARATOR)[0] as string))
    throw invalid('This space is the store’s own. Choose another name.')
  return checked
}

/** No name of a space that somebody may choose has it, so none can be that of a sub-space. */
const SEPARATOR = '\u001f'

export interface SubSpace {
  readonly account?: string | undefined
  readonly user?: string | undefined
}

/** A space inside a space: another one for each account and user that a client names, none of which leads out of it. */
export function within(space: string, { account = '', user = '' }: SubSpace): string {
  if (account === '' && user === '') return space
  if (account.includes(SEPARATOR) || user.includes(SEPARATOR)) throw invalid('Names of accounts and users have no control characters.')
  return checkId('The space of this account and user', [space, account, user].join(SEPARATOR))
}
