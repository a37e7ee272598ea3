/**
 * The server as its clients have it: an address and a key, and nothing else. Runs against a process of its own, or against whatever
 * HOLDFAST_TEST_URL and HOLDFAST_TEST_KEY name.
 */
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, HoldfastError, type RemoteStore } from '../../src/client/index.ts'
import { SEED } from '../long.ts'
import { type ServerProcess, startForFile } from './process.ts'

let server: ServerProcess | undefined
let url: string
let key: string

beforeAll(async () => {
  const { HOLDFAST_TEST_URL, HOLDFAST_TEST_KEY = '' } = process.env
  if (HOLDFAST_TEST_URL === undefined) server = await startForFile()
  url = HOLDFAST_TEST_URL ?? (server as ServerProcess).url
  key = server?.key ?? HOLDFAST_TEST_KEY
})
afterAll(async () => {
  await server?.stop()
})

interface Envelope {
  readonly status: string
  // biome-ignore lint/suspicious/noExplicitAny: a test says itself what it expects to find
  readonly result?: any
  readonly error?: { readonly code: string; readonly message: string; readonly details: Readonly<Record<string, unknown>> }
}

/** As a client that knows nothing of Holdfast asks. */
async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Envelope & { code: number }> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { ...((await response.json()) as Envelope), code: response.status }
}

describe('OpenViking’s clients work by changing the address', () => {
  test('a conversation, committed, looked up and deleted, with the fields and nulls that they know', async () => {
    const id = `ov-${randomUUID()}`
    const created = await ask('POST', '/sessions', { session_id: id })
    expect(created).toMatchObject({
      code: 200,
      status: 'ok',
      result: { session_id: id, user: { account_id: expect.any(String), user_id: expect.any(String) }, auto_commit_policy: null },
    })
    expect(await ask('POST', '/sessions', { session_id: id })).toMatchObject({
      code: 409,
      status: 'error',
      error: { code: 'ALREADY_EXISTS' },
    })
    const parts = [
      { type: 'text', text: 'Let me search.' },
      { type: 'context', uri: 'viking://resources/docs/', context_type: 'resource', abstract: 'A guide' },
      { type: 'tool', tool_id: 'call_1', tool_name: 'search', tool_input: { q: 'x' }, tool_output: 'Found.', tool_status: 'completed' },
    ]
    expect((await ask('POST', `/sessions/${id}/messages`, { role: 'user', content: 'How do I log in?' })).result).toMatchObject({
      session_id: id,
      message_count: 1,
    })
    expect(
      (await ask('POST', `/sessions/${id}/messages`, { role: 'assistant', parts, peer_id: 'p', turn_id: 't' })).result.message_count,
    ).toBe(2)
    const batch = await ask('POST', `/sessions/${id}/messages/batch`, { messages: [{ role: 'user', content: 'Thanks.' }] })
    expect(batch.result).toMatchObject({ session_id: id, message_count: 3, added: 1 })
    const info = (await ask('GET', `/sessions/${id}`)).result
    for (const field of [
      'session_id',
      'created_at',
      'updated_at',
      'message_count',
      'total_message_count',
      'commit_count',
      'memories_extracted',
      'last_commit_at',
      'llm_token_usage',
      'user',
      'pending_tokens',
      'auto_commit_policy',
    ])
      expect(info, field).toHaveProperty(field)
    const context = (await ask('GET', `/sessions/${id}/context?token_budget=128000`)).result
    expect(context).toMatchObject({ latest_archive_overview: '', pre_archive_abstracts: [] })
    expect(context.messages.map((message: { parts: { text?: string }[] }) => message.parts[0]?.text)).toEqual([
      'How do I log in?',
      'Let me search.',
      'Thanks.',
    ])
    expect((await ask('POST', `/sessions/${id}/used`, { contexts: ['viking://resources/docs/'] })).result).toEqual({
      session_id: id,
      contexts_used: 1,
      skills_used: 0,
    })
    const commit = (await ask('POST', `/sessions/${id}/commit`, {})).result
    expect(commit).toMatchObject({ session_id: id, status: 'accepted', task_id: expect.any(String), archived: true })
    let task = (await ask('GET', `/tasks/${commit.task_id}`)).result
    while (task.status === 'pending' || task.status === 'running') task = (await ask('GET', `/tasks/${commit.task_id}`)).result
    expect(task).toMatchObject({
      task_type: 'session_commit',
      status: 'completed',
      resource_id: id,
      error: null,
      result: { memories_extracted: expect.any(Object) },
    })
    expect((await ask('GET', `/sessions/${id}/archives/archive_001`)).result).toMatchObject({
      archive_id: 'archive_001',
      messages: expect.any(Array),
    })
    expect((await ask('POST', `/sessions/${id}/commit`)).result).toMatchObject({
      status: 'skipped',
      task_id: null,
      archive_uri: null,
      archived: false,
      reason: 'no_messages',
    })
    const listed = (await ask('GET', '/sessions')).result as { session_id: string; uri: string; is_dir: boolean }[]
    expect(listed.find(({ session_id }) => session_id === id)).toMatchObject({ is_dir: true, uri: expect.stringContaining(id) })
    expect((await ask('DELETE', `/sessions/${id}`)).result).toMatchObject({ session_id: id })
    expect(await ask('GET', `/sessions/${id}`)).toMatchObject({ code: 404, status: 'error', error: { code: 'NOT_FOUND' } })
  })

  test.each(['/fs/ls?uri=viking://', '/resources', '/skills', '/system/status', '/observer/queue', '/sessions/x/extract-preview'])(
    'GET %s is named and not served',
    async (path) => {
      const [route = ''] = path.split('?')
      expect(await ask('GET', path)).toMatchObject({
        code: 501,
        error: { code: 'UNIMPLEMENTED', message: expect.stringContaining(route), details: { route: expect.stringContaining(route) } },
      })
    },
  )
})

describe('the client', () => {
  let store: RemoteStore
  beforeAll(() => {
    store = connect(url, { key })
  })
  afterAll(() => store.close())

  test('has the library’s methods, with the library’s answers', async () => {
    const session = await store.create({ id: `client-${randomUUID()}`, title: 'T', tags: ['x'], owner: 'kim', metadata: { n: 1 } })
    const one = await session.append({ role: 'user', content: 'one' }, { ids: ['m1'] })
    expect(one).toMatchObject({ ids: ['m1'], id: 'm1', duplicate: false, messageCount: 1 })
    expect(await session.append({ role: 'user', content: 'one' }, { ids: ['m1'] })).toMatchObject({ duplicate: true })
    const more = await session.append([
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ])
    expect(more.ids).toHaveLength(2)
    expect(await session.info()).toMatchObject({
      title: 'T',
      tags: ['x'],
      owner: 'kim',
      metadata: { n: 1 },
      messageCount: 3,
      status: 'ok',
      parent: null,
    })
    const { messages } = await session.messages({ limit: 2 })
    expect(messages.map(({ message }) => message.content)).toEqual(['two', 'three'])
    expect(await session.message('none')).toBeUndefined()
    await session.replace('m1', { role: 'user', content: 'eins' })
    expect((await session.revisions('m1')).revisions.map(({ message }) => message.content)).toEqual(['one', 'eins'])
    await session.snapshot('s', { at: 'm1' })
    await session.revert({ snapshot: 's' })
    expect((await session.window()).messages).toEqual([{ role: 'user', content: 'eins' }])
    await session.undo()
    const fork = await session.fork({ at: 'm1' })
    expect((await fork.info()).parent).toEqual({ session: session.id, kind: 'fork', message: 'm1' })
    expect((await session.tree()).children).toHaveLength(1)
    await session.putEntries([{ channel: 'c', key: 'k', value: { a: [1] } }])
    expect(await session.entry('c', 'k')).toMatchObject({ value: { a: [1] } })
    await session.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 2 })
    expect(await session.usage()).toEqual([{ model: 'm', calls: 1, inputTokens: 1, outputTokens: 2 }])
    expect((await session.turn()).status).toBe('unanswered')
    const committed = await session.commit({ keep: 1 })
    if (committed.status !== 'accepted') throw new Error('the commit was skipped')
    expect(await committed.task.completed()).toMatchObject({ number: 1, status: 'completed', messageCount: 2 })
    expect(await session.archive(1)).toMatchObject({ number: 1, messages: [{ id: 'm1' }, {}] })
    expect(await session.archive(9)).toBeUndefined()
    expect(await (await store.task(committed.task.id)).info()).toMatchObject({ session: session.id, archive: 1, status: 'completed' })
    expect((await store.list({ query: session.id })).sessions).toMatchObject([{ id: session.id }])
    expect((await store.search(`"eins"`, { session: session.id })).hits).toMatchObject([{ session: session.id, message: 'm1' }])
    const { token } = await session.share()
    expect((await store.shared(token)).page.messages.map(({ id }) => id)[0]).toBe('m1')
    expect(await session.damage()).toEqual([])
    await session.delete()
    await expect(session.info()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await session.restore()
    await expect(session.append({ role: 'user', content: 'x' }, { expect: '1-00000000' })).rejects.toMatchObject({
      code: 'CONFLICT',
      outcome: 'none',
    })
  })

  test('follows a session across pages of changes, and ends when it is told to', async () => {
    const session = store.session(`follow-${randomUUID()}`)
    await session.append({ role: 'user', content: '0' })
    const over = new AbortController()
    const changes = session.follow({ signal: over.signal })
    const coming = changes.next()
    await session.append({ role: 'user', content: '1' })
    const { value } = await coming
    expect(value).toMatchObject({
      type: 'messages.appended',
      messages: [{ message: { content: '1' } }],
      record: { messages: [{ content: '1' }] },
    })
    const fromStart = session.follow({ fromStart: true, signal: over.signal })
    expect([(await fromStart.next()).value.type, (await fromStart.next()).value.type]).toEqual(['session.created', 'messages.appended'])
    over.abort()
    expect((await changes.next()).done).toBe(true)
  })

  test('tells what went wrong as the library does, and an address where nobody is', async () => {
    await expect(store.session('none').info()).rejects.toBeInstanceOf(HoldfastError)
    await expect(connect(url, { key: 'wrong' }).list()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(connect('http://127.0.0.1:9', { retries: 1 }).list()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true })
    await expect(store.create({ id: 'x'.repeat(600) })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('whatever is sent', () => {
  const healthy = async (): Promise<void> => expect((await fetch(`${url}/health`)).status).toBe(200)

  test('fuzzed ids and bodies get an answer of ours, and never an inner error', async () => {
    const paths = [
      '/sessions',
      '/sessions/{id}/messages',
      '/sessions/{id}/messages/batch',
      '/sessions/{id}/messages/group',
      '/sessions/{id}/messages/replace-tail',
      '/sessions/{id}/commit',
      '/sessions/{id}/fork',
      '/sessions/{id}/shares',
      '/sessions/{id}/revert',
      '/search/find',
      '/tokens',
      '/sessions/{id}/used',
    ]
    const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter((text) => text.isWellFormed() && !/^\.{1,2}$/.test(text))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        id,
        fc.oneof(
          fc.json(),
          fc.string(),
          fc.jsonValue().map((value) => JSON.stringify(value)),
        ),
        async (path, session, body) => {
          const answer = await ask('POST', path.replace('{id}', encodeURIComponent(session)), body)
          expect(answer.status).toMatch(/^(ok|error)$/)
          expect([200, 400, 404, 409, 412]).toContain(answer.code)
        },
      ),
      { numRuns: 150, seed: SEED },
    )
    await healthy()
  })

  test('fuzzed queries and headers get an answer of ours', async () => {
    const paths = ['/sessions', '/sessions/a/messages', '/sessions/a/context', '/tasks', '/search', '/memories', '/sessions/a/tool-results']
    const header = fc.stringMatching(/^[ -~]{0,40}$/)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.webQueryParameters(), header, header, async (path, query, match, range) => {
        const answer = await ask('GET', `${path}?${query}`, undefined, { 'if-match': match, 'accept-encoding': range })
        expect([200, 400, 404, 410]).toContain(answer.code)
      }),
      { numRuns: 100, seed: SEED },
    )
    await healthy()
  })

  test('a body beyond the limit is refused while it is still coming', async () => {
    // Not by fetch: given a body that never ends, it may take all of it before it looks at the answer.
    const request = http.request(`${url}/api/v1/sessions/big/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
    })
    const outcome = new Promise<number | 'cut off' | undefined>((resolve) => {
      request.on('response', ({ statusCode }) => resolve(statusCode))
      request.on('error', () => resolve('cut off'))
    })
    const send = (): void => {
      while (request.write(Buffer.alloc(1024 * 1024, ' ')));
    }
    request.on('drain', send)
    send()
    expect([413, 'cut off']).toContain(await outcome)
    request.destroy()
    await healthy()
  })
})

test('health, readiness, the document and its page need no key; metrics do', async () => {
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok', version: expect.any(String) })
  expect(await (await fetch(`${url}/ready`)).json()).toMatchObject({ status: 'ready', checks: { store: 'ok' } })
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { openapi: string; paths: Record<string, object> }
  expect(document.openapi).toBe('3.1.0')
  expect(Object.keys(document.paths)).toContain('/api/v1/sessions/{id}/messages')
  const page = await (await fetch(`${url}/docs`)).text()
  for (const path of Object.keys(document.paths)) expect(page).toContain(path)
  expect((await fetch(`${url}/metrics`)).status).toBe(401)
  const metrics = await (await fetch(`${url}/metrics`, { headers: { 'x-api-key': key } })).text()
  for (const name of [
    'holdfast_request_seconds_bucket',
    'holdfast_journal_sync_seconds_count',
    'holdfast_journal_group_records_sum',
    'holdfast_worker_queue',
    'holdfast_appended_messages_total',
  ])
    expect(metrics).toContain(name)
})
