import { expect, test } from 'vitest'
import { Application } from './application.ts'

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)

test('a session is created once, told in full, and listed', async () => {
  const app = await Application.open()
  const created = await app.post('/sessions', { session_id: 'a', title: 'Refund', tags: ['x'], owner: 'kim', metadata: { n: 1 } })
  expect(created).toMatchObject({
    status: 200,
    result: {
      session_id: 'a',
      uri: 'viking://user/default/sessions/a',
      user: { account_id: 'default', user_id: 'default' },
      auto_commit_policy: null,
    },
  })
  expect(await app.post('/sessions', { session_id: 'a' })).toMatchObject({ status: 409, error: { code: 'ALREADY_EXISTS' } })
  const { result, headers } = await app.get('/sessions/a')
  expect(result).toMatchObject({
    session_id: 'a',
    uri: 'viking://user/default/sessions/a',
    title: 'Refund',
    tags: ['x'],
    owner: 'kim',
    metadata: { n: 1 },
    created_at: TIME,
    updated_at: TIME,
    message_count: 0,
    total_message_count: 0,
    commit_count: 0,
    pending_tokens: 0,
    last_commit_at: '',
    memories_extracted: { total: 0 },
    llm_token_usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 },
    status: 'ok',
  })
  expect(headers.get('etag')).toBe(`"${created.result.version}"`)
  const list = await app.get('/sessions')
  expect(list.result).toMatchObject([{ session_id: 'a', uri: 'viking://user/default/sessions/a', is_dir: true, mod_time: TIME }])
})

test('a session without an id gets one; under a key it is the same one', async () => {
  const app = await Application.open()
  const one = await app.post('/sessions')
  const other = await app.post('/sessions')
  expect(one.result.session_id).not.toBe(other.result.session_id)
  const headers = { 'idempotency-key': 'k1' }
  const first = await app.post('/sessions', { title: 'T' }, { headers })
  const again = await app.post('/sessions', { title: 'T' }, { headers })
  expect(again.result).toEqual(first.result)
  expect(await app.post('/sessions', { title: 'U' }, { headers })).toMatchObject({ status: 409, error: { code: 'CONFLICT' } })
})

test('a missing session is 404, and is made when the caller wants that', async () => {
  const app = await Application.open()
  expect(await app.get('/sessions/none')).toMatchObject({ status: 404, error: { code: 'NOT_FOUND' } })
  expect(await app.get('/sessions/none?auto_create=true')).toMatchObject({ status: 200, result: { message_count: 0 } })
  expect((await app.get('/sessions/none')).status).toBe(200)
})

test('lists are filtered, ordered and paged, with the next page in the headers', async () => {
  const app = await Application.open()
  for (const id of ['a', 'b', 'c'])
    await app.post('/sessions', { session_id: id, tags: id === 'b' ? ['red'] : [], metadata: { plan: id, n: 1 } })
  const ids = async (query: string) =>
    (await app.get(`/sessions?${query}`)).result.map(({ session_id }: { session_id: string }) => session_id)
  expect(await ids('tag=red')).toEqual(['b'])
  expect(await ids('metadata.plan=c')).toEqual(['c'])
  expect(await ids('metadata.n=1&order=title')).toEqual(['a', 'b', 'c'])
  const page = await app.get('/sessions?order=title&limit=2')
  expect(page.result).toHaveLength(2)
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] as string
  const rest = (await (await app.raw('GET', next)).json()) as { result: { session_id: string }[] }
  expect(rest.result.map(({ session_id }) => session_id)).toEqual(['c'])
  expect(await ids(`order=title&cursor=${page.headers.get('x-next-cursor')}`)).toEqual(['c'])
  expect((await app.get('/sessions?order=title&cursor=nonsense')).error.code).toBe('INVALID_ARGUMENT')
})

test('what a session is called can be changed without touching a message', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: 'hi' })
  const { result } = await app.send('PATCH', '/sessions/a', { body: { title: 'T', metadata: { a: 1 }, add_tags: ['x'] } })
  expect(result).toEqual({ session_id: 'a', version: expect.any(String), duplicate: false })
  expect((await app.get('/sessions/a')).result).toMatchObject({ title: 'T', metadata: { a: 1 }, tags: ['x'], message_count: 1 })
})

test('a session commits by itself as its policy says: defaults fill in, bounds hold, unknown fields are refused', async () => {
  const app = await Application.open()
  const usual = {
    pending_token_threshold: 150_000,
    message_count_threshold: 100,
    idle_timeout_seconds: 86_400,
    keep_recent_count: 0,
    min_commit_interval_seconds: 0,
  }
  const created = await app.post('/sessions', { session_id: 'a', auto_commit_policy: { message_count_threshold: 5000 } })
  expect(created.result.auto_commit_policy).toEqual({ ...usual, message_count_threshold: 1000 })
  const merged = await app.send('PATCH', '/sessions/a/config', { body: { auto_commit_policy: { keep_recent_count: 7 } } })
  expect(merged.result).toMatchObject({ auto_commit_policy: { ...usual, message_count_threshold: 1000, keep_recent_count: 7 } })
  expect((await app.get('/sessions/a')).result.auto_commit_policy).toEqual(merged.result.auto_commit_policy)
  const config = { memory_extraction_config: { events: { tags: ['team=search'] } } }
  expect((await app.send('PATCH', '/sessions/a/config', { body: config })).result).toMatchObject({
    ...config,
    auto_commit_policy: { keep_recent_count: 7 },
  })
  expect((await app.send('PATCH', '/sessions/a/config', { body: { auto_commit_policy: null } })).result.auto_commit_policy).toBeNull()
  expect((await app.send('PATCH', '/sessions/a/config', { body: { auto_commit_policy: { many: 1 } } })).error.code).toBe('INVALID_ARGUMENT')
})

test('a deleted session is gone, listed when asked for, never revived by a late writer, and can be restored', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: 'hi' })
  expect((await app.send('DELETE', '/sessions/a')).result).toMatchObject({ session_id: 'a' })
  expect((await app.send('DELETE', '/sessions/a')).status).toBe(404)
  expect((await app.get('/sessions/a')).status).toBe(404)
  expect((await app.get('/sessions')).result).toEqual([])
  expect((await app.get('/sessions?status=deleted')).result).toMatchObject([{ session_id: 'a', status: 'deleted' }])
  expect(await app.post('/sessions/a/messages', { role: 'user', content: 'late' })).toMatchObject({
    status: 409,
    error: { code: 'CONFLICT' },
  })
  expect((await app.post('/sessions/a/restore')).status).toBe(200)
  expect((await app.get('/sessions/a')).result.message_count).toBe(1)
  await app.send('DELETE', '/sessions/a')
  await app.post('/sessions', { session_id: 'a' })
  expect((await app.get('/sessions/a')).result.message_count).toBe(0)
})

test('what was used is counted, and a repeated call counts once', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 'a' })
  const headers = { 'idempotency-key': 'u1' }
  const used = { session_id: 'a', contexts_used: 2, skills_used: 1 }
  const body = { contexts: ['viking://a', 'viking://b'], skill: { uri: 'viking://s', success: true } }
  expect((await app.post('/sessions/a/used', body, { headers })).result).toEqual(used)
  expect((await app.post('/sessions/a/used', body, { headers })).result).toEqual(used)
  const many = await Promise.all(Array.from({ length: 10 }, () => app.post('/sessions/a/used', { contexts: ['viking://c'] })))
  expect(many.map(({ status }) => status)).toEqual(many.map(() => 200))
  expect((await app.get('/stats/sessions/a')).result).toMatchObject({ contexts_used: 12, skills_used: 1, total_turns: 0 })
})

test('what calls to models took is added up', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 'a' })
  await app.post('/sessions/a/usage', { model: 'm', input_tokens: 5, output_tokens: 2 })
  await app.post('/sessions/a/usage', { model: 'm', input_tokens: 1, output_tokens: 1 })
  expect((await app.get('/sessions/a/usage')).result).toEqual([{ model: 'm', calls: 2, input_tokens: 6, output_tokens: 3 }])
  expect((await app.get('/sessions/a')).result.llm_token_usage).toMatchObject({ prompt_tokens: 6, total_tokens: 9 })
})

test('metadata and policies keep a field called __proto__', async () => {
  const app = await Application.open()
  const fields = '{"a":1,"__proto__":{"admin":true}}'
  const description = `"metadata":${fields},"policies":{"p":${fields},"__proto__":1}`
  await app.post('/sessions', `{"session_id":"a",${description},"memory_extraction_config":${fields}}`)
  await app.post('/sessions', { session_id: 'b' })
  await app.send('PATCH', '/sessions/b', { body: `{${description}}` })
  for (const id of ['a', 'b']) {
    const body = await (await app.raw('GET', `/api/v1/sessions/${id}`)).text()
    expect(body, id).toContain(`"metadata":${fields}`)
    expect(body, id).toContain(`"policies":{"p":${fields},"__proto__":1`)
  }
  expect(await (await app.raw('GET', '/api/v1/sessions/a')).text()).toContain(`"memory_extraction_config":${fields}`)
})
