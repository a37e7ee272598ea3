/** A server in this process, without a socket, that takes any number of wrong keys. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { systemClock } from '../../src/engine/clock.ts'
import { makeApp } from '../../src/server/app.ts'
import type { ServerParts } from '../../src/server/parts.ts'
import { Rate } from '../../src/server/rate.ts'
import { makeParts } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

export class Served {
  readonly store: Store
  readonly key: string
  /** The id of another key. */
  readonly kid: string
  readonly #parts: ServerParts
  readonly #app: OpenAPIHono

  private constructor(store: Store, parts: ServerParts, key: string, kid: string) {
    this.store = store
    this.key = key
    this.kid = kid
    this.#parts = parts
    this.#app = makeApp(parts)
  }

  static async open(): Promise<Served> {
    const store = await openStore('memory:', { redact: true })
    const parts = await makeParts(store, { worker: false, mcpWrite: true })
    const unlimited = new Rate(systemClock, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    const { key } = await parts.keys.create({ space: 'default', scope: 'admin' })
    const { record } = await parts.keys.create({ space: 'default', scope: 'read' })
    return new Served(store, { ...parts, attempts: unlimited, requests: unlimited }, key, record.id)
  }

  /** The methods and the patterns of everything that is served, also what no table has. */
  get patterns(): readonly { readonly method: string; readonly path: string }[] {
    return this.#app.routes
  }

  /** Sends a request and reads all of the answer. Of a stream of events, which has no end, only the head. */
  async send(path: string, init: RequestInit): Promise<{ readonly status: number; readonly text: string }> {
    const request = new Request(`http://localhost${path}`, init)
    if (!request.headers.has('host')) request.headers.set('host', 'localhost')
    return this.sendRequest(request)
  }

  async sendRequest(request: Request): Promise<{ readonly status: number; readonly text: string }> {
    const response = await this.#app.fetch(request)
    const { status, headers } = response
    if (headers.get('content-type')?.includes('event-stream') !== true) return { status, text: await response.text() }
    await response.body?.cancel()
    return { status, text: '' }
  }

  async close(): Promise<void> {
    this.#parts.keys.close()
    await this.#parts.followers.close()
    await this.#parts.audit.flush()
    await this.store.close()
  }
}
