/** Which kinds of callers a route admits. The check, the OpenAPI document and docs/protocol.md use this table. */
import { HoldfastError } from '../errors.ts'
import { type Caller, callerOf, type Principal, requireScope } from './principal.ts'
import type { Route } from './route.ts'

const WHOLE_SPACE = ['key', 'keyless'] as const
const OF_OWNER = [...WHOLE_SPACE, 'owner-key', 'owner-token'] as const
const OF_SESSION = [...OF_OWNER, 'session-token'] as const

/** The callers that a route admits by what it reaches, unless it names its own. */
const BY_REACH: Readonly<Record<Route['reach'], readonly Caller[]>> = {
  session: OF_SESSION,
  task: OF_SESSION,
  own: OF_OWNER,
  space: WHOLE_SPACE,
}

export function callersOf({ callers, reach }: Pick<Route, 'callers' | 'reach'>): readonly Caller[] {
  return callers ?? BY_REACH[reach]
}

/** PERMISSION_DENIED if the route is for another scope or for other callers. */
export function requireCaller(principal: Principal, route: Route): void {
  if (route.scope !== 'anyone') requireScope(principal, route.scope)
  const caller = callerOf(principal)
  if (callersOf(route).includes(caller)) return
  if (caller === 'session-token') throw otherSession()
  if (route.reach === 'space') throw otherOwner('This concerns the whole space, and this key is bound to one owner.')
  throw new HoldfastError('PERMISSION_DENIED', 'A token is made from a key. Call this with an API key.', { details: { reason: 'token' } })
}

export function otherOwner(message = 'This key is bound to another owner.'): HoldfastError {
  return new HoldfastError('PERMISSION_DENIED', message, { details: { reason: 'owner' } })
}

export function otherSession(): HoldfastError {
  return new HoldfastError('PERMISSION_DENIED', 'This token is good for one session only, and this is not it.', {
    details: { reason: 'session' },
  })
}
