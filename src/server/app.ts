/** The application: the route table, and what stands beside it for operators and browsers. Takes requests and gives answers; knows no socket. */
import { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { STORE_SPACE } from '../engine/names.ts'
import { HoldfastError } from '../errors.ts'
import type { KeyRecord } from './api-keys.ts'
import { addressOf, authenticate, cookieFor, NO_COOKIE } from './authenticate.ts'
import { readJson } from './body.ts'
import { BASE, failureOf } from './envelope.ts'
import { guard } from './guard.ts'
import { SERVER_LIMITS } from './limits.ts'
import { MCP_ROUTE } from './mcp.ts'
import { documentOf, register } from './openapi.ts'
import { docsPage, pageResponse } from './pages.ts'
import type { ServerParts } from './parts.ts'
import { requireScope } from './principal.ts'
import type { Route } from './route.ts'
import { UNLISTED } from './routes/shares.ts'
import * as schemas from './schemas.ts'
import { corsHeaders, serveRoute } from './serve-route.ts'
import { NOT_SERVED, ROUTES } from './table.ts'
import { WebFiles } from './web-files.ts'

export function makeApp(parts: ServerParts): OpenAPIHono {
  const app = new OpenAPIHono()
  const unknown = serveRoute(parts, UNKNOWN_ROUTE)
  for (const route of ROUTES) {
    app.on(route.method, patternOf(route), onlyAt(route, serveRoute(parts, route), unknown))
    register(app, route)
  }
  app.post(MCP_ROUTE.path, serveRoute(parts, MCP_ROUTE))
  app.options('*', (c) => preflight(parts, c))
  addPages(app, parts)
  addProbes(app, parts)
  // Not a route for all that is left: every request would match two of them, and go the long way.
  app.notFound((c) => {
    if (c.req.path.startsWith(`${BASE}/`)) return unknown(c)
    return failure(
      new HoldfastError('NOT_FOUND', `There is nothing at ${c.req.path.slice(0, 200)}. /docs lists all routes.`, {
        details: { reason: 'no route' },
      }),
    )
  })
  return app
}

/**
 * Hono's quick router, one regular expression for all routes, takes no word where another route has something to be filled in, and one such
 * route would send all requests through the slow one. So that word is taken for something filled in, and compared.
 */
const WORD = { path: '/tasks/retry', pattern: '/tasks/:word', word: 'retry' } as const

function patternOf({ path }: Route): string {
  return `${BASE}${path === WORD.path ? WORD.pattern : path.replace(/\{(\w+)\}/g, ':$1')}`
}

type Handler = (c: Context) => Promise<Response>

function onlyAt({ path }: Route, handler: Handler, unknown: Handler): Handler {
  return path === WORD.path ? (c) => (c.req.param('word') === WORD.word ? handler(c) : unknown(c)) : handler
}

/** What is below /api/v1 and in no table. Also for this a key is needed: whoever has none is told nothing. */
const UNKNOWN_ROUTE: Route = {
  method: 'get',
  path: '/*',
  tag: '',
  summary: '',
  scope: 'read',
  reach: 'task',
  result: schemas.Written,
  handle: async ({ c }) => {
    const route = `${c.req.method} ${c.req.path.slice(0, 200)}`
    const [first = ''] = c.req.path.slice(BASE.length + 1).split('/')
    if (NOT_SERVED.has(first)) {
      throw new HoldfastError('UNIMPLEMENTED', `${route} is not served here. docs/protocol.md lists what is.`, { details: { route } })
    }
    throw new HoldfastError('NOT_FOUND', `There is no route ${route}. /docs lists all routes.`, { details: { reason: 'no route', route } })
  },
}

function preflight({ guard: { origins } }: ServerParts, c: Context): Response {
  const origin = c.req.header('origin')
  if (origin === undefined || !origins.includes(origin))
    return failure(
      new HoldfastError('PERMISSION_DENIED', 'Pages of other origins may not use this server.', { details: { reason: 'origin' } }),
    )
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders(origin),
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-API-Key, X-Request-Id',
      'access-control-max-age': '600',
    },
  })
}

function addPages(app: OpenAPIHono, parts: ServerParts): void {
  let document: object | undefined
  const documented = (): object => {
    document ??= documentOf(app, parts.version)
    return document
  }
  const page = (path: string, answer: (c: Context) => Response | Promise<Response>, method: 'GET' | 'POST' = 'GET'): void => {
    app.on(method, path, async (c) => {
      try {
        guard(parts.guard, c.req.header('host'), c.req.header('origin'))
        return await answer(c)
      } catch (error) {
        return failure(error)
      }
    })
  }
  page('/openapi.json', () => Response.json(documented()))
  page('/docs', () => pageResponse('Holdfast: the interface', docsPage(documented())))
  addWeb(page, parts)
  page('/login', (c) => signIn(parts, c), 'POST')
  page('/logout', () => Response.json({ status: 'ok', result: {} }, { headers: { 'set-cookie': NO_COOKIE } }), 'POST')
  page('/login', async (c) => {
    const record = parts.logins.use(c.req.query('code') ?? '')
    if (record === undefined) {
      parts.attempts.spend(addressOf(c))
      return pageResponse(
        'Used up',
        '<h1>This link was used before</h1><p>Start the server again for another one, or <a href="/">sign in with a key</a>.</p>',
        {},
        401,
      )
    }
    await parts.audit.record({ key: record.id, space: record.space, action: 'GET /login', session: null, status: 303, request: '' })
    return redirect('/', { 'set-cookie': cookieFor(parts, record) })
  })
}

/** Places of the page, below which it finds its way itself. */
const WEB_PLACES = ['/', '/sessions/*', '/overview', '/memories', '/data']

function addWeb(page: (path: string, answer: (c: Context) => Response | Promise<Response>) => void, parts: ServerParts): void {
  const files = WebFiles.open()
  if (files === undefined) {
    page('/', () => redirect('/docs'))
    return
  }
  for (const place of WEB_PLACES) page(place, (c) => files.page(c.req.header('accept-encoding')))
  // The page tells what is wrong with a link; the status is for programs.
  page('/shared/:token', async (c) => {
    const status = await parts.store.shared(c.req.param('token') ?? '', { limit: 1 }).then(
      () => 200,
      (error: unknown) => {
        if (error instanceof HoldfastError && error.code === 'NOT_FOUND') parts.attempts.spend(addressOf(c))
        return failureOf(error, { ifMatch: false }).status
      },
    )
    return files.page(c.req.header('accept-encoding'), UNLISTED, status)
  })
  page('/assets/*', (c) => {
    const file = files.file(c.req.path, c.req.header('accept-encoding'))
    if (file === undefined)
      throw new HoldfastError('NOT_FOUND', 'There is no such file. The page may be that of another version: load it again.', {
        details: { reason: 'no route' },
      })
    return file
  })
}

/** A key becomes a cookie that scripts cannot read: the browser does not keep the key itself. */
async function signIn(parts: ServerParts, c: Context): Promise<Response> {
  const record = await knownKey(parts, c)
  if (record === undefined) {
    parts.attempts.spend(addressOf(c))
    throw new HoldfastError('UNAUTHENTICATED', 'This key is not known here: it was mistyped, it was revoked, or it has expired.')
  }
  await parts.audit.record({ key: record.id, space: record.space, action: 'POST /login', session: null, status: 200, request: '' })
  return Response.json({ status: 'ok', result: {} }, { headers: { 'set-cookie': cookieFor(parts, record) } })
}

/** The key in a body, if the store knows it. Before that, only the address of the caller is known. */
async function knownKey({ heldBytes, keys }: ServerParts, c: Context): Promise<KeyRecord | undefined> {
  const holding = heldBytes.of(`address ${addressOf(c)}`)
  try {
    const { key } = ((await readJson(c, holding, SERVER_LIMITS.loginBytes)) ?? {}) as { key?: unknown }
    return typeof key === 'string' ? await keys.find(key) : undefined
  } finally {
    holding.end()
  }
}

function addProbes(app: OpenAPIHono, parts: ServerParts): void {
  app.get('/health', () => Response.json({ status: 'ok', healthy: true, version: parts.version }))
  app.get('/ready', async () => {
    const { ready, checks } = await readiness(parts)
    return Response.json({ status: ready ? 'ready' : 'not_ready', checks }, { status: ready ? 200 : 503 })
  })
  app.get('/metrics', async (c) => {
    try {
      guard(parts.guard, c.req.header('host'), c.req.header('origin'))
      const principal = await authenticate(parts, c)
      requireScope(principal, 'admin')
      // They tell of all spaces, so they are for whoever runs the server.
      if (principal.space !== parts.store.space)
        throw new HoldfastError('PERMISSION_DENIED', 'Metrics need a key of the space of the server.', { details: { reason: 'space' } })
      parts.requestLog.flush()
      return new Response(await parts.metrics.text(), { headers: { 'content-type': parts.metrics.registry.contentType } })
    } catch (error) {
      return failure(error)
    }
  })
}

/** Only what keeps it from answering reads makes a server unready; the rest is told. */
async function readiness({ store, worker, load, metrics }: ServerParts): Promise<{ ready: boolean; checks: Record<string, unknown> }> {
  const read = await store
    .in(STORE_SPACE)
    .session('keys')
    .version()
    .then(
      () => 'ok',
      (error: unknown) => (error instanceof HoldfastError ? error.code : 'INTERNAL'),
    )
  const status = worker?.status
  const catalog = await store.catalogStatus().catch(() => undefined)
  return {
    ready: read === 'ok' && !load.stopping,
    checks: {
      store: read,
      stopping: load.stopping,
      requests: load.requests,
      worker: status === undefined ? 'elsewhere' : { running: status.running, waiting: status.waiting, failed: status.failed },
      breaker: status?.breaker.state ?? null,
      disk: metrics.disk,
      catalog: catalog === undefined ? 'unavailable' : { state: catalog.state, lag: catalog.sessions },
    },
  }
}

function redirect(to: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { location: to, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...headers },
  })
}

function failure(error: unknown): Response {
  const { status, body } = failureOf(error, { ifMatch: false })
  return new Response(body, { status, headers: { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff' } })
}
