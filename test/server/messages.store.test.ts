import { expect, test } from 'vitest'
import { Application } from './application.ts'

test('a message is kept as it was sent, and the session is made for it', async () => {
  const app = await Application.open()
  const message = { role: 'user', content: 'hi', peer_id: 'web', created_at: '2026-01-01T00:00:00Z', odd: { a: [1, null] } }
  const { result, headers } = await app.post('/sessions/a/messages', message)
  expect(result).toEqual({
    session_id: 'a',
    message_count: 1,
    pending_tokens: expect.any(Number),
    message_id: expect.any(String),
    version: expect.any(String),
    duplicate: false,
  })
  expect(headers.get('etag')).toBe(`"${result.version}"`)
  expect(result.pending_tokens).toBe((await app.get('/sessions/a')).result.pending_tokens)
  const page = await app.get('/sessions/a/messages')
  expect(page.result).toMatchObject({
    messages: [{ id: result.message_id, archived: false, archive_id: null, depth: 1, message }],
    more: false,
  })
  expect(page.result.messages[0].message).toEqual(message)
})

test('a message with an id, and a call with a key, are there once; another body is refused', async () => {
  const app = await Application.open()
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'once' }] }
  expect((await app.post('/sessions/a/messages', message)).result).toMatchObject({ message_id: 'm1', duplicate: false, message_count: 1 })
  expect((await app.post('/sessions/a/messages', message)).result).toMatchObject({ message_id: 'm1', duplicate: true, message_count: 1 })
  expect(await app.post('/sessions/a/messages', { ...message, more: 1 })).toMatchObject({ status: 409, error: { code: 'CONFLICT' } })
  const headers = { 'idempotency-key': 'k' }
  const first = await app.post('/sessions/a/messages', { role: 'user', content: 'x' }, { headers })
  const again = await app.post('/sessions/a/messages', { role: 'user', content: 'x' }, { headers })
  expect(again.result).toEqual({ ...first.result, duplicate: true })
  expect((await app.post('/sessions/a/messages', { role: 'user', content: 'y' }, { headers })).status).toBe(409)
})

test('a batch is kept or refused as a whole', async () => {
  const app = await Application.open()
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ]
  expect((await app.post('/sessions/a/messages/batch', { messages })).result).toMatchObject({ session_id: 'a', message_count: 2, added: 2 })
  for (const wrong of [[], [...messages, { content: 'no role' }], Array.from({ length: 101 }, () => messages[0]), 'text'])
    expect((await app.post('/sessions/a/messages/batch', { messages: wrong })).error.code).toBe('INVALID_ARGUMENT')
  expect((await app.get('/sessions/a')).result.message_count).toBe(2)
})

test.each([
  ['no role', { content: 'x' }],
  ['nothing said', { role: 'user' }],
  ['no object', ['x']],
  ['no JSON', '{"role":'],
  ['an integer that would be rounded', '{"role":"user","content":"x","n":12345678901234567890}'],
  ['nesting without end', `{"role":"user","content":${'['.repeat(5000)}${']'.repeat(5000)}}`],
])('a message with %s is refused, and nothing is written', async (_, body) => {
  const app = await Application.open()
  expect(await app.post('/sessions/a/messages', body)).toMatchObject({ status: 400, error: { code: 'INVALID_ARGUMENT' } })
  expect((await app.get('/sessions/a')).status).toBe(404)
})

test('a form, or plain text, which any page can send unasked, is no body', async () => {
  const app = await Application.open()
  const body = '{"role":"user","content":"x"}'
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    expect((await app.post('/sessions/a/messages', body, { headers: { 'content-type': type } })).status).toBe(400)
})

test('too large is told as such', async () => {
  const app = await Application.open()
  const body = { role: 'user', content: 'x'.repeat(9 * 1024 * 1024) }
  expect(await app.post('/sessions/a/messages', body)).toMatchObject({ status: 413, error: { code: 'PAYLOAD_TOO_LARGE' } })
})

test('a condition on the version holds, or nothing is written: 412 by If-Match, 409 by expect', async () => {
  const app = await Application.open()
  const { result } = await app.post('/sessions/a/messages', { role: 'user', content: '1' })
  const match = { headers: { 'if-match': `"${result.version}"` } }
  expect((await app.post('/sessions/a/messages', { role: 'user', content: '2' }, match)).status).toBe(200)
  expect(await app.post('/sessions/a/messages', { role: 'user', content: '3' }, match)).toMatchObject({
    status: 412,
    error: { code: 'FAILED_PRECONDITION', details: { outcome: 'none' } },
  })
  expect(await app.post(`/sessions/a/messages?expect=${result.version}`, { role: 'user', content: '3' })).toMatchObject({
    status: 409,
    error: { code: 'CONFLICT' },
  })
  for (const path of ['/sessions/a/commit', '/sessions/a/fork', '/sessions/a/shares', '/sessions/a/undo'])
    expect((await app.post(path, {}, match)).status, path).toBe(412)
  expect((await app.send('DELETE', '/sessions/a', match)).status).toBe(412)
  expect((await app.get('/sessions/a')).result.message_count).toBe(2)
})

test('pages of messages go both ways', async () => {
  const app = await Application.open()
  const messages = ['a', 'b', 'c', 'd'].map((id) => ({ id, role: 'user', content: id }))
  await app.post('/sessions/s/messages/batch', { messages })
  const ids = async (query: string) => (await app.get(`/sessions/s/messages?${query}`)).result.messages.map(({ id }: { id: string }) => id)
  expect(await ids('limit=2')).toEqual(['c', 'd'])
  expect(await ids('limit=2&before=c')).toEqual(['a', 'b'])
  expect(await ids('limit=2&after=b')).toEqual(['c', 'd'])
  expect(await ids('limit=1&from=start')).toEqual(['a'])
  expect((await app.get('/sessions/s/messages?after=zz')).status).toBe(404)
  expect((await app.get('/sessions/s/messages?limit=100000')).error).toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { validation_errors: [{ field: 'limit' }] },
  })
})

test('a message can be given other content, once the old one is what the caller thinks; it stays readable', async () => {
  const app = await Application.open()
  await app.post('/sessions/s/messages', { id: 'm', role: 'user', content: 'old' })
  const put = (body: object) => app.send('PUT', '/sessions/s/messages/m', { body })
  expect((await put({ message: { role: 'user', content: 'new' }, old: { role: 'user', content: 'else' } })).status).toBe(409)
  expect((await put({ message: { role: 'user', content: 'new' }, old: { id: 'm', role: 'user', content: 'old' } })).status).toBe(200)
  expect((await app.get('/sessions/s/messages/m')).result).toMatchObject({ replaced: true, message: { content: 'new' } })
  expect((await app.get('/sessions/s/messages/m/revisions')).result).toMatchObject([
    { message: { content: 'old' } },
    { message: { content: 'new' } },
  ])
  expect((await app.get('/sessions/s/messages/none')).status).toBe(404)
})

test('entries are kept beside the messages', async () => {
  const app = await Application.open()
  const entries = [
    { channel: 'c', key: 'a', value: { n: 1 } },
    { channel: 'c', key: 'b', value: null },
  ]
  await app.send('PUT', '/sessions/s/entries', { body: { entries } })
  expect((await app.get('/sessions/s/entries?channel=c')).result.map(({ key }: { key: string }) => key)).toEqual(['b', 'a'])
  expect((await app.get('/sessions/s/entries?channel=c&key=a')).result).toMatchObject([{ value: { n: 1 } }])
  await app.send('PUT', '/sessions/s/entries', { body: { entries: [{ channel: 'c', key: 'a' }] } })
  expect((await app.get('/sessions/s/entries?channel=c&key=a')).result).toEqual([])
})

test('answers are compressed for who takes that', async () => {
  const app = await Application.open()
  await app.post('/sessions/s/messages', { role: 'user', content: 'tide '.repeat(1000) })
  for (const [accepted, encoding] of [
    ['gzip, br', 'br'],
    ['gzip;q=0.5', 'gzip'],
    ['br;q=0', null],
  ] as const) {
    const response = await app.raw('GET', '/api/v1/sessions/s/messages', { headers: { 'accept-encoding': accepted } })
    expect(response.headers.get('content-encoding')).toBe(encoding)
  }
})

test('ids of any kind are ids', async () => {
  const app = await Application.open()
  for (const id of ['a/b', '../../etc/passwd', 'ü 漢字 🙂', '%2e', 'con', 'A'.repeat(512), 'q?x=1#f', '\u0000\n']) {
    const path = `/sessions/${encodeURIComponent(id)}/messages`
    expect((await app.post(path, { role: 'user', content: id })).result, id).toMatchObject({ session_id: id, message_count: 1 })
  }
  expect((await app.post(`/sessions/${'A'.repeat(513)}/messages`, { role: 'user', content: 'x' })).status).toBe(400)
})

test('a replaced message keeps a field called __proto__, which counts for what it replaces', async () => {
  const app = await Application.open()
  const path = '/sessions/a/messages/m'
  const content = '{"role":"user","content":"hi","__proto__":{"admin":true},"deep":[{"__proto__":null}]}'
  await app.post('/sessions/a/messages', { role: 'user', content: 'hi', id: 'm' })
  const replaced = await app.send('PUT', path, { body: `{"message":${content}}` })
  expect(replaced.status).toBe(200)
  const body = await (await app.raw('GET', `/api/v1${path}`)).text()
  expect(body).toContain(`"message":${content}`)
  const message = { role: 'user', content: 'later' }
  const old = content.replace('true', 'false')
  const refused = await app.send('PUT', path, { body: `{"message":${JSON.stringify(message)},"old":${old}}` })
  expect(refused).toMatchObject({ status: 409, error: { code: 'CONFLICT', details: { reason: 'other content' } } })
  expect((await app.send('PUT', path, { body: `{"message":${JSON.stringify(message)},"old":${content}}` })).status).toBe(200)
})
