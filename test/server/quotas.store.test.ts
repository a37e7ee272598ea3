import { expect, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { Metrics } from '../../src/server/metrics.ts'
import { Application } from './application.ts'

test('quotas are set by an operator, enforced with 429, and counted; a key has its own', async () => {
  const metrics = new Metrics()
  const app = await Application.open({ metrics, quotas: (limit, of) => metrics.quotaRefused(limit, of) })
  const unlimited = { sessions: null, bytes: null, messages_per_minute: null }
  expect((await app.get('/quota')).result).toEqual({ ...unlimited, used: { sessions: 0, bytes: 0 } })
  const put = await app.send('PUT', '/quota', { body: { sessions: 1 } })
  expect(put.result).toMatchObject({ ...unlimited, sessions: 1 })
  await app.post('/sessions', { session_id: 'a' })
  expect(await app.post('/sessions', { session_id: 'b' })).toMatchObject({
    status: 429,
    error: { code: 'RESOURCE_EXHAUSTED', details: { quota: 'sessions', limit: 1, used: 1 } },
  })
  const key = await app.newKey({ scope: 'write' })
  const [made] = (await app.get('/keys')).result.filter(({ scope }: { scope: string }) => scope === 'write')
  await app.send('PUT', '/quota', { body: { messages_per_minute: 2, key_id: made.key_id } })
  const say = (with_: string | null) =>
    app.post('/sessions/a/messages', { role: 'user', content: 'x' }, with_ === null ? {} : { key: with_ })
  expect([(await say(key)).status, (await say(key)).status]).toEqual([200, 200])
  const refused = await say(key)
  expect(refused).toMatchObject({ status: 429, error: { details: { quota: 'messages_per_minute', limit: 2 } } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await say(null)).status).toBe(200)
  expect((await app.send('PUT', '/quota', { body: { messages_per_minute: 2, key_id: 'nobody' } })).status).toBe(404)
  expect((await app.get('/quota', { key })).status).toBe(403)
  const told = await (await app.raw('GET', '/metrics')).text()
  expect(told).toContain('holdfast_quota_refusals_total{limit="sessions",of="space"} 1')
  expect(told).toContain('holdfast_quota_refusals_total{limit="messagesPerMinute",of="key"} 1')
})

test('a key has its own quota of sessions and bytes, over every way of writing, and another key is not touched by it', async () => {
  const metrics = new Metrics()
  const app = await Application.open({ metrics, quotas: (limit, of) => metrics.quotaRefused(limit, of) })
  const key = await app.newKey({ scope: 'write' })
  const [made] = (await app.get('/keys')).result.filter(({ scope }: { scope: string }) => scope === 'write')
  const set = (limits: object) => app.send('PUT', '/quota', { body: { ...limits, key_id: made.key_id } })
  expect((await app.get(`/quota?key_id=${made.key_id}`)).result.used).toBeNull()
  expect((await set({ sessions: 2, bytes: 5000 })).result).toEqual({
    sessions: 2,
    bytes: 5000,
    messages_per_minute: null,
    used: { sessions: 0, bytes: 0 },
  })
  await app.post('/sessions', { session_id: 'a' }, { key })
  await app.post('/sessions/b/messages', { role: 'user', content: 'x' }, { key })
  expect((await app.get(`/quota?key_id=${made.key_id}`)).result.used).toMatchObject({ sessions: 2 })
  const no = { status: 429, error: { code: 'RESOURCE_EXHAUSTED', details: { quota: 'sessions', of: 'key', limit: 2, used: 2 } } }
  expect(await app.post('/sessions', { session_id: 'c' }, { key })).toMatchObject(no)
  expect(await app.post('/sessions/c/messages', { role: 'user', content: 'x' }, { key })).toMatchObject(no)
  expect(await app.post('/sessions/a/fork', {}, { key })).toMatchObject(no)
  expect((await app.post('/sessions', { session_id: 'c' })).status).toBe(200)
  const content = 'x'.repeat(3000)
  const first = await app.post('/sessions/a/messages', { id: 'm', role: 'user', content }, { key })
  expect(first.status).toBe(200)
  const full = { status: 429, error: { details: { quota: 'bytes', of: 'key', limit: 5000 } } }
  expect(await app.post('/sessions/a/messages', { role: 'user', content }, { key })).toMatchObject(full)
  expect(await app.send('PUT', '/sessions/a/messages/m', { body: { message: { role: 'user', content } }, key })).toMatchObject(full)
  expect(
    await app.send('PUT', '/sessions/a/entries', { body: { entries: [{ channel: 'c', key: 'k', value: content }] }, key }),
  ).toMatchObject(full)
  expect((await app.post('/sessions/a/messages', { role: 'user', content })).status).toBe(200)
  expect(await (await app.raw('GET', '/metrics')).text()).toContain('holdfast_quota_refusals_total{limit="bytes",of="key"} 3')
  // Without a quota nothing is counted; a new one begins at nothing.
  await set({})
  expect((await app.post('/sessions/a/messages', { role: 'user', content }, { key })).status).toBe(200)
  await set({ bytes: 5000 })
  expect((await app.post('/sessions/a/messages', { role: 'user', content }, { key })).status).toBe(200)
})

test('how long a space keeps things is set by an operator, told, and gone by; null is no time after which anything goes', async () => {
  const app = await Application.open()
  const never = { delete_idle_after_seconds: null, drop_archives_after_seconds: null, purge_deleted_after_seconds: null }
  expect((await app.get('/retention')).result).toEqual(never)
  const put = await app.send('PUT', '/retention', { body: { delete_idle_after_seconds: 0, purge_deleted_after_seconds: 60 } })
  expect(put.result).toEqual({ ...never, delete_idle_after_seconds: 0, purge_deleted_after_seconds: 60 })
  await app.post('/sessions', { session_id: 'a' })
  expect((await app.post('/expire', { dry_run: true })).result).toMatchObject([{ session_id: 'a', action: 'deleted', dry_run: true }])
  expect((await app.get('/sessions/a')).status).toBe(200)
  expect((await app.post('/expire', { delete_idle_after_seconds: 3600 })).result).toEqual([])
  const refused = await app.post('/expire', { delete_idle_after_seconds: null })
  expect(refused).toMatchObject({ status: 400, error: { code: 'INVALID_ARGUMENT' } })
  expect(JSON.stringify(refused.error)).toContain('delete_idle_after_seconds')
  expect((await app.get('/sessions/a')).status).toBe(200)
  expect((await app.post('/expire', {})).result).toMatchObject([{ session_id: 'a', action: 'deleted', dry_run: false }])
  const other = await app.newKey({ scope: 'admin', space: 'elsewhere' })
  expect((await app.get('/retention', { key: other })).result).toEqual(never)
  expect((await app.send('PUT', '/retention', { body: {}, key: await app.newKey({ scope: 'write' }) })).status).toBe(403)
  expect((await app.send('PUT', '/retention', { body: { delete_idle_after_seconds: -1 } })).status).toBe(400)
  expect((await app.send('PUT', '/retention', { body: {} })).result).toEqual(never)
})

test('the audit is handed out to an operator of the space, with reads of shares, and says nothing of what was said', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: 'Quagmire' })
  const { token } = (await app.post('/sessions/a/shares')).result
  await app.get(`/shared/${token}`, { key: null })
  await app.get(`/shared/${token}`, { key: null })
  const { result } = await app.get('/audit')
  const of = (action: string) => result.filter((entry: { action: string }) => entry.action === action)
  expect(of('POST /sessions/{id}/messages')).toMatchObject([{ session_id: 'a', status: 200, count: 1 }])
  // Written down together, or one after the other on a busy machine.
  const reads = of('GET /shared/{token}')
  for (const entry of reads) expect(entry).toMatchObject({ key_id: expect.stringContaining('share '), session_id: 'a' })
  expect(reads.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(2)
  expect(JSON.stringify(result)).not.toMatch(new RegExp(`Quagmire|${token}`))
  const other = await app.newKey({ scope: 'admin', space: 'elsewhere' })
  expect((await app.get('/audit', { key: other })).result.filter(({ space }: { space: string }) => space === 'default')).toEqual([])
  expect((await app.get('/audit', { key: await app.newKey({ scope: 'write' }) })).status).toBe(403)
})

test('an operator destroys the key of a session, and nobody reads it any more', async () => {
  const app = await Application.open({ encryption: { masterKey: Buffer.alloc(32, 9) } })
  await app.post('/sessions/a/messages', { role: 'user', content: 'x' })
  expect((await app.send('DELETE', '/sessions/a/key', { key: await app.newKey({ scope: 'write' }) })).status).toBe(403)
  expect((await app.send('DELETE', '/sessions/a/key')).result).toEqual({ session_id: 'a', destroyed: true })
  expect((await app.send('DELETE', '/sessions/a/key')).status).toBe(404)
  // It is no use to try again, and a client does not.
  let asked = 0
  const counting: typeof fetch = async (input, init = {}) => {
    asked++
    return app.app.request(String(input), { ...init, headers: { ...(init.headers as Record<string, string>), host: 'localhost' } })
  }
  const client = connect('http://localhost', { key: app.key, fetch: counting })
  const reading = client.session('a').messages()
  await expect(reading).rejects.toMatchObject({ code: 'UNREADABLE', retryable: false, details: { reason: 'no session key' } })
  expect(asked).toBe(1)
  const plain = await Application.open()
  expect((await plain.send('DELETE', '/sessions/a/key')).status).toBe(412)
})
