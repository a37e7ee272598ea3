import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { callersOf } from '../../src/server/callers.ts'
import { CALLERS, type Caller } from '../../src/server/principal.ts'
import { ROUTES } from '../../src/server/table.ts'
import { Application } from './application.ts'

/** Short names for the sets of callers that routes admit. */
const GROUPS: Readonly<Record<string, readonly Caller[]>> = {
  all: ['key', 'keyless', 'owner-key', 'owner-token', 'session-token'],
  owner: ['key', 'keyless', 'owner-key', 'owner-token'],
  space: ['key', 'keyless'],
  keys: ['key', 'owner-key'],
  share: ['share-token'],
}

test('docs/protocol.md has the table of routes, with scopes and callers, and the kinds of callers', () => {
  const document = readFileSync('docs/protocol.md', 'utf8')
  for (const table of [routeTable(), callerTable(), groupTable()])
    expect(document, `docs/protocol.md must contain this table:\n\n${table}\n`).toContain(table)
})

function routeTable(): string {
  const rows = ROUTES.map((route) => {
    const { method, path, scope, summary } = route
    return `| ${method.toUpperCase()} ${path} | ${scope} | ${groupOf(callersOf(route))} | ${summary} |`
  })
  return ['| route | scope | callers | |', '|---|---|---|---|', ...rows].join('\n')
}

function groupOf(callers: readonly Caller[]): string {
  const found = Object.entries(GROUPS).find(([, kinds]) => kinds.join() === callers.join())
  if (found === undefined) throw new Error(`Give a name to the callers ${callers.join(', ')}.`)
  return found[0]
}

function callerTable(): string {
  return ['| kind | who |', '|---|---|', ...Object.entries(CALLERS).map(([kind, who]) => `| \`${kind}\` | ${who} |`)].join('\n')
}

function groupTable(): string {
  const rows = Object.entries(GROUPS).map(([name, kinds]) => `| ${name} | ${kinds.map((kind) => `\`${kind}\``).join(', ')} |`)
  return ['| callers | kinds |', '|---|---|', ...rows].join('\n')
}

test('the OpenAPI document states the scope and the callers of each route', async () => {
  const app = await Application.open()
  const { paths } = (await (await app.raw('GET', '/openapi.json', { key: null })).json()) as {
    paths: Record<string, Record<string, object>>
  }
  expect(paths['/api/v1/purge']?.post).toMatchObject({
    security: [{ key: ['admin'] }, { bearer: ['admin'] }],
    'x-holdfast-scope': 'admin',
    'x-holdfast-callers': ['key', 'keyless'],
  })
  expect(paths['/api/v1/shared/{token}']?.get).toMatchObject({
    security: [],
    'x-holdfast-scope': 'anyone',
    'x-holdfast-callers': ['share-token'],
  })
})

test('the OpenAPI document has every route, with what goes in and out, and every name that it refers to', async () => {
  const app = await Application.open()
  const document = (await (await app.raw('GET', '/openapi.json', { key: null })).json()) as {
    openapi: string
    paths: Record<string, Record<string, { responses: object; requestBody?: object; operationId: string }>>
    components: { schemas: Record<string, object> }
  }
  expect(document.openapi).toBe('3.1.0')
  for (const { method, path, body } of ROUTES) {
    const operation = document.paths[`/api/v1${path}`]?.[method]
    expect(operation, `${method} ${path}`).toMatchObject({ responses: { 200: { content: expect.any(Object) }, default: {} } })
    expect(operation?.requestBody === undefined).toBe(body === undefined)
  }
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  expect(new Set(ids).size).toBe(ids.length)
  const named = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name as string)
  expect(named.filter((name) => document.components.schemas[name] === undefined)).toEqual([])
})
