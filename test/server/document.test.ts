import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROUTES } from '../../src/server/table.ts'
import { Application } from './application.ts'

test('docs/protocol.md lists every route as the table has it, and no other', () => {
  const document = readFileSync('docs/protocol.md', 'utf8')
  const listed = [...document.matchAll(/^\| ((?:GET|POST|PUT|PATCH|DELETE) \/\S*) \| (read|write|admin|anyone) \| (.+) \|$/gm)]
  const table = ROUTES.map(({ method, path, scope, summary }) => [`${method.toUpperCase()} ${path}`, scope, summary])
  expect(listed.map(([, route, scope, summary]) => [route, scope, summary])).toEqual(table)
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
