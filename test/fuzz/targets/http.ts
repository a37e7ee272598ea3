/** Bodies and cursors that arrive over HTTP. The first byte chooses the route. No answer is an error of the server, and each is an envelope. */
import assert from 'node:assert/strict'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { makeApp } from '../../../src/server/app.ts'
import { BASE } from '../../../src/server/envelope.ts'
import type { Route } from '../../../src/server/route.ts'
import { makeParts } from '../../../src/server/server.ts'
import { ROUTES } from '../../../src/server/table.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Target } from '../target.ts'

/** What earlier requests have left would otherwise grow without end. */
const REQUESTS_OF_STORE = 500

const withBody = ROUTES.filter(({ body, long }) => body !== undefined && long !== true)
const withCursor = ROUTES.filter(({ method, query }) => method === 'get' && query !== undefined && 'cursor' in query.shape)
const message = { role: 'user', content: 'x' }

const bytesOf = (index: number, body: unknown): Buffer => Buffer.concat([Buffer.from([index]), Buffer.from(JSON.stringify(body))])

const bodies: Target = {
  name: 'bodies',
  module: import.meta.url,
  seeds: withBody.flatMap((_, index) => [
    bytesOf(index, { ...message, id: 'm9' }),
    bytesOf(index, { messages: [message], entries: [{ channel: 'c', key: 'k', value: 1 }], owner: 'o', tags: ['t'], title: 't' }),
  ]),
  fuzz: fuzzBodies,
}

const cursors: Target = {
  name: 'cursors',
  module: import.meta.url,
  seeds: withCursor.map((_, index) =>
    bytesOf(index, [
      ['entries', 'c'],
      [1166, 0, 1166],
    ]),
  ),
  fuzz: fuzzCursors,
}

async function fuzzBodies(data: Buffer): Promise<void> {
  const route = withBody[(data[0] ?? 0) % withBody.length] as Route
  await request(route, '', { body: new Uint8Array(data.subarray(1)), headers: { 'content-type': 'application/json' } })
}

/** As a cursor is made, and as it is. */
async function fuzzCursors(data: Buffer): Promise<void> {
  const route = withCursor[(data[0] ?? 0) % withCursor.length] as Route
  const text = data.subarray(1)
  for (const cursor of [text.toString('base64url'), text.toString()])
    await request(route, `?limit=1&channel=c&cursor=${encodeURIComponent(cursor.toWellFormed())}`)
}

interface Opened {
  readonly app: OpenAPIHono
  readonly key: string
  close(): Promise<void>
}

let opened: Opened | undefined
let requests = 0

async function open(): Promise<Opened> {
  const store = await openStore('memory:')
  const session = store.session('s1')
  await session.append([message, message], { ids: ['m1', 'm2'] })
  await session.replace('m1', { ...message, content: 'y' })
  await session.putEntries([
    { channel: 'c', key: 'k', value: 1 },
    { channel: 'c', key: 'l', value: 2 },
  ])
  const parts = await makeParts(store, { worker: false })
  const { key } = await parts.keys.create({ space: 'default', scope: 'admin' })
  const close = async (): Promise<void> => {
    parts.keys.close()
    await parts.followers.close()
    await parts.audit.flush()
    await store.close()
  }
  return { app: makeApp(parts), key, close }
}

async function request(
  { method, path }: Route,
  query: string,
  init: { body?: Uint8Array<ArrayBuffer>; headers?: object } = {},
): Promise<void> {
  if (requests++ % REQUESTS_OF_STORE === 0) {
    await opened?.close()
    opened = await open()
  }
  const { app, key } = opened as Opened
  const place = path
    .replace('{id}', 's1')
    .replace('{mid}', 'm1')
    .replaceAll(/\{\w+\}/g, '1')
  const { headers, ...rest } = init
  const response = await app.request(`${BASE}${place}${query}`, {
    method: method.toUpperCase(),
    ...rest,
    headers: { host: 'localhost', 'x-api-key': key, ...headers },
  })
  const text = await response.text()
  assert.ok(response.status < 500, `${method} ${path}: ${response.status} ${text}`)
  if (!response.ok) assert.equal((JSON.parse(text) as { status: string }).status, 'error')
}

export const targets: readonly Target[] = [bodies, cursors]
