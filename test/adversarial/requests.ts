/** The requests of each route that carry a text, derived from the route table. */
import { BASE } from '../../src/server/envelope.ts'
import type { Route } from '../../src/server/route.ts'
import { choicesIn, type Place, placesIn, smallest } from './places.ts'
import type { Served } from './server.ts'
import { CHANNEL, type Named, WORD } from './subject.ts'
import { DIFFERENT_WORDS, type Family } from './texts.ts'

/** Ids have at most 512 bytes: a longer text is refused before it is read. Node.js takes heads of requests of up to 16 KiB. */
const ID_LENGTH = 40
const HEAD_LENGTHS = [ID_LENGTH, 1500]
const BODY_LENGTHS = [ID_LENGTH, 4000]

/** The name of a file to import. */
const NAME = 'x.json'
let files = 0

/** Values that a handler needs, and that its schema does not ask for. */
const NEEDED: Readonly<Record<string, { readonly query?: object; readonly body?: object }>> = {
  'get /sessions/{id}/entries': { query: { channel: CHANNEL } },
  'get /sessions/{id}/tool-results/{rid}/search': { query: { q: WORD } },
  'get /search': { query: { q: WORD } },
  'post /import': { query: { from: 'openai', name: NAME } },
  'post /sessions/{id}/messages/replace-tail': { body: { last: [] } },
  'post /tokens': { body: { owner: 'kim' } },
  'post /purge': { body: { dry_run: true } },
  'post /expire': { body: { purge_deleted_after_seconds: 1, dry_run: true } },
  'post /erase': { body: { dry_run: true } },
}

/** The body of an import is a file. Its formats have tests of their own. */
const RAW_BODY = new Set(['post /import'])

export function nameOf({ method, path }: Route): string {
  return `${method} ${path}`
}

/** One way to put a text into a request. */
export interface TextRequest {
  /** Such as `post /sessions/{id}/messages, body.content`. */
  readonly name: string
  readonly lengths: readonly number[]
  readonly families?: readonly Family[]
  send(served: Served, named: Named, text: string): Promise<{ readonly status: number; readonly text: string }>
}

interface Filling {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** The request of a route without any text, and one for each place that takes a text. */
export function requestsOf(route: Route): { readonly plain: TextRequest; readonly withText: readonly TextRequest[] } {
  const name = nameOf(route)
  const needed = NEEDED[name] ?? {}
  const query = { ...(route.query === undefined ? {} : (smallest(route.query) as object)), ...needed.query }
  const body = bodyOf(route)
  const request = (where: string, lengths: readonly number[], filling: (text: string) => Filling, isList = false): TextRequest => ({
    name: `${name}${where}`,
    lengths,
    ...(isList ? { families: DIFFERENT_WORDS } : {}),
    send: (served, named, text) => send(served, route, named, { query, body, ...filling(text) }),
  })
  const params = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) =>
    request(`, path {${param}}`, HEAD_LENGTHS, (text) => ({ params: { [param]: text } })),
  )
  const fields = route.query === undefined ? [] : placesIn(route.query)
  const queries = [...fields, ...WRITE_PLACES.filter(() => route.method !== 'get')].map(({ path, fill }) =>
    request(`, query${path}`, HEAD_LENGTHS, (text) => ({ query: { ...query, ...(fill(text) as object) } })),
  )
  const bodies = bodyPlaces(route, needed.body).map(({ path, fill, isList }) =>
    request(`, body${path}`, BODY_LENGTHS, (text) => ({ body: fill(text) }), isList),
  )
  return { plain: request('', HEAD_LENGTHS, () => ({})), withText: [...params, ...queries, ...bodies] }
}

/** So much of a session's text is looked for in it. */
const WANTED_LENGTH = 100

/**
 * The requests of a route that read a session: a plain one, one for each choice in its query, and one for each text in its query, which gets
 * the beginning of the text of the session.
 */
export function readsOf(route: Route): readonly TextRequest[] {
  const { plain, withText } = requestsOf(route)
  if (route.query === undefined) return [plain]
  const needed = { ...(smallest(route.query) as object), ...NEEDED[nameOf(route)]?.query }
  const chosen = choicesIn(route.query).map(
    ({ field, value }): TextRequest => ({
      ...plain,
      name: `${plain.name}?${field}=${value}`,
      send: (served, named) => send(served, route, named, { query: { ...needed, [field]: value } }),
    }),
  )
  const words = withText
    .filter(({ name }) => name.includes(', query'))
    .map(
      (request): TextRequest => ({
        ...request,
        send: (served, named, text) => request.send(served, named, text.slice(0, WANTED_LENGTH)),
      }),
    )
  return [plain, ...chosen, ...words]
}

/** Every route that writes takes the version that it expects. */
const WRITE_PLACES: readonly Place[] = [{ path: '.expect', fill: (text) => ({ expect: text }) }]

/** Fields that only a request without a text may have. */
const PLAIN: Readonly<Record<string, object>> = { 'post /sessions/{id}/revert': { snapshot: 'snap' } }

function bodyOf(route: Route): string | undefined {
  if (RAW_BODY.has(nameOf(route))) return JSON.stringify([{ role: 'user', content: 'x' }])
  if (route.body === undefined) return undefined
  return JSON.stringify({ ...(smallest(route.body) as object), ...NEEDED[nameOf(route)]?.body, ...PLAIN[nameOf(route)] })
}

/** Places in the JSON, and the bytes of the body themselves. */
function bodyPlaces(route: Route, needed: object = {}): Place[] {
  const bytes: Place = { path: ' as bytes', fill: (text) => text }
  if (RAW_BODY.has(nameOf(route))) return [bytes]
  if (route.body === undefined) return []
  const inJson = placesIn(route.body).map(({ fill, ...place }) => ({
    ...place,
    fill: (text: string) => JSON.stringify({ ...needed, ...(fill(text) as object) }),
  }))
  return [bytes, ...inJson]
}

function send(served: Served, route: Route, named: Named, { params, query, body }: Filling): ReturnType<Served['send']> {
  const isFile = RAW_BODY.has(nameOf(route))
  const values: Readonly<Record<string, string>> = { ...named, kid: served.kid, ...params }
  const path = route.path.replace(/\{(\w+)\}/g, (_, word) => encodeURIComponent((values[word] ?? '').toWellFormed()))
  // The same file again is skipped. That would make every repeat too fast.
  const unique = isFile && query?.name === NAME ? { ...query, name: `${++files}-${NAME}` } : (query ?? {})
  const words = new URLSearchParams(Object.entries(unique).map(([field, value]) => [field, String(value)] as [string, string]))
  const type = isFile ? 'application/octet-stream' : 'application/json'
  return served.send(`${BASE}${path}${words.size === 0 ? '' : `?${words}`}`, {
    method: route.method.toUpperCase(),
    headers: { 'x-api-key': served.key, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: body as string }),
  })
}
