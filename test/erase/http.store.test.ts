import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import { Application } from '../server/application.ts'

test('over HTTP a message is erased by who may write to its session, and it is written down who did', async () => {
  const app = await Application.open()
  await app.post('/sessions/s/messages', { id: 'm', role: 'user', content: 'Quagmire' })
  const { result, status, headers } = await app.send('DELETE', '/sessions/s/messages/m')
  expect({ status, result }).toMatchObject({ status: 200, result: { session_id: 's', duplicate: false } })
  expect(headers.get('etag')).toContain(result.version)
  expect((await app.get('/sessions/s/messages/m')).result).toMatchObject({ erased: true, message: { content: '[erased]' } })
  expect((await app.get('/sessions/s/messages/m/revisions')).result).toHaveLength(1)
  expect((await app.send('DELETE', '/sessions/s/messages/m')).result).toMatchObject({ duplicate: true })
  expect((await app.send('DELETE', '/sessions/s/messages/none')).error).toMatchObject({ code: 'NOT_FOUND' })
  const reader = await app.newKey({ scope: 'read' })
  expect((await app.send('DELETE', '/sessions/s/messages/m', { key: reader })).error).toMatchObject({ code: 'PERMISSION_DENIED' })
  await app.parts.audit.flush()
  const [day] = (await app.store.in('_store').list()).sessions.filter(({ id }) => id.startsWith('audit'))
  const { messages } = await app.store
    .in('_store')
    .session<JsonObject>(day?.id ?? '')
    .messages()
  const deeds = messages.map(({ message }) => message.action)
  expect(deeds).toContain('DELETE /sessions/{id}/messages/{mid}')
  expect(JSON.stringify(messages)).not.toContain('Quagmire')
})

test('only an operator erases everything of an owner, and only in one space', async () => {
  const app = await Application.open()
  for (const [id, owner] of [
    ['a', 'ann'],
    ['b', 'bob'],
  ]) {
    await app.post('/sessions', { session_id: id, owner })
    await app.post(`/sessions/${id}/messages`, { role: 'user', content: 'hi' })
  }
  const other = await app.newKey({ space: 'elsewhere', scope: 'admin' })
  expect((await app.post('/erase', { owner: 'ann' }, { key: other })).result).toEqual([])
  const writer = await app.newKey({ scope: 'write' })
  expect((await app.post('/erase', { owner: 'ann' }, { key: writer })).error).toMatchObject({ code: 'PERMISSION_DENIED' })
  const told = { session_id: 'a', action: 'purged', messages: 0 }
  expect((await app.post('/erase', { owner: 'ann', dry_run: true })).result).toEqual([{ ...told, dry_run: true }])
  expect((await app.post('/erase', { owner: 'ann' })).result).toEqual([{ ...told, dry_run: false }])
  expect((await app.get('/sessions/a')).error).toMatchObject({ code: 'NOT_FOUND' })
  expect((await app.get('/sessions/b')).status).toBe(200)
})

test('who has a fork of somebody else’s session takes nothing out of that', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 'theirs', owner: 'ann' })
  await app.post('/sessions/theirs/messages', { id: 'm', role: 'user', content: 'hi' })
  await app.post('/sessions/theirs/fork', { session_id: 'mine', owner: 'bob' })
  await app.post('/sessions/mine/messages', { id: 'own', role: 'user', content: 'hi' })
  const bob = await app.newKey({ owner: 'bob' })
  expect((await app.send('DELETE', '/sessions/mine/messages/m', { key: bob })).error).toMatchObject({ code: 'PERMISSION_DENIED' })
  expect((await app.send('DELETE', '/sessions/theirs/messages/m', { key: bob })).error).toMatchObject({ code: 'NOT_FOUND' })
  expect((await app.get('/sessions/theirs/messages/m')).result).toMatchObject({ erased: false, message: { content: 'hi' } })
  expect((await app.send('DELETE', '/sessions/mine/messages/own', { key: bob })).status).toBe(200)
})
