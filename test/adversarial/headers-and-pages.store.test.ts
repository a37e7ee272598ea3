import { expect, onTestFinished, test } from 'vitest'
import { BASE } from '../../src/server/envelope.ts'
import { allTooSlow, type EntryPoint } from './entry-points.ts'
import { Served } from './server.ts'
import { createSubject } from './subject.ts'

/** Node.js takes heads of requests of up to 16 KiB. */
const LENGTHS = [40, 1500]
const BODY_LENGTHS = [40, 4000]
/** The requests that carry a header. */
const REQUESTS: readonly (readonly [method: string, path: string, body?: string])[] = [
  ['GET', '/sessions/talk'],
  ['GET', '/sessions/talk/events'],
  ['POST', '/sessions/talk/messages', '{"role":"user","content":"x"}'],
]

/** How a header begins that is read instead of an API key, and the key that is sent along. */
const CREDENTIALS: Readonly<Record<string, { readonly prefix: string; readonly key: string }>> = {
  authorization: { prefix: 'Bearer ', key: '' },
  cookie: { prefix: 'holdfast=', key: '' },
}

async function open(): Promise<Served> {
  const served = await Served.open()
  onTestFinished(() => served.close())
  await createSubject(served.store, 'talk', 'x')
  return served
}

/** A request that notes the names of the headers that are asked for. */
function noting(request: Request, asked: Set<string>): Request {
  const { headers } = request
  const get = (name: string): string | null => {
    asked.add(name.toLowerCase())
    return headers.get(name)
  }
  const noted = new Proxy(headers, {
    get: (target, property) => {
      if (property === 'get') return get
      const value: unknown = Reflect.get(target, property)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return Object.defineProperty(request, 'headers', { value: noted })
}

/** The text with only the characters that a header may hold. */
function headerOf(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '.').trim()
}

test('every header that the server reads takes time in proportion to its text', async () => {
  const served = await open()
  const requestOf = (request: (typeof REQUESTS)[number], extra: Readonly<Record<string, string>>, key = served.key): Request => {
    const [method, path, body] = request
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { host: 'localhost', ...(key === '' ? {} : { 'x-api-key': key }), ...type, ...extra }
    return new Request(`http://localhost${BASE}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  }
  const entryPoints: EntryPoint[] = []
  const allAsked = new Set<string>()
  for (const request of REQUESTS) {
    const asked = new Set<string>()
    await served.sendRequest(noting(requestOf(request, {}), asked))
    // A request without an API key is asked for other credentials.
    await served.sendRequest(noting(requestOf(request, {}, ''), asked))
    for (const name of asked) {
      const { prefix = '', key = served.key } = CREDENTIALS[name] ?? {}
      allAsked.add(name)
      entryPoints.push({
        name: `${request[0]} ${request[1]}, header ${name}`,
        lengths: LENGTHS,
        prepare: (text) => () => served.sendRequest(requestOf(request, { [name]: prefix + headerOf(text) }, key)),
      })
    }
  }
  const expected = ['x-api-key', 'authorization', 'cookie', 'idempotency-key', 'if-match', 'last-event-id']
  expect([...allAsked]).toEqual(expect.arrayContaining(expected))
  expect(await allTooSlow(entryPoints)).toEqual([])
})

test('every page outside the route table takes time in proportion to its text', async () => {
  const served = await open()
  const pages = served.patterns.filter(({ method, path }) => !path.startsWith(BASE) && method !== 'OPTIONS')
  expect(pages.map(({ path }) => path)).toEqual(expect.arrayContaining(['/login', '/health', '/docs', '/mcp']))
  const unknown = [
    { method: 'GET', path: `${BASE}/*` },
    { method: 'GET', path: '/*' },
  ]
  const entryPoints = [...pages, ...unknown].flatMap(({ method, path }): EntryPoint[] => {
    const name = `${method} ${path}`
    const headers = { 'x-api-key': served.key, 'content-type': 'application/json' }
    const inPath = (text: string): string => path.replace(/:\w+|\*/, () => encodeURIComponent(text.toWellFormed()))
    const inQuery = (text: string): string => `${path.replace(/:\w+|\*/, 'x')}?${new URLSearchParams({ code: text })}`
    const heads = inPath('x') === path ? [inQuery] : [inPath, inQuery]
    const bodies = [(text: string) => text, (text: string) => JSON.stringify({ key: text, method: text, params: { name: text } })]
    return [
      ...heads.map(
        (address): EntryPoint => ({
          name: `${name}, in its address`,
          lengths: LENGTHS,
          prepare: (text) => () => served.send(address(text), { method, headers }),
        }),
      ),
      ...(method === 'GET' ? [] : bodies).map(
        (body): EntryPoint => ({
          name: `${name}, body`,
          lengths: BODY_LENGTHS,
          prepare: (text) => () => served.send(path, { method, headers, body: body(text) }),
        }),
      ),
    ]
  })
  expect(await allTooSlow(entryPoints)).toEqual([])
})
