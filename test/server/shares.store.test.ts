import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { Application } from './application.ts'

test('a share shows the session as it was, to whoever has the token, until it is revoked', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { id: 'm1', role: 'user', content: 'first' })
  await app.send('PATCH', '/sessions/a', { body: { title: 'Refund' } })
  const { token, share_id } = (await app.post('/sessions/a/shares', {})).result
  await app.post('/sessions/a/messages', { id: 'm2', role: 'user', content: 'later' })
  await app.post('/sessions/a/commit', {})
  const shared = await app.get(`/shared/${token}`, { key: null })
  expect(shared.result).toMatchObject({ title: 'Refund', message_count: 1, messages: [{ id: 'm1' }], more: false })
  expect(shared.headers.get('x-robots-tag')).toContain('noindex')
  expect(shared.headers.get('referrer-policy')).toBe('no-referrer')
  expect((await app.get('/sessions/a/shares')).result).toMatchObject([{ share_id, message_count: 1 }])
  expect(JSON.stringify((await app.get('/sessions/a/shares')).result)).not.toContain(token)
  for (const path of ['/sessions/a', '/sessions/a/messages']) expect((await app.get(path, { key: token })).status).toBe(401)
  await app.send('DELETE', `/sessions/a/shares/${share_id}`)
  const [gone, never] = [await app.get(`/shared/${token}`, { key: null }), await app.get(`/shared/${'0'.repeat(64)}`, { key: null })]
  expect(gone).toMatchObject({ status: 404, error: { code: 'NOT_FOUND' } })
  expect(gone.error).toEqual(never.error)
})

test('a share ends when it is told to, and with its session', async () => {
  let now = Date.now()
  const clock: Clock = { ...systemClock, now: () => now }
  const app = await Application.open({ clock })
  await app.post('/sessions/a/messages', { role: 'user', content: 'x' })
  const expires_at = new Date(now + 60_000).toISOString()
  const short = (await app.post('/sessions/a/shares', { expires_at })).result
  const long = (await app.post('/sessions/a/shares', {})).result
  expect(short.expires_at).toBe(expires_at)
  now += 61_000
  expect((await app.get(`/shared/${short.token}`, { key: null })).status).toBe(404)
  expect((await app.get(`/shared/${long.token}`, { key: null })).status).toBe(200)
  await app.send('DELETE', '/sessions/a')
  expect((await app.get(`/shared/${long.token}`, { key: null })).status).toBe(404)
})

test('a share that is asked for twice under one key is one share', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: 'x' })
  const headers = { 'idempotency-key': 's' }
  const first = await app.post('/sessions/a/shares', {}, { headers })
  const again = await app.post('/sessions/a/shares', {}, { headers })
  expect(again.result).toEqual({ ...first.result, duplicate: true })
  expect((await app.get('/sessions/a/shares')).result).toHaveLength(1)
  expect((await app.get(`/shared/${again.result.token}`, { key: null })).status).toBe(200)
})
