/** The way of one request: let in, recognised, checked, answered, counted. Every route goes it, and so does what is no route. */

import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { HoldfastError } from '../errors.ts'
import type { JsonObject } from '../record/record.ts'
import { checkId, invalid } from '../session/check.ts'
import { absent } from '../session/refusals.ts'
import { Handle, type WriteOptions } from '../store/handle.ts'
import type { Store } from '../store/store.ts'
import { addressOf, authenticate } from './authenticate.ts'
import { headerOf, readJson } from './body.ts'
import { otherSession, requireCaller } from './callers.ts'
import { damageHeader, knownDamage, withDamage } from './damage.ts'
import { endOfTick } from './end-of-tick.ts'
import { failureOf, okBody } from './envelope.ts'
import type { Place } from './fair-queue.ts'
import { guard } from './guard.ts'
import type { Holding } from './held-bytes.ts'
import { SERVER_LIMITS } from './limits.ts'
import type { ServerParts } from './parts.ts'
import type { Principal } from './principal.ts'
import type { Answer, Call, Route } from './route.ts'
import { tellSpan, traced } from './telemetry.ts'

const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)

const NO_KEY = '-'

/** What is known of a request when it ends. */
interface Trail {
  readonly id: string
  principal: Principal | undefined
  session: string | null
  whenAnswered?: () => void
}

export function serveRoute(parts: ServerParts, route: Route): (c: Context) => Promise<Response> {
  const method = route.method.toUpperCase()
  const { requestLog, load } = parts
  return (c) => {
    const startedMs = performance.now()
    const trail: Trail = { id: requestId(c), principal: undefined, session: null }
    const header = (name: string): string | undefined => headerOf(c, name)
    return traced({ method, route: route.path, requestId: trail.id, header }, async (span) => {
      let begun = false
      let response: Response
      try {
        load.begin()
        begun = true
        response = await perform(parts, route, c, trail)
      } catch (error) {
        response = await failed(parts, route, c, trail, error)
      } finally {
        if (begun) load.end()
        trail.whenAnswered?.()
      }
      const { status } = response
      const ms = performance.now() - startedMs
      tellSpan(span, { status, session: trail.session })
      requestLog.tell({ route, method, status, ms, id: trail.id, key: trail.principal?.id, session: trail.session })
      return response
    })
  }
}

async function perform(parts: ServerParts, route: Route, c: Context, trail: Trail): Promise<Response> {
  guard(parts.guard, headerOf(c, 'host'), headerOf(c, 'origin'))
  const principal = route.scope === 'anyone' ? anyone(parts) : await authenticate(parts, c)
  trail.principal = principal
  if (route.scope !== 'anyone') {
    parts.requests.spend(principal.id)
    requireCaller(principal, route)
  }
  // A share is read without a key: only the address of the reader is known.
  const payer = principal.id === NO_KEY ? `address ${addressOf(c)}` : principal.id
  const place = parts.queue.placeOf(payer, route.weight)
  const holding = parts.heldBytes.of(payer)
  whenClosed(c, trail, () => holding.end())
  await place.enter()
  try {
    return await answer(parts, route, { c, trail, principal, place, holding })
  } finally {
    place.leave(holding.bytes)
  }
}

/** What is known of a request once it may run. */
interface Admitted {
  readonly c: Context
  readonly trail: Trail
  readonly principal: Principal
  readonly place: Place
  readonly holding: Holding
}

/** Calls back when the client has read the answer or has left. Without a connection, as in a test, when the answer is made. */
function whenClosed(c: Context, trail: Trail, callback: () => void): void {
  const { outgoing } = (c.env ?? {}) as { readonly outgoing?: ServerResponse }
  if (outgoing === undefined) trail.whenAnswered = callback
  else outgoing.once('close', callback)
}

async function answer(parts: ServerParts, route: Route, admitted: Admitted): Promise<Response> {
  const { c, trail, principal, holding } = admitted
  const query = queryOf(route, c)
  const body = await bodyOf(route, c, holding)
  const { quotas } = parts.store.parts
  if (route.messages !== undefined && principal.kind !== 'nobody')
    await quotas?.admit({ key: principal.id }, { messages: route.messages(body) })
  const isCounted = quotas !== undefined && route.scope !== 'anyone' && (await quotas.isCounted(principal.id))
  const call = callOf(parts, route, admitted, query, body, isCounted)
  trail.session = route.reach === 'session' ? call.param('id') : null
  const handled = await route.handle(call)
  // What came together was read together (`body.ts`), and is answered together.
  if (body !== undefined) await endOfTick()
  if (route.scope === 'write' || route.scope === 'admin') await tellAudit(parts, route, trail, 200)
  if (!('result' in handled)) return handled
  const damage = handled.damage ?? knownDamage(route, call.store, trail.session)
  if (damage.some(({ accepted }) => accepted !== true)) parts.metrics.damaged.inc()
  const result = handled.damageInResult === true ? handled.result : withDamage(handled.result, damage)
  const text = okBody(result)
  holding.add(text.length)
  return respond(c, trail, 200, text, { ...headersOf(parts, c, handled), ...damageHeader(damage) })
}

function callOf(
  parts: ServerParts,
  route: Route,
  { c, principal, place, holding }: Admitted,
  query: unknown,
  body: unknown,
  isCounted: boolean,
): Call {
  const store = isCounted ? parts.stores.of(principal.space).withKey(principal.id) : parts.stores.of(principal.space)
  const param = (name: string): string => checkId(`The ${name} in the path`, c.req.param(name))
  return {
    c,
    parts,
    principal,
    holding,
    store,
    query,
    body,
    write: route.method === 'get' ? {} : writeOptions(c),
    param,
    rest: () => place.leave(holding.bytes),
    session: async ({ creates = false } = {}) => {
      const id = param('id')
      if (principal.session !== null && principal.session !== id) throw otherSession()
      if (principal.owner !== null) await requireOwner(store, id, principal.owner, creates)
      return isCounted ? store.session<JsonObject>(id) : parts.stores.session(principal.space, id)
    },
  }
}

/** Whoever is bound to an owner finds his sessions, and no sign of any others. */
export async function requireOwner(store: Store, id: string, owner: string, creates: boolean): Promise<void> {
  const state = await new Handle(store.parts, id).state()
  if (state.status !== 'absent' && state.owner === owner) return
  if (state.status !== 'absent' || !creates) throw absent(id)
  try {
    await store.create({ id, owner })
  } catch (error) {
    // Somebody else was quicker: then it is his, or not.
    if (!(error instanceof HoldfastError && error.code === 'ALREADY_EXISTS')) throw error
    await requireOwner(store, id, owner, false)
  }
}

function anyone({ store, nobody }: ServerParts): Principal {
  const { space } = store
  return (
    nobody ?? { id: NO_KEY, kind: 'nobody', space, scope: 'read', owner: null, session: null, secret: '', account: space, user: 'default' }
  )
}

/** Most requests have no query: what that comes to is worked out once. */
const withoutQuery = new WeakMap<Route, unknown>()

function queryOf(route: Route, c: Context): unknown {
  if (route.query === undefined) return {}
  const given = c.req.query()
  for (const _ in given) return checked(route.query, given, 'The query')
  const known = withoutQuery.get(route)
  if (known !== undefined) return known
  const none = checked(route.query, given, 'The query')
  withoutQuery.set(route, none)
  return none
}

async function bodyOf({ body, checkBody }: Route, c: Context, holding: Holding): Promise<unknown> {
  if (body === undefined) return undefined
  const value = (await readJson(c, holding)) ?? {}
  return checkBody === undefined ? checked(body, value, 'The body') : checkBody(value)
}

function checked(schema: z.ZodType, value: unknown, what: string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.slice(0, 20).map(({ path, message }) => ({ field: path.join('.'), message }))
  const [first] = problems
  const where = first === undefined || first.field === '' ? what : `${what}, at "${first.field}"`
  throw new HoldfastError('INVALID_ARGUMENT', `${where}: ${first?.message ?? 'it is not as it must be'}.`, {
    details: { validation_errors: problems },
  })
}

function writeOptions(c: Context): WriteOptions {
  const key = headerOf(c, 'idempotency-key')
  const expect = ifMatchOf(c) ?? c.req.query('expect')
  return { ...(key === undefined ? {} : { key: checkId('The Idempotency-Key', key) }), ...(expect === undefined ? {} : { expect }) }
}

function ifMatchOf(c: Context): string | undefined {
  const header = headerOf(c, 'if-match')
  if (header === undefined) return undefined
  const [, version] = /^(?:W\/)?"([^"]*)"$/.exec(header.trim()) ?? []
  if (version === undefined) throw invalid('If-Match takes one version, in quotes, as an ETag had it.')
  return version
}

/** No two processes have the same, nor do two requests of one: that is all that an id of a request is for. */
const processId = randomBytes(9).toString('base64url')
let requestCount = 0

function requestId(c: Context): string {
  const given = headerOf(c, 'x-request-id')
  return given !== undefined && /^[\w.:-]{1,100}$/.test(given) ? given : `${processId}-${(++requestCount).toString(36)}`
}

function headersOf({ guard: { origins } }: ServerParts, c: Context, { version, headers }: Partial<Answer>): Record<string, string> {
  const origin = origins.length === 0 ? undefined : headerOf(c, 'origin')
  return {
    ...headers,
    ...(version === undefined ? {} : { etag: `"${version}"` }),
    ...(origin !== undefined && origins.includes(origin) ? corsHeaders(origin) : {}),
  }
}

export function corsHeaders(origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'ETag, X-Request-Id, X-Next-Cursor, Link, Retry-After, Holdfast-Damage',
    vary: 'Origin',
  }
}

async function failed(parts: ServerParts, route: Route, c: Context, trail: Trail, error: unknown): Promise<Response> {
  const { status, body, unexpected } = failureOf(error, { ifMatch: headerOf(c, 'if-match') !== undefined })
  if (unexpected !== undefined) parts.log.error({ err: unexpected, request: trail.id, route: route.path }, 'unexpected')
  if (error instanceof HoldfastError && error.code === 'DAMAGED') parts.metrics.damaged.inc()
  if (status === 403 && trail.principal !== undefined) await tellAudit(parts, { ...route, auditsFirst: false }, trail, status)
  const retryAfter = error instanceof HoldfastError ? error.details.retry_after : undefined
  const headers: Record<string, string> = { ...headersOf(parts, c, {}) }
  if (retryAfter !== undefined || status === 503) headers['retry-after'] = String(retryAfter ?? 1)
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (parts.load.stopping || status === 413) headers.connection = 'close'
  return respond(c, trail, status, body, headers)
}

function respond(c: Context, { id }: Trail, status: number, body: string, extra: Record<string, string>): Response | Promise<Response> {
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': id,
    ...extra,
  }
  const encoding = body.length < SERVER_LIMITS.compressBytes ? undefined : encodingFor(headerOf(c, 'accept-encoding'))
  return encoding === undefined ? new Response(body, { status, headers }) : compressed(encoding, body, { status, headers })
}

async function compressed(
  encoding: 'br' | 'gzip',
  body: string,
  { status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Promise<Response> {
  const bytes =
    encoding === 'br' ? await compressBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }) : await compressGzip(body)
  const vary = headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding`
  return new Response(new Uint8Array(bytes), { status, headers: { ...headers, 'content-encoding': encoding, vary } })
}

function encodingFor(accepted: string | undefined): 'br' | 'gzip' | undefined {
  if (accepted === undefined) return undefined
  const offers = accepted.split(',').filter((offer) => !/;\s*q=0(?:\.0*)?\s*$/.test(offer))
  const has = (name: string): boolean => offers.some((offer) => offer.split(';')[0]?.trim() === name)
  return has('br') ? 'br' : has('gzip') ? 'gzip' : undefined
}

async function tellAudit({ audit }: ServerParts, route: Route, { id, principal, session }: Trail, status: number): Promise<void> {
  if (principal === undefined) return
  const action = `${route.method.toUpperCase()} ${route.path}`
  const deed = { key: principal.id, space: principal.space, action, session, status, request: id }
  if (route.auditsFirst === true) await audit.record(deed)
  else audit.count(deed)
}
