/** From the headers of a request to who calls. A key comes in `X-API-Key` or as a bearer; a browser has a cookie, a token that the ready link left. */
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import { HoldfastError } from '../errors.ts'
import type { KeyRecord } from './api-keys.ts'
import { headerOf } from './body.ts'
import type { FairQueue } from './fair-queue.ts'
import { SERVER_LIMITS } from './limits.ts'
import type { ServerParts } from './parts.ts'
import { type Principal, within } from './principal.ts'

const COOKIE = 'holdfast'

/** UNAUTHENTICATED if it is nobody that the store knows. */
export async function authenticate(parts: ServerParts, c: Context): Promise<Principal> {
  const given = headerOf(c, 'x-api-key') ?? bearerIn(headerOf(c, 'authorization'))
  const cookie = given === undefined ? cookieIn(headerOf(c, 'cookie')) : undefined
  const secret = given ?? cookie
  if (secret === undefined) {
    if (parts.nobody !== undefined) return inSubSpace(c, parts.nobody)
    throw refused('Send a key in X-API-Key, or as a bearer in Authorization.')
  }
  const found = secret.startsWith('hft_') ? await byToken(parts, secret, cookie !== undefined) : await byKey(parts, c, secret)
  if (found === undefined) {
    // Looked up first: behind a proxy everybody has one address, and whoever tries keys there must not lock out those who have one.
    parts.attempts.spend(addressOf(c))
    throw refused('This key is not known here: it was mistyped, it was revoked, or it has expired.')
  }
  return inSubSpace(c, found)
}

/** Where a request comes from, as far as the connection tells. */
export function addressOf(c: Context): string {
  const { incoming } = (c.env ?? {}) as { readonly incoming?: IncomingMessage }
  return incoming?.socket.remoteAddress ?? 'local'
}

async function byKey({ keys, lookups }: ServerParts, c: Context, key: string): Promise<Principal | undefined> {
  const record = keys.known(key) ?? (await lookUp(lookups, c, () => keys.find(key)))
  if (record === undefined) return undefined
  const { id, space, scope, owner, digest } = record
  return { id, kind: 'key', space, scope, owner, session: null, secret: digest, account: space, user: 'default' }
}

/** A client that sends one unknown key after the other slows down only itself. */
async function lookUp<T>(lookups: FairQueue, c: Context, work: () => Promise<T>): Promise<T> {
  const place = lookups.placeOf(addressOf(c))
  await place.enter()
  try {
    return await work()
  } finally {
    place.leave()
  }
}

async function byToken({ keys }: ServerParts, token: string, isCookie: boolean): Promise<Principal | undefined> {
  const verified = await keys.verify(token)
  if (verified === undefined) return undefined
  const { claims, record } = verified
  const { space, scope, owner, session } = claims
  const kind = isCookie ? 'cookie' : 'token'
  return { id: record.id, kind, space, scope, owner, session, secret: record.digest, account: space, user: 'default' }
}

/** Clients may name an account and a user. A token says already where it leads. */
function inSubSpace(c: Context, principal: Principal): Principal {
  const [account, user] = [headerOf(c, 'x-openviking-account'), headerOf(c, 'x-openviking-user')]
  if ((account === undefined && user === undefined) || principal.kind === 'token') return principal
  return {
    ...principal,
    space: within(principal.space, { account, user }),
    account: account ?? principal.account,
    user: user ?? principal.user,
  }
}

function bearerIn(header: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(header ?? '')?.[1]
}

function cookieIn(header: string | undefined): string | undefined {
  return new RegExp(`(?:^|; *)${COOKIE}=([^;]+)`).exec(header ?? '')?.[1]
}

/** A cookie that a script cannot read and another site cannot send. */
export function cookieFor({ keys, store }: ServerParts, record: KeyRecord): string {
  const expires = store.parts.clock.now() + SERVER_LIMITS.cookieSeconds * 1000
  const { id: key, space, scope, owner } = record
  const { token } = keys.issue(record, { key, space, scope, owner, session: null, expires })
  return `${COOKIE}=${token}; Path=/; Max-Age=${SERVER_LIMITS.cookieSeconds}; HttpOnly; SameSite=Strict`
}

/** Makes a browser forget it. */
export const NO_COOKIE = `${COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`

function refused(message: string): HoldfastError {
  return new HoldfastError('UNAUTHENTICATED', message)
}
