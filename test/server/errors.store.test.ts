import { expect, test, vi } from 'vitest'
import type { Engine } from '../../src/engine/port.ts'
import { type ErrorCode, HoldfastError } from '../../src/errors.ts'
import { Application } from './application.ts'

/** What an engine may meet, with what a system says of it. The compiler sees to it that no code is missing. */
const CODES: Record<ErrorCode, number> = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  CONFLICT: 409,
  FAILED_PRECONDITION: 412,
  PAYLOAD_TOO_LARGE: 413,
  RESOURCE_EXHAUSTED: 429,
  DAMAGED: 500,
  UNIMPLEMENTED: 501,
  UNSUPPORTED_VERSION: 501,
  UNSUPPORTED_FILESYSTEM: 501,
  UNAVAILABLE: 503,
  UNREADABLE: 503,
  CLOSED: 503,
  DEADLINE_EXCEEDED: 504,
  NO_SPACE: 507,
}

/** An engine whose journals fail, once they are told to. */
function failing(failure: () => Error | undefined): (engine: Engine) => Engine {
  return (engine) => {
    const open = engine.journal.bind(engine)
    engine.journal = (name) => {
      const journal = open(name)
      const segments = journal.segments.bind(journal)
      journal.segments = async () => {
        const error = failure()
        if (error !== undefined) throw error
        return segments()
      }
      return journal
    }
    return engine
  }
}

test.each(Object.entries(CODES) as [ErrorCode, number][])(
  '%s is answered with its status, whether to retry, and what came of it',
  async (code, status) => {
    let error: Error | undefined
    const app = await Application.open({ wrap: failing(() => error) })
    await app.post('/sessions/warm/messages', { role: 'user', content: 'x' })
    error = new HoldfastError(code, `It failed at /home/somebody/store/sessions/ab/file.jsonl.`, {
      outcome: 'unknown',
      details: { more: 1 },
    })
    const answer = await app.post('/sessions/other/messages', { role: 'user', content: 'x' })
    expect(answer).toMatchObject({
      status,
      error: { code, details: { more: 1, retryable: new HoldfastError(code, '').retryable, outcome: 'unknown' } },
    })
    if (status >= 500) expect(answer.error.message).toBe('It failed at (a file of the store).')
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '1' : null)
  },
)

test('an unforeseen error is reported without its cause; the log has the cause', async () => {
  let error: Error | undefined
  const app = await Application.open({ wrap: failing(() => error) })
  await app.post('/sessions/warm/messages', { role: 'user', content: 'x' })
  error = new Error('secret of /home/somebody')
  const answer = await app.get('/sessions/other')
  expect(answer).toMatchObject({ status: 500, error: { code: 'INTERNAL', details: { retryable: false, outcome: 'unknown' } } })
  expect(JSON.stringify(answer.error)).not.toContain('secret')
})

test.each(['0x10', '', '1e2', '-1', '+5'])('a limit of "%s" is refused: only decimal digits are a limit', async (limit) => {
  const app = await Application.open()
  await app.post('/sessions/talk/messages', { role: 'user', content: 'x' })
  for (const path of ['/sessions', '/sessions/talk/messages', '/tasks'])
    expect(await app.get(`${path}?limit=${encodeURIComponent(limit)}`)).toMatchObject({ status: 400, error: { code: 'INVALID_ARGUMENT' } })
})

test('routes, scopes and hosts that are refused say why', async () => {
  const app = await Application.open()
  expect(await app.get('/nonsense')).toMatchObject({ error: { details: { reason: 'no route' } } })
  expect(await app.get('/quota?key_id=none')).toMatchObject({ error: { code: 'NOT_FOUND', details: { reason: 'no API key' } } })
  const { key } = (await app.post('/keys', { name: 'reader', scope: 'read', owner: 'kim' })).result as { key: string }
  const refused = async (path: string): Promise<unknown> =>
    JSON.parse(await (await app.raw('POST', `/api/v1${path}`, { key, body: {} })).text())
  expect(await refused('/sessions')).toMatchObject({ error: { code: 'PERMISSION_DENIED', details: { reason: 'scope' } } })
})

test('an unknown route needs a key as well, and is told apart from one that is not served', async () => {
  const app = await Application.open()
  expect((await app.raw('GET', '/api/v1/nonsense', { key: null })).status).toBe(401)
  expect((await app.raw('GET', '/api/v1/nonsense')).status).toBe(404)
  expect((await app.raw('POST', '/api/v1/content/write', { body: {} })).status).toBe(501)
  expect((await app.raw('GET', '/nonsense', { key: null })).status).toBe(404)
})

test('pages of other origins may use the server where the operator says so', async () => {
  const app = await Application.open({ origins: ['https://app.example'] })
  const headers = { origin: 'https://app.example' }
  const answer = await app.raw('GET', '/api/v1/sessions', { headers })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example')
  const preflight = await app.raw('OPTIONS', '/api/v1/sessions', { headers, key: null })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Idempotency-Key')
  expect((await app.raw('GET', '/api/v1/sessions', { headers: { origin: 'https://else.example' } })).status).toBe(403)
})

test('every request has an id, its own or one that it brought', async () => {
  const app = await Application.open()
  const made = [await app.get('/sessions'), await app.get('/sessions')].map(({ headers }) => headers.get('x-request-id'))
  expect(made).toEqual([expect.stringMatching(/^[\w-]{12,30}$/), expect.stringMatching(/^[\w-]{12,30}$/)])
  expect(new Set(made).size).toBe(2)
  expect((await app.get('/sessions', { headers: { 'x-request-id': 'abc-1' } })).headers.get('x-request-id')).toBe('abc-1')
  expect((await app.get('/sessions', { headers: { 'x-request-id': 'a b\tc' } })).headers.get('x-request-id')).not.toBe('a b\tc')
})

test('a body of many small values is refused before it is parsed', async () => {
  const app = await Application.open()
  const body = (count: number): string => `{"role":"user","content":"x","list":[${Array(count).fill('[]').join()}]}`
  const headers = { 'content-type': 'application/json' }
  const send = (count: number) => app.raw('POST', '/api/v1/sessions/a/messages', { body: body(count), headers })
  expect((await send(20_000)).status).toBe(200)
  const parse = vi.spyOn(JSON, 'parse')
  const refused = await send(1_000_000)
  expect(refused.status).toBe(413)
  expect(parse.mock.calls.filter(([text]) => text.length > 10_000)).toEqual([])
  expect(await refused.text()).toContain('more than 50000 values')
  expect((await app.get('/sessions/a/messages')).result.messages).toHaveLength(1)
})
