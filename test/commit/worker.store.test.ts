import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { InputTooLong, ModelUnavailable } from '../../src/commit/model.ts'
import { type Attempt, Worker } from '../../src/commit/worker.ts'
import type { Engine } from '../../src/engine/port.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import type { Task } from '../../src/store/tasks.ts'
import { appendAll, eventually, HandClock, turns } from './fixtures.ts'
import { type Asked, StubModel } from './stub-model.ts'

/** A store in memory on a clock that stands still, with a session that was committed. */
async function committed(ids: readonly string[] = ['a', 'b']): Promise<{ clock: HandClock; store: Store; session: Session; task: Task }> {
  const clock = new HandClock()
  const store = await openStore('memory:', { clock })
  const session = store.session('s')
  await appendAll(session, ...ids)
  return { clock, store, session, task: await commitOf(session) }
}

async function commitOf(session: Session): Promise<Task> {
  const result = await session.commit()
  if (result.status !== 'accepted') throw new Error('skipped')
  return result.task
}

/** A model that hands each request to the test, in order. */
function manual(): { model: StubModel; asked: Asked[] } {
  const asked: Asked[] = []
  return { model: new StubModel({ manual: (one) => asked.push(one) }), asked }
}

test('a task is shown as running while a worker has it', async () => {
  const { store, task } = await committed()
  const { model, asked } = manual()
  const worker = new Worker(store, { model })
  worker.start()
  await eventually(async () => expect(await task.info()).toMatchObject({ status: 'running', attempts: 1 }))
  await eventually(() => expect(asked).toHaveLength(1))
  asked[0]?.answer()
  expect(await task.completed()).toMatchObject({ status: 'completed', overview: '[a b]' })
  expect(worker.status).toMatchObject({ completed: 1, failed: 0, breaker: { state: 'closed' } })
  await worker.stop()
})

test('a worker that died is noticed when its lease runs out, and not before', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const clock = new HandClock()
  const store = await openStore(engine, { clock })
  const session = store.session('s')
  await appendAll(session, 'a', 'b')
  const task = await commitOf(session)
  // On a clock that stands still it never shows that it lives, and never comes to an end.
  const dead = new Worker(await openStore(engine, { clock: new HandClock() }), { model: manual().model, leaseMs: 30_000 })
  dead.start()
  await eventually(async () => expect(await task.info()).toMatchObject({ status: 'running', attempts: 1 }))

  const { model, asked } = manual()
  const worker = new Worker(store, { model, leaseMs: 30_000 })
  worker.start()
  await turns()
  await clock.pass(29_000)
  expect(asked).toHaveLength(0)
  await clock.pass(2000)
  expect(asked).toHaveLength(1)
  asked[0]?.answer()
  expect(await task.completed()).toMatchObject({ status: 'completed', attempts: 2 })
  await worker.stop()
})

test('a worker that stops gives its task back at once, and no attempt was spent', async () => {
  const { clock, store, task } = await committed()
  const { model } = manual()
  const worker = new Worker(store, { model })
  worker.start()
  await turns()
  await worker.stop()
  expect(await task.info()).toMatchObject({ status: 'pending', attempts: 0 })
  const other = new Worker(store, { model: new StubModel() })
  other.start()
  await clock.pass(0)
  expect(await task.completed()).toMatchObject({ attempts: 1 })
  await other.stop()
})

test('a failure is tried again after a while, and after so many attempts the task is failed, explained and retryable', async () => {
  const { clock, store, session, task } = await committed()
  const model = new StubModel({ manual: ({ fail }) => fail(new Error('no JSON')) })
  const worker = new Worker(store, { model, attempts: 3 })
  worker.start()
  await turns()
  expect(await task.info()).toMatchObject({ status: 'pending', attempts: 1, error: { code: 'MODEL_FAILED', message: 'no JSON' } })
  expect(model.requests).toHaveLength(1)
  await clock.pass(400)
  expect(model.requests).toHaveLength(1)
  await clock.pass(10_000)
  expect(model.requests).toHaveLength(3)
  expect(await task.info()).toMatchObject({ status: 'failed', attempts: 3, error: { message: 'no JSON' } })
  await expect(task.completed()).rejects.toThrow('no JSON')
  // F15: its messages are still there.
  expect((await session.window()).messages).toHaveLength(2)
  await worker.stop()

  await task.retry()
  await new Worker(store, { model: new StubModel() }).drain()
  expect(await task.completed()).toMatchObject({ status: 'completed' })
})

test('a provider out of service spends no attempt, and nothing is asked of it until the time that it named', async () => {
  const { clock, store, task } = await committed()
  let down = true
  const model = new StubModel({
    manual: ({ answer, fail }) => (down ? fail(new ModelUnavailable('429', { retryAfterMs: 20_000 })) : answer()),
  })
  const worker = new Worker(store, { model })
  worker.start()
  await turns()
  expect(worker.status.breaker).toMatchObject({ state: 'open', failures: 1 })
  const other = store.session('other')
  await appendAll(other, 'x')
  const second = await commitOf(other)
  await clock.pass(19_000)
  expect(model.requests).toHaveLength(1)
  expect(await task.info()).toMatchObject({ status: 'pending', attempts: 0 })
  down = false
  await clock.pass(3000)
  expect(await task.completed()).toMatchObject({ attempts: 1 })
  expect(await second.completed()).toMatchObject({ attempts: 1 })
  expect(worker.status.breaker).toMatchObject({ state: 'closed' })
  await worker.stop()
})

test('a model that never answers costs its own task an attempt, and others go on', async () => {
  const { clock, store, task } = await committed()
  const { model, asked } = manual()
  const worker = new Worker(store, { model, attemptMs: 60_000, concurrency: 2, attempts: 2 })
  worker.start()
  await turns()
  const other = store.session('other')
  await appendAll(other, 'x')
  const second = await commitOf(other)
  await clock.pass(1000)
  asked.find(({ messages }) => messages[0]?.id === 'x')?.answer()
  expect(await second.completed()).toMatchObject({ status: 'completed' })
  await clock.pass(59_200)
  expect(await task.info()).toMatchObject({ status: 'pending', attempts: 1, error: { code: 'DEADLINE_EXCEEDED' } })
  await worker.stop()
})

test('archives of one session are summarised in order, each on the overview before', async () => {
  const { store, session } = await committed()
  await appendAll(session, 'c')
  const second = await commitOf(session)
  const model = new StubModel()
  await new Worker(store, { model, concurrency: 8 }).drain()
  expect(model.requests.map(({ previous }) => previous)).toEqual([null, '[a b]'])
  expect(await second.completed()).toMatchObject({ overview: '[a b][c]' })
})

/** The same engine, with something that happens when a summary stands and is announced, and the disk is not done yet. It is told up to where the feed was read. */
function slowlySynced(engine: Engine, meanwhile: (cursor: () => string | undefined) => Promise<void>): Engine {
  let read: string | undefined
  return {
    supports: engine.supports,
    warnings: [],
    name: (space, id) => engine.name(space, id),
    journal: (name) => {
      const journal = engine.journal(name)
      const append = journal.append.bind(journal)
      return Object.assign(journal, {
        append: async (...words: Parameters<typeof append>) => {
          const appended = await append(...words)
          if (Buffer.from(words[2]).includes('"commit.finished"')) await meanwhile(() => read)
          return appended
        },
      })
    },
    names: (space) => engine.names(space),
    changes: async (cursor) => {
      const changes = await engine.changes(cursor)
      read = changes.cursor
      return changes
    },
    watch: (hint) => engine.watch(hint),
    close: () => engine.close(),
  }
}

test('a commit that another process places right behind a summary is worked on, although the feed named it before the summary was durable', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const session = (await openStore(engine)).session('s')
  await appendAll(session, 'a')
  const tasks = [await commitOf(session)]
  const slow = slowlySynced(engine, async (cursor) => {
    if (tasks.length > 1) return
    await appendAll(session, 'b')
    tasks.push(await commitOf(session))
    const announced = await engine.changes()
    await eventually(() => expect(cursor()).toBe(announced.cursor))
  })
  await new Worker(await openStore(slow), { model: new StubModel() }).drain()
  expect(await Promise.all(tasks.map((task) => task.info()))).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
})

test('two workers on one task: one answer counts', async () => {
  const { clock, store, session, task } = await committed()
  const slow = manual()
  const first = new Worker(store, { model: slow.model, leaseMs: 3000 })
  first.start()
  await turns()
  // The first one is cut off from renewing by cancelling and retrying under it.
  await task.cancel()
  await task.retry()
  const quick = new StubModel()
  const second = new Worker(store, { model: quick })
  second.start()
  await clock.pass(100)
  expect(await task.completed()).toMatchObject({ overview: '[a b]' })
  slow.asked[0]?.answer({ overview: 'late', memories: [] })
  await clock.pass(5000)
  expect((await session.archive(1))?.overview).toBe('[a b]')
  await Promise.all([first.stop(), second.stop()])
})

test('a policy commits by size, and when a session has been idle', async () => {
  const clock = new HandClock()
  const store = await openStore('memory:', { clock })
  const worker = new Worker(store, { model: new StubModel() })
  worker.start()
  const large = await store.create({ id: 'large', policies: { auto_commit: { messages: 3, keep: 1 } } })
  await appendAll(large, 'a', 'b')
  await clock.pass(2000)
  expect((await large.info()).commitCount).toBe(0)
  await appendAll(large, 'c')
  await clock.pass(2000)
  expect(await large.info()).toMatchObject({ commitCount: 1, messageCount: 1 })
  const idle = await store.create({ id: 'idle', policies: { auto_commit: { idle_ms: 60_000 } } })
  await appendAll(idle, 'x')
  await clock.pass(50_000)
  expect((await idle.info()).commitCount).toBe(0)
  await clock.pass(15_000)
  expect(await idle.info()).toMatchObject({ commitCount: 1, messageCount: 0 })
  await worker.stop()
})

test('an archive longer than the model takes comes in parts', async () => {
  const { store, session } = await committed(Array.from({ length: 40 }, (_, i) => `message ${i}`))
  const model = new StubModel({ inputTokens: 200 })
  await new Worker(store, { model }).drain()
  expect(model.requests.length).toBeGreaterThan(2)
  expect(model.extracted).toHaveLength(40)
  expect((await session.archive(1))?.overview).toContain('message 39')
})

test('a provider whose limit is lower than was thought is asked with less', async () => {
  const { store, session } = await committed(Array.from({ length: 8 }, (_, i) => `m${i}`))
  const model = new StubModel({ manual: ({ messages, answer, fail }) => (messages.length > 3 ? fail(new InputTooLong()) : answer()) })
  await new Worker(store, { model }).drain()
  expect(await session.archive(1)).toMatchObject({ status: 'completed', attempts: 1 })
})

test('a worker for one session leaves the others alone, also those of its name in another space', async () => {
  const { store, task } = await committed()
  const others = [store.session('other'), store.in('elsewhere').session('s')]
  for (const other of others) await appendAll(other, 'x')
  const left = await Promise.all(others.map(commitOf))
  await new Worker(store, { model: new StubModel(), session: 's' }).drain()
  expect(await task.info()).toMatchObject({ status: 'completed', result: { memories: 2 } })
  expect(await Promise.all(left.map((one) => one.info()))).toMatchObject([{ status: 'pending' }, { status: 'pending' }])
})

test('each attempt is told, with what became of the task', async () => {
  const { clock, store, task } = await committed()
  const told: Attempt[] = []
  const model = new StubModel({ manual: ({ fail, answer }) => (told.length === 0 ? fail(new Error('no JSON')) : answer()) })
  const worker = new Worker(store, { model, onAttempt: (attempt) => told.push(attempt) })
  worker.start()
  await turns()
  await clock.pass(5000)
  expect(told).toEqual([
    { space: 'default', task: task.id, status: 'pending' },
    { space: 'default', task: task.id, status: 'completed' },
  ])
  await worker.stop()
})

test('many tasks are begun again, the oldest first, at the rate that was named', async () => {
  const { clock, store, task } = await committed()
  const tasks = [task]
  for (const id of ['t', 'u']) {
    await clock.pass(1000)
    const session = store.session(id)
    await appendAll(session, id)
    tasks.push(await commitOf(session))
  }
  for (const one of tasks) await one.cancel()
  const begun: string[] = []
  const retrying = (async () => {
    for await (const { id } of store.retryTasks({ status: 'cancelled', rate: 2 })) begun.push(id)
  })()
  await turns()
  expect(begun).toEqual([tasks[0]?.id])
  await clock.pass(500)
  expect(begun).toHaveLength(2)
  await clock.pass(500)
  await retrying
  expect(begun).toEqual(tasks.map(({ id }) => id))
  await expect(store.retryTasks({ rate: 0 }).next()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('a worker that rests looks at nothing until its rest is over, or it is woken', async () => {
  const { clock, store, session, task } = await committed()
  const worker = new Worker(store, { model: new StubModel(), restMs: 250 })
  worker.start()
  await task.completed()
  await eventually(() => expect(worker.status).toMatchObject({ running: 0, completed: 1 }))
  await appendAll(session, 'c')
  const woken = await commitOf(session)
  worker.wake()
  await woken.completed()
  await eventually(() => expect(worker.status).toMatchObject({ running: 0, completed: 2 }))
  // It rests once it has found nothing more.
  await turns()
  await appendAll(session, 'd')
  const later = await commitOf(session)
  await turns()
  expect((await later.info()).status).toBe('pending')
  await clock.pass(250)
  expect(await later.completed()).toMatchObject({ status: 'completed' })
  await worker.stop()
})

test('workers that begin together share what is due, and what another one leaves behind is not forgotten', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const store = await openStore(engine)
  const tasks: Task[] = []
  for (let i = 0; i < 60; i++) {
    const session = store.session(`s${i}`)
    await appendAll(session, 'a')
    tasks.push(await commitOf(session))
  }
  const models = [new StubModel(), new StubModel()]
  const workers = models.map((model) => new Worker(store, { model, concurrency: 4 }))
  // One of a third kind takes some of them, and dies: its leases run out.
  const dead = new Worker(await openStore(engine, { clock: new HandClock() }), { model: manual().model, concurrency: 3, leaseMs: 500 })
  dead.start()
  await eventually(() => expect(dead.status.running).toBe(3))
  await Promise.all(workers.map((worker) => worker.drain()))
  for (const task of tasks) expect((await task.info()).status).toBe('completed')
  expect(workers.map(({ status }) => status.completed).reduce((sum, one) => sum + one)).toBe(60)
  expect(models.flatMap(({ requests }) => requests)).toHaveLength(60)
})

test('a worker lets go of the messages of a task when it is done', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const store = await openStore(engine)
  for (let i = 0; i < 100; i++) {
    const session = store.session(`s ${i}`)
    await session.append({ role: 'user', content: `${i} `.repeat(50_000).slice(0, 100_000) })
    await session.commit()
  }
  const other = await openStore(engine)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  await new Worker(other, { model: new StubModel() }).drain()
  collectGarbage()
  // What it has read are ten megabytes of text.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000)
  expect((await other.session('s 7').archives()).map(({ status }) => status)).toEqual(['completed'])
})
