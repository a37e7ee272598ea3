import { expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { Cli, objectsIn } from './holdfast.ts'

const TASK_ID = expect.stringMatching(/^[0-9a-f-]{36}\.[A-Za-z0-9_-]+$/)
const TIME = expect.stringMatching(/^\d{4}-.*Z$/)
/** Of tasks: seconds since 1970. */
const SECONDS = expect.any(Number)
const uri = (archive: string) => `viking://user/default/sessions/a/history/${archive}`

/** A task without a summary: the archive of session "a". */
const pending = {
  task_id: TASK_ID,
  task_type: 'session_commit',
  status: 'pending',
  stage: 'waiting',
  created_at: SECONDS,
  updated_at: SECONDS,
  resource_id: 'a',
  archive_id: 'archive_001',
  attempts: 0,
  result: null,
  error: null,
}

/** Commits that a worker has given up. */
async function prepareFailed(cli: Cli, ...sessions: string[]): Promise<void> {
  await cli.prepare(async (store) => {
    for (const id of sessions) {
      const session = store.session(id)
      await session.append({ role: 'user', content: `About ${id}.` })
      await session.commit()
    }
    const model = { name: 'broken', inputTokens: 1000, summarise: () => Promise.reject(new Error('no answer')) }
    await new Worker(store, { model, attempts: 1 }).drain()
  })
}

test('commit tells the task and how much it took, keeps what it is told to, and skips where nothing is left', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2', 'm3')
  const first = await cli.one('commit', 'a', '--keep', '1', '--key', 'k')
  expect(first).toEqual({
    session_id: 'a',
    status: 'accepted',
    task_id: TASK_ID,
    archive_uri: uri('archive_001'),
    archived: true,
    reason: null,
    archive_id: 'archive_001',
    archived_count: 2,
    duplicate: false,
  })
  expect(await cli.one('commit', 'a', '--keep', '1', '--key', 'k')).toEqual({ ...first, duplicate: true })
  expect(await cli.messageIds('a')).toEqual(['m3'])
  const nothing = {
    session_id: 'a',
    status: 'skipped',
    task_id: null,
    archive_uri: null,
    archived: false,
    archive_id: null,
    archived_count: 0,
    duplicate: false,
  }
  expect(await cli.one('commit', 'a', '--keep-turns', '1', '--token-budget', '10')).toEqual({
    ...nothing,
    reason: 'all_within_keep_window',
  })
  expect(await cli.one('commit', 'a')).toMatchObject({ archive_id: 'archive_002', archived_count: 1 })
  expect(await cli.one('commit', 'a', '--wait')).toEqual({ ...nothing, reason: 'no_messages' })
})

test('commit refuses what does not go together, and a session that is not there', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  expect((await cli.failure(['commit', 'a', '--keep', '1', '--keep-turns', '1'])).status).toBe(2)
  expect((await cli.failure(['commit', 'a', '--token-budget', '1'])).status).toBe(2)
  expect((await cli.failure(['commit', 'nope'])).status).toBe(3)
})

test('commit --wait makes the summary itself where no worker runs, and prints the finished task', async () => {
  const cli = new Cli()
  await cli.prepareMessages('other', 'x')
  await cli.one('commit', 'other')
  await cli.one('append', 'a', 'Please rename the parser.')
  expect(await cli.one('commit', 'a', '--wait')).toEqual({
    ...pending,
    status: 'completed',
    stage: 'ended',
    attempts: 1,
    result: { session_id: 'a', archive_uri: uri('archive_001'), abstract: 'Please rename the parser.', memories_extracted: {} },
  })
  // Only what was asked for: the rest is for whoever runs a worker.
  expect(await cli.one('tasks', 'other')).toMatchObject({ status: 'pending' })
})

test('commit --wait leaves the task to a worker that runs', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  await cli.prepare(async (store) => {
    const summary = { abstract: 'By the worker.', overview: 'By the worker.', memories: [] }
    const worker = new Worker(store, { model: { name: 'stub', inputTokens: 1000, summarise: async () => summary } })
    worker.start()
    expect(await cli.one('commit', 'a', '--wait')).toMatchObject({ status: 'completed', result: { abstract: 'By the worker.' } })
    await worker.stop()
  })
})

test('tasks lists by session and status, the newest first, and task shows one', async () => {
  const cli = new Cli()
  await prepareFailed(cli, 'b')
  await cli.prepareMessages('a', 'm1')
  const { task_id } = await cli.one('commit', 'a')
  expect((await cli.json('tasks')).map(({ resource_id }) => resource_id)).toEqual(['a', 'b'])
  expect(await cli.json('tasks', '--limit', '1')).toEqual([pending])
  expect(await cli.one('tasks', '--session', 'a')).toEqual(pending)
  expect(await cli.one('tasks', '--status', 'failed')).toMatchObject({
    resource_id: 'b',
    stage: 'ended',
    attempts: 1,
    error: { code: 'MODEL_FAILED', message: 'no answer' },
  })
  expect(await cli.json('tasks', 'a', '--status', 'failed')).toEqual([])
  expect(await cli.one('task', String(task_id))).toEqual(pending)
  expect((await cli.run(['tasks'])).stdout).toMatch(/^TASK +SESSION +ARCHIVE +STATUS.*\n\S+\.\S+ +a +1 +pending/)
  expect((await cli.run(['task', String(task_id)])).stdout).toBe('a, archive 1: pending\n')
})

test('task cancels and retries; what has ended, and what is not there, is refused', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const id = String((await cli.one('commit', 'a')).task_id)
  expect(await cli.one('task', id, 'cancel')).toMatchObject({ task_id: id, status: 'cancelled' })
  expect(await cli.one('task', id, 'retry')).toMatchObject({ status: 'pending', attempts: 0 })
  await cli.json('work', '--once')
  expect(await cli.failure(['task', id, 'cancel'])).toMatchObject({ status: 4, code: 'CONFLICT' })
  expect(await cli.failure(['task', 'nope'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  expect((await cli.failure(['task', id, 'stop'])).status).toBe(2)
})

test('tasks retry begins many again, no faster than it is told, and only those that are meant', async () => {
  const cli = new Cli()
  await prepareFailed(cli, 'a', 'b', 'c')
  expect((await cli.failure(['tasks', 'retry'])).message).toContain('--status failed')
  expect((await cli.failure(['tasks', 'retry', '--status', 'failed', '--rate', '0'])).status).toBe(2)
  expect((await cli.failure(['tasks', '--since', '6h'])).status).toBe(2)
  expect(await cli.json('tasks', 'retry', '--status', 'failed', '--since', '0s')).toEqual([])
  expect(await cli.json('tasks', 'retry', '--status', 'failed', '--session', 'b')).toMatchObject([{ resource_id: 'b', status: 'pending' }])
  const begun = performance.now()
  const rest = await cli.json('tasks', 'retry', '--status', 'failed', '--since', '6h', '--rate', '2')
  expect(performance.now() - begun).toBeGreaterThan(500)
  expect(rest.map(({ resource_id, status, attempts }) => [resource_id, status, attempts])).toEqual([
    ['a', 'pending', 0],
    ['c', 'pending', 0],
  ])
})

test('archives lists them, and shows one with its overview and its messages', async () => {
  const cli = new Cli()
  await prepareFailed(cli, 'a')
  await cli.one('append', 'a', 'Please write the tests.', '--message-id', 'm2')
  await cli.one('commit', 'a', '--wait')
  const second = {
    session_id: 'a',
    archive_id: 'archive_002',
    status: 'completed',
    message_count: 1,
    abstract: 'Please write the tests.',
    created_at: TIME,
    updated_at: TIME,
    tokens: expect.any(Number),
    task_id: TASK_ID,
    attempts: 1,
    error: null,
    spans: [{ from: 2, to: 2 }],
  }
  expect(await cli.json('archives', 'a')).toEqual([
    {
      ...second,
      spans: [{ from: 1, to: 1 }],
      archive_id: 'archive_001',
      status: 'failed',
      abstract: null,
      error: { code: 'MODEL_FAILED', message: 'no answer' },
    },
    second,
  ])
  const message = { role: 'user', content: 'Please write the tests.' }
  expect(await cli.one('archives', 'a', '2')).toEqual({
    ...second,
    overview: expect.stringContaining('## Goal'),
    messages: [{ id: 'm2', at: TIME, archived: true, archive_id: 'archive_002', message }],
    next_cursor: null,
  })
  const { stdout } = await cli.run(['archives', 'a'])
  expect(stdout).toMatch(
    /^archive 1 {2}1 message {2}.* {2}failed: no answer\narchive 2 {2}1 message {2}.* {2}completed\n {2}Please write the tests\.\n$/,
  )
  const one = await cli.run(['archives', 'a', '2'])
  expect(one.stdout).toMatch(/^archive 2 .*\n {2}Please write the tests\.\n\noverview\n {2}## Goal[\s\S]*\nuser .*m2 .*\n {2}Please write/)
  expect(await cli.failure(['archives', 'a', '3'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  expect((await cli.failure(['archives', 'a', 'two'])).status).toBe(2)
})

test('context has the overview, the abstracts and the newest messages, in the shape that is wanted, and tells what it left out', async () => {
  const cli = new Cli()
  for (const text of ['Please plan the trip to Oslo.', 'Please book a hotel.']) {
    await cli.one('append', 'a', text)
    await cli.one('commit', 'a', '--wait')
  }
  await cli.one('append', 'a', `${'Long ago. '.repeat(200)}`, '--message-id', 'long')
  await cli.one('append', 'a', 'And now?', '--message-id', 'now')
  const window = await cli.one('window', 'a', '--budget', '300', '--recall', 'Oslo trip', '--format', 'anthropic')
  expect(window).toEqual({
    latest_archive_overview: expect.stringContaining('Oslo'),
    pre_archive_abstracts: [{ archive_id: 'archive_001', abstract: 'Please plan the trip to Oslo.' }],
    recalled: [expect.objectContaining({ kind: 'message', text: 'Please plan the trip to Oslo.' })],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'And now?' }] }],
    estimatedTokens: expect.any(Number),
    stats: {
      totalArchives: 2,
      includedArchives: 2,
      droppedArchives: 0,
      failedArchives: 0,
      activeTokens: expect.any(Number),
      archiveTokens: expect.any(Number),
    },
    left_out: [{ kind: 'message', id: 'long', reason: 'budget' }],
  })
  const people = await cli.run(['window', 'a', '--budget', '300'])
  expect(people.stdout).toMatch(/^earlier\n {2}1: Please plan[\s\S]*\noverview\n {2}## Goal[\s\S]*\nuser\n {2}And now\?\n$/)
  expect(people.stderr).toMatch(/^About \d+ tokens; left out: 1 × message \(budget\)\.\n$/)
  const messages = await cli.run(['context', 'a', '--budget', '300', '--format', 'openai'])
  expect(objectsIn(messages.stdout)).toEqual([{ role: 'user', content: 'And now?' }])
  expect(await cli.one('context', 'a', '--format', 'text')).toMatchObject({ text: expect.stringContaining('user\n  And now?') })
  expect((await cli.failure(['window', 'nope'])).status).toBe(3)
  expect((await cli.failure(['context', 'a', '--format', 'xml'])).status).toBe(2)
})

test('memories lists those of an owner, and finds them by words', async () => {
  const cli = new Cli()
  await cli.one('new', 'a', '--owner', 'kim')
  await cli.one('append', 'a', 'I prefer tabs. I live in Oslo.', '--message-id', 'm1')
  await cli.one('commit', 'a', '--wait')
  expect(await cli.json('memories')).toEqual([])
  const all = await cli.json('memories', '--owner', 'kim')
  expect(all.length).toBeGreaterThan(1)
  expect(await cli.json('memories', 'where', 'Oslo', '--owner', 'kim')).toEqual([
    {
      memory_id: expect.any(String),
      text: expect.stringContaining('Oslo'),
      category: expect.any(String),
      key: expect.any(String),
      owner: 'kim',
      updated_at: TIME,
      sources: [{ session_id: 'a', archive_id: 'archive_001', message_ids: ['m1'] }],
    },
  ])
  expect((await cli.run(['memories'])).stderr).toContain('--owner names whose')
  expect((await cli.run(['memories', '--owner', 'kim'])).stdout).toMatch(/^CATEGORY +MEMORY/)
})
