/** The OpenAPI document, made from the route table. */
import { type OpenAPIHono, z } from '@hono/zod-openapi'
import { callersOf } from './callers.ts'
import { mayReportDamage, resultOf } from './damage.ts'
import { BASE } from './envelope.ts'
import type { Route } from './route.ts'
import { ErrorEnvelope } from './schemas.ts'

const ABOUT = `Sessions for AI agents that cannot be lost, doubled or corrupted. Every write is on the disk when it is answered.

A key comes in \`X-API-Key\` or as a bearer. \`Idempotency-Key\` on a POST makes a repeated call happen once; \`If-Match\` with the version
that an \`ETag\` had makes a write conditional.`

const WRITE_HEADERS = z.object({
  'idempotency-key': z.string().optional().openapi({ description: 'repeated under the same key, it happens once' }),
  'if-match': z.string().optional().openapi({ description: 'the version that the session must still have' }),
})

const DAMAGE_HEADERS = z.object({
  'holdfast-damage': z.string().optional().openapi({
    description: 'in how many places the answer lacks something that was written; left out if it is whole',
  }),
})

export function register(app: OpenAPIHono, route: Route): void {
  const { method, path, tag, summary, scope, query, body } = route
  const result = resultOf(route)
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const isStream = tag === 'events'
  const schema = isStream ? result : z.object({ status: z.literal('ok'), result })
  app.openAPIRegistry.registerPath({
    method,
    path: `${BASE}${path}`,
    tags: [tag],
    summary,
    operationId: operationId(method, path),
    // For these schemes, the lists hold the roles that a caller needs: here, scopes.
    security: scope === 'anyone' ? [] : [{ key: [scope] }, { bearer: [scope] }],
    'x-holdfast-scope': scope,
    'x-holdfast-callers': callersOf(route),
    request: {
      ...(names.length === 0 ? {} : { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
      ...(query === undefined ? {} : { query }),
      ...(method === 'get' ? {} : { headers: WRITE_HEADERS }),
      ...(body === undefined ? {} : { body: { content: { 'application/json': { schema: body } } } }),
    },
    responses: {
      200: {
        description: scope === 'anyone' ? 'Needs no key.' : `Needs the scope "${scope}".`,
        ...(mayReportDamage(route) && !isStream ? { headers: DAMAGE_HEADERS } : {}),
        content: { [isStream ? 'text/event-stream' : 'application/json']: { schema } },
      },
      default: { description: 'What went wrong, and what to do.', content: { 'application/json': { schema: ErrorEnvelope } } },
    },
  })
}

function operationId(method: string, path: string): string {
  const words = path.split('/').filter((part) => part !== '')
  return [method, ...words.map((part) => part.replace(/[{}]/g, '').replace(/-/g, '_'))].join('_')
}

export function documentOf(app: OpenAPIHono, version: string): object {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', { type: 'apiKey', in: 'header', name: 'X-API-Key' })
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' })
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Holdfast', version, description: ABOUT, license: { name: 'MIT' } },
  })
}
