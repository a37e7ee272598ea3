/** Every route admits the callers that the table names, and refuses all others: each kind of caller tries each route. */
import { expect, test } from 'vitest'
import { callersOf } from '../../src/server/callers.ts'
import { BASE } from '../../src/server/envelope.ts'
import { type Caller, includes, type Scope } from '../../src/server/principal.ts'
import type { Route } from '../../src/server/route.ts'
import { ROUTES } from '../../src/server/table.ts'
import { Application } from './application.ts'

interface Tried {
  readonly kind: Caller
  readonly scope: Scope
  /** Null: no credential. */
  readonly credential: string | null
}

async function callers(app: Application): Promise<Tried[]> {
  const token = async (body: object): Promise<string> => (await app.post('/tokens', body)).result.token as string
  return [
    { kind: 'key', scope: 'admin', credential: app.key },
    { kind: 'owner-key', scope: 'write', credential: await app.newKey({ scope: 'write', owner: 'kim' }) },
    { kind: 'owner-token', scope: 'write', credential: await token({ owner: 'kim', scope: 'write' }) },
    { kind: 'session-token', scope: 'read', credential: await token({ session_id: 's' }) },
    { kind: 'session-token', scope: 'write', credential: await token({ session_id: 's', scope: 'write' }) },
  ]
}

/** Routes that take a body refuse this one, after they admitted the caller. What the others do to the session is of no concern here. */
async function statusOf(app: Application, { method, path }: Route, credential: string | null): Promise<number> {
  const filled = `${BASE}${path.replace('{id}', 's').replaceAll(/\{\w+\}/g, 'x')}`
  const response = await app.raw(method.toUpperCase(), filled, { key: credential, ...(method === 'get' ? {} : { body: 'no JSON' }) })
  await response.body?.cancel()
  return response.status
}

test('a route admits the kinds of callers and the scopes that the table states, and no others', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 's', owner: 'kim' })
  const all = await callers(app)
  for (const route of ROUTES.filter(({ scope }) => scope !== 'anyone')) {
    for (const { kind, scope, credential } of all) {
      const admitted = callersOf(route).includes(kind) && includes(scope, route.scope as Scope)
      const status = await statusOf(app, route, credential)
      expect(status === 403, `${route.method} ${route.path} for ${kind} with ${scope}: ${status}`).toBe(!admitted)
    }
  }
})

test('a caller without a credential is unknown, except where the server runs without keys', async () => {
  const [strict, open] = [await Application.open(), await Application.open({ auth: false })]
  for (const route of ROUTES.filter(({ scope }) => scope !== 'anyone')) {
    expect(await statusOf(strict, route, null), `${route.method} ${route.path}`).toBe(401)
    const admitted = callersOf(route).includes('keyless')
    expect((await statusOf(open, route, null)) === 403, `${route.method} ${route.path}`).toBe(!admitted)
  }
})

test('the token of a share is all that its route needs', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 's' })
  const { token } = (await app.post('/sessions/s/shares')).result
  expect((await app.get(`/shared/${token}`, { key: null })).status).toBe(200)
  expect((await app.get('/shared/wrong', { key: null })).status).toBe(404)
})
