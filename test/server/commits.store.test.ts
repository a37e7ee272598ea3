import { expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { Application } from './application.ts'

async function withMessages(...contents: string[]): Promise<Application> {
  const app = await Application.open()
  const messages = contents.map((content, i) => ({ id: `m${i + 1}`, role: i % 2 === 0 ? 'user' : 'assistant', content }))
  await app.post('/sessions/a/messages/batch', { messages })
  return app
}

test('a commit is accepted once, and skipped where nothing is left', async () => {
  const app = await withMessages('Please plan a trip.', 'Done.')
  const headers = { 'idempotency-key': 'c1' }
  const first = await app.post('/sessions/a/commit', {}, { headers })
  expect(first.result).toMatchObject({
    session_id: 'a',
    status: 'accepted',
    task_id: expect.any(String),
    archive_uri: 'viking://user/default/sessions/a/history/archive_001',
    archived: true,
  })
  expect((await app.post('/sessions/a/commit', {}, { headers })).result).toEqual({ ...first.result, duplicate: true })
  expect((await app.post('/sessions/a/commit')).result).toMatchObject({
    status: 'skipped',
    task_id: null,
    archive_uri: null,
    archived: false,
    reason: 'no_messages',
  })
  await app.post('/sessions/a/messages', { role: 'user', content: 'more' })
  expect((await app.post('/sessions/a/commit', { keep_recent_count: 5 })).result).toMatchObject({
    status: 'skipped',
    reason: 'all_within_keep_window',
  })
  const turns = { retention_mode: 'turn_budget', keep_recent_turn_count: 1, retained_message_token_budget: 1000 }
  expect((await app.post('/sessions/a/commit', turns)).result).toMatchObject({ status: 'skipped' })
  expect((await app.post('/sessions/none/commit')).status).toBe(404)
})

test('with wait, the finished task comes back, and the archive, the window and the memories tell of it', async () => {
  const app = await withMessages('Please plan a trip to Oslo. I prefer trains.', 'Booked.')
  const worker = new Worker(app.store)
  worker.start()
  const { result } = await app.post('/sessions/a/commit?wait=true')
  expect(result).toMatchObject({
    status: 'completed',
    task_type: 'session_commit',
    resource_id: 'a',
    archived: true,
    result: { memories_extracted: expect.any(Object) },
  })
  const task = await app.get(`/tasks/${result.task_id}`)
  expect(task.result).toMatchObject({
    task_id: result.task_id,
    status: 'completed',
    attempts: 1,
    created_at: expect.any(Number),
    error: null,
  })
  expect((await app.get('/tasks?status=completed&resource_id=a')).result).toHaveLength(1)
  expect((await app.get('/tasks?task_type=add_resource')).result).toEqual([])
  const archive = await app.get('/sessions/a/archives/archive_001')
  expect(archive.result).toMatchObject({
    archive_id: 'archive_001',
    abstract: expect.stringContaining('Oslo'),
    overview: expect.any(String),
    messages: [
      {
        id: 'm1',
        role: 'user',
        parts: [{ type: 'text', text: 'Please plan a trip to Oslo. I prefer trains.' }],
        created_at: expect.any(String),
      },
      { id: 'm2' },
    ],
  })
  expect((await app.get('/sessions/a/archives/1')).result.archive_id).toBe('archive_001')
  expect((await app.get('/sessions/a/archives/archive_009')).status).toBe(404)
  await app.post('/sessions/a/messages', { role: 'user', content: 'And now?' })
  const context = await app.get('/sessions/a/window?token_budget=4000')
  expect(await app.get('/sessions/a/context?token_budget=4000')).toMatchObject({ status: context.status, result: context.result })
  expect(context.result).toMatchObject({
    latest_archive_overview: expect.stringContaining('Oslo'),
    pre_archive_abstracts: [],
    messages: [
      {
        role: 'user',
        content: 'And now?',
        parts: [{ type: 'text', text: 'And now?' }],
        id: expect.any(String),
        created_at: expect.any(String),
      },
    ],
    estimatedTokens: expect.any(Number),
    stats: { totalArchives: 1, includedArchives: 1, droppedArchives: 0, failedArchives: 0 },
  })
  expect((await app.get('/sessions/a/context?format=stored')).result.messages).toEqual([{ role: 'user', content: 'And now?' }])
  expect((await app.get('/sessions/a/context?format=anthropic')).result.messages).toMatchObject([
    { role: 'user', content: [{ type: 'text' }] },
  ])
  expect((await app.get('/memories')).result).toMatchObject([{ text: expect.stringContaining('trains') }])
  expect((await app.get('/sessions/a')).result).toMatchObject({
    commit_count: 1,
    memories_extracted: { total: 1 },
    last_commit_at: expect.stringMatching(/Z$/),
  })
  await app.send('DELETE', '/sessions/a/archives/archive_001/memories')
  expect((await app.get('/memories')).result).toEqual([])
  await worker.stop()
})

test('a wait is bounded: where no worker is, the commit stands and its task is named', async () => {
  const app = await withMessages('hello')
  const late = await app.raw('POST', '/api/v1/sessions/a/commit?wait=true&timeout_ms=50', { body: {} })
  expect(late.status).toBe(504)
  const { error } = (await late.json()) as { error: { code: string; details: { task_id: string } } }
  expect(error.code).toBe('DEADLINE_EXCEEDED')
  expect((await app.get(`/tasks/${error.details.task_id}`)).result.status).toBe('pending')
  // Without an overview there are texts all the same.
  expect((await app.get('/sessions/a/archives/archive_001')).result).toMatchObject({ status: 'pending', abstract: '', overview: '' })
})

test('tasks are cancelled, retried one by one, and in bulk', async () => {
  const app = await withMessages('hello')
  const { task_id } = (await app.post('/sessions/a/commit')).result
  expect((await app.post(`/tasks/${task_id}/cancel`)).result).toMatchObject({ status: 'cancelled', stage: 'ended' })
  expect((await app.post(`/tasks/${task_id}/retry`)).result).toMatchObject({ status: 'pending' })
  await app.post(`/tasks/${task_id}/cancel`)
  expect((await app.post('/tasks/retry', { status: 'cancelled' })).result).toMatchObject([{ task_id, status: 'pending' }])
  expect((await app.post('/tasks/retry', {})).result).toEqual([])
  expect((await app.get('/tasks/none')).status).toBe(404)
})

test('extraction of live messages is a task too', async () => {
  const app = await withMessages('I live in Oslo.')
  expect((await app.post('/sessions/a/extract')).result).toMatchObject({ status: 'accepted', archived: true })
})

test('snapshots, reverts, undo, forks and their tree', async () => {
  const app = await withMessages('one', 'two')
  await app.post('/sessions/a/snapshots', { name: 's1', at: 'm1' })
  expect((await app.get('/sessions/a/snapshots')).result).toMatchObject([{ name: 's1', message_count: 1, current: false }])
  await app.post('/sessions/a/revert', { to: 's1' })
  expect((await app.get('/sessions/a')).result).toMatchObject({ message_count: 1, can_undo: true })
  await app.post('/sessions/a/undo')
  expect((await app.get('/sessions/a')).result.message_count).toBe(2)
  expect((await app.post('/sessions/a/undo')).error.code).toBe('FAILED_PRECONDITION')
  const headers = { 'idempotency-key': 'f' }
  const fork = await app.post('/sessions/a/fork', { at: 'm1', title: 'Other' }, { headers })
  expect((await app.post('/sessions/a/fork', { at: 'm1', title: 'Other' }, { headers })).result).toEqual(fork.result)
  const child = await app.post('/sessions/a/fork', { child: true, session_id: 'kid' })
  expect((await app.get('/sessions/a/tree')).result).toMatchObject({
    session_id: 'a',
    kind: 'root',
    children: [
      { session_id: fork.result.session_id, kind: 'fork', title: 'Other' },
      { session_id: child.result.session_id, kind: 'child' },
    ],
  })
  expect((await app.get(`/sessions/${fork.result.session_id}/messages`)).result.messages.map(({ id }: { id: string }) => id)).toEqual([
    'm1',
  ])
  expect((await app.get('/sessions/a/turn')).result).toEqual({ status: 'complete', message_ids: ['m1', 'm2'], open_calls: [] })
})

test('a tree and an archive come in pages, with the cursor in the result and in the headers', async () => {
  const app = await withMessages('one', 'two', 'three')
  for (const id of ['b', 'c', 'd']) await app.post('/sessions/a/fork', { session_id: id })
  await app.post('/sessions/a/commit')
  for (const path of ['/sessions/a/tree', '/sessions/a/archives/1', '/sessions/a/archives/1?format=stored']) {
    const first = await app.get(`${path}${path.includes('?') ? '&' : '?'}limit=2`)
    const cursor = first.headers.get('x-next-cursor') as string
    expect(first.result.next_cursor).toBe(cursor)
    expect(first.headers.get('link')).toContain(`cursor=${cursor}`)
    const rest = await app.get(`${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`)
    expect(rest.result.next_cursor).toBeNull()
    expect(rest.headers.get('x-next-cursor')).toBeNull()
    if (path.includes('archives')) expect([first.result.messages.length, rest.result.messages.length]).toEqual([2, 1])
    else expect(rest.result).toMatchObject({ session_id: 'a', continued: true, children: [{ session_id: 'c' }, { session_id: 'd' }] })
    const refused = await app.get(`${path}${path.includes('?') ? '&' : '?'}cursor=nonsense`)
    expect([refused.status, refused.error.details.reason]).toEqual([410, 'cursor'])
  }
})

test('outputs of tools are read by slice', async () => {
  const app = await Application.open()
  const output = `${'x'.repeat(5)}🙂needle${'y'.repeat(5)}`
  const part = { type: 'tool', tool_id: 't1', tool_name: 'search', tool_input: { q: 1 }, tool_output: output, tool_status: 'completed' }
  await app.post('/sessions/a/messages', { role: 'assistant', parts: [{ type: 'text', text: 'Looking.' }, part] })
  expect((await app.get('/sessions/a/tool-results')).result.tool_results).toMatchObject([
    { tool_result_id: 't1', tool_name: 'search', original_chars: 17 },
  ])
  expect((await app.get('/sessions/a/tool-results?tool_name=other')).result.tool_results).toEqual([])
  expect((await app.get('/sessions/a/tool-results/t1?offset=5&limit=7')).result).toMatchObject({
    content: '🙂needle',
    total_chars: 17,
    has_more: true,
  })
  expect((await app.get('/sessions/a/tool-results/t1/search?q=NEEDLE')).result.matches).toMatchObject([{ offset: 6, snippet: output }])
  expect((await app.get('/sessions/a/tool-results/none')).status).toBe(404)
})

test('what was said is found, with where it stands; as OpenViking’s clients look for it too', async () => {
  const app = await withMessages('The parcel is lost in Oslo.', 'I am sorry.')
  const { result } = await app.get('/search?q=parcel')
  expect(result.hits).toMatchObject([
    { session_id: 'a', message_id: 'm1', kind: 'message', snippet: expect.stringContaining('parcel'), marks: [[4, 10]] },
  ])
  expect((await app.get('/search?q=parcel&kinds=memory,summary')).result.hits).toEqual([])
  expect((await app.get('/search?q=parcel&kinds=nonsense')).status).toBe(400)
  for (const path of ['/search/find', '/search/search']) {
    const found = await app.post(path, { query: 'parcel', session_id: 'a', limit: 5 })
    expect(found.result).toMatchObject({
      memories: [],
      skills: [],
      total: 1,
      resources: [{ uri: 'viking://user/default/sessions/a/messages/m1', overview: null }],
    })
  }
  expect((await app.get('/stats')).result).toMatchObject({ sessions: { ok: 1 }, messages: { live: 2, archived: 0 } })
})

test('a memory policy says from whom memories are drawn, which kinds are kept, and whether there is a summary', async () => {
  const app = await Application.open()
  const worker = new Worker(app.store)
  const said = [
    { role: 'user', content: 'My name is Anna. I prefer trains to planes.' },
    { role: 'user', peer_id: 'bob', content: 'My name is Bob. I prefer tea to coffee.' },
  ]
  const memoriesUnder = async (id: string, memory_policy: unknown): Promise<string[]> => {
    await app.post('/sessions', { session_id: id, owner: id, memory_policy })
    await app.post(`/sessions/${id}/messages/batch`, { messages: said })
    await app.post(`/sessions/${id}/commit`)
    await worker.drain()
    const { result } = await app.get(`/memories?owner=${id}`)
    return result.map(({ category, text }: { category: string; text: string }) => `${category}: ${text}`).sort()
  }
  const all = await memoriesUnder('all', {})
  expect(all).toEqual(await memoriesUnder('null', null))
  const [anna, bob] = [/Anna|trains/, /Bob|tea/]
  expect(all.some((text) => anna.test(text))).toBe(true)
  expect(all.some((text) => bob.test(text))).toBe(true)
  const self = await memoriesUnder('self', { peer: { enabled: false } })
  expect(self).toEqual(self.filter((text) => anna.test(text)))
  expect(self.length).toBeGreaterThan(0)
  const peer = await memoriesUnder('peer', { self: { enabled: false } })
  expect(peer).toEqual(peer.filter((text) => bob.test(text)))
  expect(peer.length).toBeGreaterThan(0)
  const liked = await memoriesUnder('liked', { memory_types: ['preferences'] })
  expect(liked).toEqual(liked.filter((text) => text.startsWith('preference: ')))
  expect(liked.length).toBeGreaterThan(0)
  expect(await memoriesUnder('none', { memory_types: [] })).toEqual([])
  expect((await app.get('/sessions/none/archives/archive_001')).result.overview).not.toBe('')

  const silent = { working_memory: { enabled: false }, self: { enabled: false }, peer: { enabled: false } }
  expect(await memoriesUnder('silent', silent)).toEqual([])
  expect((await app.get('/sessions/silent/archives/archive_001')).result).toMatchObject({ status: 'completed', abstract: '', overview: '' })
  expect(await app.post('/sessions', { memory_policy: { self: { enabled: 'no' } } })).toMatchObject({ status: 400 })
  expect(await app.post('/sessions', { memory_policy: { memory_types: 'events' } })).toMatchObject({ status: 400 })
})
