import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { STORE_SPACE } from '../../src/engine/names.ts'
import { ApiKeys } from '../../src/server/api-keys.ts'
import { Application } from './application.ts'

test('a request without a key, or with an unknown one, reads nothing', async () => {
  const app = await Application.open()
  for (const key of [
    null,
    'nonsense',
    `${app.key.slice(0, -1)}${app.key.endsWith('0') ? '1' : '0'}`,
    app.key.replace(/_(.)/, (_, c) => `_${c === '0' ? '1' : '0'}`),
  ]) {
    const answer = await app.get('/sessions', { key })
    expect(answer).toMatchObject({ status: 401, error: { code: 'UNAUTHENTICATED' } })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  }
  const bearer = { key: null, headers: { authorization: `Bearer ${app.key}` } }
  expect((await app.get('/sessions', bearer)).status).toBe(200)
})

test('a key has its scope and no more', async () => {
  const app = await Application.open()
  const [read, write] = [await app.newKey({ scope: 'read' }), await app.newKey({ scope: 'write' })]
  const message = { role: 'user', content: 'x' }
  expect((await app.post('/sessions/a/messages', message, { key: read })).error).toMatchObject({
    code: 'PERMISSION_DENIED',
    details: { needed: 'write', scope: 'read' },
  })
  expect((await app.post('/sessions/a/messages', message, { key: write })).status).toBe(200)
  expect((await app.get('/sessions/a', { key: read })).status).toBe(200)
  expect((await app.get('/sessions/b?auto_create=true', { key: read })).status).toBe(403)
  for (const path of ['/keys', '/purge', '/doctor']) expect((await app.post(path, {}, { key: write })).status).toBe(403)
})

test('keys are made, listed without what opens, rotated with an overlap, and revoked', async () => {
  let now = Date.now()
  const clock: Clock = { ...systemClock, now: () => now }
  const app = await Application.open({ clock })
  const made = await app.post('/keys', { scope: 'write', name: 'agent', expires_at: new Date(now + 10_000_000).toISOString() })
  expect(made.result).toMatchObject({
    key: expect.stringMatching(/^hf_[0-9a-f]{16}_[0-9a-f]{72}$/),
    scope: 'write',
    name: 'agent',
    space: 'default',
  })
  const { key, key_id } = made.result
  const listed = await app.get('/keys')
  expect(JSON.stringify(listed.result)).not.toContain(key.slice(20))
  const next = await app.post('/keys', { scope: 'write', replaces: key_id, overlap_seconds: 60 })
  expect((await app.get('/sessions', { key })).status).toBe(200)
  now += 61_000
  expect((await app.get('/sessions', { key })).status).toBe(401)
  expect((await app.get('/sessions', { key: next.result.key })).status).toBe(200)
  expect((await app.send('DELETE', `/keys/${next.result.key_id}`)).result.revoked_at).not.toBeNull()
  expect((await app.get('/sessions', { key: next.result.key })).status).toBe(401)
  expect((await app.send('DELETE', '/keys/none')).status).toBe(404)
})

test('a key that another process made or revoked counts here', async () => {
  const app = await Application.open()
  const other = new ApiKeys(app.store)
  const { key, record } = await other.create({ space: 'default', scope: 'read' })
  expect((await app.get('/sessions', { key })).status).toBe(200)
  await other.revoke(record.id)
  await app.parts.keys.refresh()
  expect((await app.get('/sessions', { key })).status).toBe(401)
})

test('the store keeps no key that opens', async () => {
  const app = await Application.open()
  const session = app.store.in(STORE_SPACE).session('keys')
  for await (const change of session.follow({ fromStart: true, signal: AbortSignal.timeout(50) }))
    expect(JSON.stringify(change)).not.toContain(app.key.slice(20))
})

test('nobody gets a key for the store’s own space', async () => {
  const app = await Application.open()
  await expect(app.newKey({ space: STORE_SPACE })).rejects.toThrow('own')
})

test('a token opens one session, for a while, as far as it says, and dies with its key', async () => {
  let now = Date.now()
  const clock: Clock = { ...systemClock, now: () => now }
  const app = await Application.open({ clock })
  await app.post('/sessions/a/messages', { role: 'user', content: 'x' })
  await app.post('/sessions/b/messages', { role: 'user', content: 'y' })
  const agent = await app.post('/keys', { scope: 'write' })
  const made = await app.post('/tokens', { session_id: 'a', scope: 'read', expires_in: 60 }, { key: agent.result.key })
  const key = made.result.token
  expect(made.result).toMatchObject({ token: expect.stringMatching(/^hft_/), scope: 'read', session_id: 'a', owner: null })
  expect((await app.get('/sessions/a/messages', { key })).status).toBe(200)
  expect((await app.get('/sessions/b/messages', { key })).status).toBe(403)
  expect((await app.get('/sessions/none', { key })).status).toBe(403)
  expect((await app.post('/sessions/a/messages', { role: 'user', content: 'z' }, { key })).status).toBe(403)
  for (const path of ['/sessions', '/tasks', '/search?q=x', '/memories', '/stats', '/keys'])
    expect((await app.get(path, { key })).status, path).toBe(403)
  expect((await app.post('/tokens', { session_id: 'b' }, { key })).status).toBe(403)
  expect((await app.get('/sessions/a', { key: `${key.slice(0, -2)}xx` })).status).toBe(401)
  const body = JSON.parse(Buffer.from(key.slice(4).split('.')[0] as string, 'base64url').toString())
  const forged = `hft_${Buffer.from(JSON.stringify({ ...body, session: 'b' })).toString('base64url')}.${key.split('.')[1]}`
  expect((await app.get('/sessions/b', { key: forged })).status).toBe(401)
  now += 61_000
  expect((await app.get('/sessions/a', { key })).status).toBe(401)
  const other = await app.post('/tokens', { session_id: 'a', scope: 'write' }, { key: agent.result.key })
  expect((await app.get('/sessions/a', { key: other.result.token })).status).toBe(200)
  await app.send('DELETE', `/keys/${agent.result.key_id}`)
  expect((await app.get('/sessions/a', { key: other.result.token })).status).toBe(401)
})

test('a token can be revoked before its time', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 'a' })
  const { token } = (await app.post('/tokens', { session_id: 'a' })).result
  expect((await app.get('/sessions/a', { key: token })).status).toBe(200)
  await app.send('DELETE', `/tokens/${token}`)
  expect((await app.get('/sessions/a', { key: token })).status).toBe(401)
  expect((await app.post('/tokens', {})).error.code).toBe('INVALID_ARGUMENT')
  const read = await app.newKey({ scope: 'read' })
  expect((await app.post('/tokens', { session_id: 'a', scope: 'write' }, { key: read })).status).toBe(403)
})

test('guessing keys is slowed down; a request with a valid key is not', async () => {
  const app = await Application.open()
  const wrong = app.key.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  const statuses = new Set<number>()
  const waits = new Set<string | null>()
  for (let i = 0; i < 150; i++) {
    const { status, headers } = await app.get('/sessions', { key: wrong })
    statuses.add(status)
    if (status === 429) waits.add(headers.get('retry-after'))
  }
  expect([...statuses]).toEqual([401, 429])
  expect([...waits]).toEqual(['1'])
  expect((await app.get('/sessions')).status).toBe(200)
})

test('a key with too many requests gets the time of its next one', async () => {
  const app = await Application.open({ requestsPerSecond: 1 })
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await app.get('/sessions')).status)
  expect(statuses).toEqual([200, 200, 429, 429])
})

test('a key that is asked for twice under one Idempotency-Key is one key; asked for otherwise, it is refused', async () => {
  const app = await Application.open()
  const headers = { 'idempotency-key': 'k1' }
  const body = { scope: 'read', name: 'agent', owner: 'kim' }
  const first = await app.post('/keys', body, { headers })
  expect((await app.post('/keys', body, { headers })).result).toEqual(first.result)
  for (const other of [
    { ...body, scope: 'write' },
    { ...body, owner: 'lee' },
    { scope: 'read', name: 'agent' },
    { ...body, overlap_seconds: 1 },
  ]) {
    expect(await app.post('/keys', other, { headers })).toMatchObject({ status: 409, error: { code: 'CONFLICT' } })
  }
  expect((await app.get('/keys')).result.filter(({ name }: { name: string }) => name === 'agent')).toHaveLength(1)
  // Under another administrator's key it is another call.
  const other = await app.post('/keys', { scope: 'write' }, { headers, key: await app.newKey({ scope: 'admin' }) })
  expect(other.result.key).not.toBe(first.result.key)
})

test('who did what is written down, without what was said', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: 'a secret' })
  await app.post('/sessions/a/messages', { role: 'user', content: 'another' })
  await app.send('DELETE', '/sessions/a')
  const read = await app.newKey({ scope: 'read' })
  await app.post('/sessions', {}, { key: read })
  await app.parts.audit.flush()
  const { sessions } = await app.store.in(STORE_SPACE).list()
  const log = sessions.find(({ id }) => id.startsWith('audit-')) as { id: string }
  const { messages } = await app.store.in(STORE_SPACE).session(log.id).messages()
  const deeds = messages.map(({ message }) => message)
  const key = app.key.slice(3, 19)
  expect(deeds).toContainEqual(
    expect.objectContaining({ key, space: 'default', action: 'POST /sessions/{id}/messages', session: 'a', status: 200, count: 2 }),
  )
  expect(deeds).toContainEqual(expect.objectContaining({ key, action: 'DELETE /sessions/{id}', session: 'a', request: expect.any(String) }))
  expect(deeds).toContainEqual(expect.objectContaining({ action: 'POST /sessions', status: 403 }))
  expect(JSON.stringify(deeds)).not.toContain('secret')
})
