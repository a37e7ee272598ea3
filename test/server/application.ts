/** The application without a socket: requests go in, answers come out, and every good answer is held against what the route table says of it. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { expect, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import type { Engine } from '../../src/engine/port.ts'
import type { NewKey } from '../../src/server/api-keys.ts'
import { makeApp } from '../../src/server/app.ts'
import { resultOf } from '../../src/server/damage.ts'
import { BASE } from '../../src/server/envelope.ts'
import type { ServerParts } from '../../src/server/parts.ts'
import type { Route } from '../../src/server/route.ts'
import { makeParts, type ServerOptions } from '../../src/server/server.ts'
import { ROUTES } from '../../src/server/table.ts'
import { type EncryptionOptions, type OpenOptions, openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { storeAddress } from '../store-address.ts'

export interface Answered {
  readonly status: number
  readonly headers: Headers
  /** Of a good answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says itself what it expects to find
  readonly result: any
  readonly error: { readonly code: string; readonly message: string; readonly details: Readonly<Record<string, unknown>> }
}

export interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Instead of the one that it has. */
  readonly key?: string | null
}

export interface ApplicationOptions extends ServerOptions {
  readonly where?: string
  readonly clock?: Clock
  readonly wrap?: (engine: Engine) => Engine
  readonly redact?: boolean
  readonly encryption?: EncryptionOptions
  readonly quotas?: NonNullable<OpenOptions['quotas']>
}

export class Application {
  readonly store: Store
  readonly parts: ServerParts
  readonly app: OpenAPIHono
  readonly key: string

  private constructor(store: Store, parts: ServerParts, key: string) {
    this.store = store
    this.parts = parts
    this.app = makeApp(parts)
    this.key = key
  }

  static async open({
    where,
    clock = systemClock,
    wrap = (engine) => engine,
    redact = false,
    encryption,
    quotas = false,
    ...options
  }: ApplicationOptions = {}): Promise<Application> {
    const store = await openStore(where ?? (await storeAddress()), {
      clock,
      wrap,
      redact,
      quotas,
      ...(encryption === undefined ? {} : { encryption }),
    })
    const parts = await makeParts(store, { worker: false, ...options })
    const { key } = await parts.keys.create({ space: 'default', scope: 'admin' })
    onTestFinished(async () => {
      parts.keys.close()
      await parts.followers.close()
      await parts.audit.flush()
      await store.close()
    })
    return new Application(store, parts, key)
  }

  async newKey(wanted: Partial<NewKey> = {}): Promise<string> {
    return (await this.parts.keys.create({ space: 'default', ...wanted })).key
  }

  /** A request with whatever is told; nothing is checked. */
  raw(method: string, path: string, { body, headers = {}, key = this.key }: Sent = {}): Promise<Response> {
    return Promise.resolve(
      this.app.request(path, {
        method,
        headers: {
          host: 'localhost',
          ...(key === null ? {} : { 'x-api-key': key }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
  }

  async send(method: string, path: string, sent: Sent = {}): Promise<Answered> {
    const response = await this.raw(method, `${BASE}${path}`, sent)
    const { status, result, error } = (await response.json()) as { status: string; result: unknown; error: Answered['error'] }
    expect(status).toBe(response.ok ? 'ok' : 'error')
    if (response.ok) asTold(routeOf(method, path), result)
    else expect(error.details).toMatchObject({ retryable: expect.any(Boolean), outcome: expect.stringMatching(/^(none|unknown)$/) })
    return { status: response.status, headers: response.headers, result, error }
  }

  get(path: string, sent?: Sent): Promise<Answered> {
    return this.send('GET', path, sent)
  }

  post(path: string, body: unknown = {}, sent: Sent = {}): Promise<Answered> {
    return this.send('POST', path, { body, ...sent })
  }
}

function routeOf(method: string, path: string): Route {
  const [plain = ''] = path.split('?')
  const found = ROUTES.find(
    (route) =>
      route.method === method.toLowerCase() &&
      new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+').replaceAll('/', '\\/')}$`).test(plain),
  )
  if (found === undefined) throw new Error(`no route ${method} ${path}`)
  return found
}

/** Nothing may be missing, and nothing may be there that is not told. */
function asTold(route: Route, result: unknown): void {
  expect(resultOf(route).parse(result), `what ${route.method} ${route.path} answers`).toEqual(result)
}
