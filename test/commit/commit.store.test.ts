import { describe, expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { BoundaryLeft, commit } from '../../src/session/decide-commit.ts'
import { Handle } from '../../src/store/handle.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { storeAddress } from '../store-address.ts'
import { appendAll, liveIds, withDirectory } from './fixtures.ts'
import { StubModel } from './stub-model.ts'

const ENGINES: readonly [string, <T>(work: (store: Store) => Promise<T>) => Promise<T>][] = [
  [
    process.env.HOLDFAST_TEST_STORE ?? 'memory',
    async (work) => {
      const store = await openStore(await storeAddress())
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
  ],
  [
    'files',
    (work) =>
      withDirectory(async (directory) => {
        const store = await openStore(directory)
        try {
          return await work(store)
        } finally {
          await store.close()
        }
      }),
  ],
]

describe.each(ENGINES)('a commit on %s', (_, withStore) => {
  test('takes what is live, at once, and its task is completed by a worker', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await appendAll(session, 'a', 'b', 'c', 'd')
      const committed = await session.commit({ keep: 1 })
      if (committed.status !== 'accepted') throw new Error('skipped')
      expect(committed).toMatchObject({ archive: 1, messageCount: 3, duplicate: false })
      expect(await liveIds(session)).toBe('d')
      expect(await committed.task.info()).toMatchObject({ status: 'pending', attempts: 0, session: 's' })

      const model = new StubModel()
      await new Worker(store, { model }).drain()
      const archive = await committed.task.completed()
      expect(archive).toMatchObject({ status: 'completed', abstract: 'about 3', overview: '[a b c]', attempts: 1 })
      expect((await session.archive(1))?.messages.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
      expect((await store.memories()).map(({ text }) => text).sort()).toEqual(['from a', 'from b', 'from c'])
      expect(await store.task(committed.task.id)).toMatchObject({ archive: 1 })
      expect((await store.tasks({ status: 'completed' })).map(({ archive: number }) => number)).toEqual([1])
    }))

  test('of nothing is skipped, and says why', () =>
    withStore(async (store) => {
      const session = await store.create({ id: 's' })
      expect(await session.commit()).toEqual({ status: 'skipped', reason: 'no_messages' })
      await appendAll(session, 'a', 'b')
      expect(await session.commit({ keep: 2 })).toEqual({ status: 'skipped', reason: 'all_within_keep_window' })
      expect(await session.commit({ keep: 1 })).toMatchObject({ status: 'accepted' })
      expect(await session.commit({ keep: 1 })).toEqual({ status: 'skipped', reason: 'all_within_keep_window' })
    }))

  test('repeated under its key makes one archive, also when more was said since', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await appendAll(session, 'a', 'b')
      const first = await session.commit({ key: 'k' })
      await appendAll(session, 'c')
      const second = await session.commit({ key: 'k' })
      expect(second).toMatchObject({ status: 'accepted', archive: 1, duplicate: true })
      expect(first.status === 'accepted' && second.status === 'accepted' && first.task.id === second.task.id).toBe(true)
      expect(await liveIds(session)).toBe('c')
    }))

  test('keeps a tool call with its results', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await session.append([
        { id: 'u', role: 'user', content: 'look' },
        {
          id: 'c',
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 't1', type: 'function', function: { name: 'ls', arguments: '{}' } }],
        },
        { id: 'r', role: 'tool', tool_call_id: 't1', content: 'files' },
        { id: 'e', role: 'assistant', content: 'done' },
      ])
      await session.commit({ keep: 2 })
      expect(await liveIds(session)).toBe('c r e')
    }))

  test('keeps whole turns, as many as fit the budget and one in any case', () =>
    withStore(async (store) => {
      const say = (id: string, role: string, length = 10) => ({ id, role, content: 'x'.repeat(length) })
      const session = store.session('s')
      await session.append([
        say('u1', 'user'),
        say('a1', 'assistant'),
        say('u2', 'user'),
        say('a2', 'assistant', 4000),
        say('u3', 'user'),
        say('a3', 'assistant'),
      ])
      const fork = await session.fork({ id: 'f' })
      await session.commit({ keepTurns: 2 })
      expect(await liveIds(session)).toBe('u2 a2 u3 a3')
      await fork.commit({ keepTurns: 2, tokenBudget: 500 })
      expect(await liveIds(fork)).toBe('u3 a3')
    }))

  test('after a revert into an archive covers what is left of it, and extracts nothing twice', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await appendAll(session, 'a', 'b', 'c', 'd')
      await session.commit()
      const model = new StubModel()
      await new Worker(store, { model }).drain()
      await session.revert({ message: 'b' })
      expect(await liveIds(session)).toBe('')
      expect((await session.window()).messages.map((message) => message.id)).toEqual(['a', 'b'])
      await appendAll(session, 'e')
      await session.commit()
      await new Worker(store, { model }).drain()
      const archive = await session.archive(2)
      expect(archive?.messages.map(({ id }) => id)).toEqual(['a', 'b', 'e'])
      expect(archive?.overview).toBe('[a b e]')
      expect(model.extracted.sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
      const window = await session.window()
      expect([window.overview, window.messages]).toEqual(['[a b e]', []])
      await session.undo()
      expect((await session.window()).overview).toBe('[a b c d]')
    }))

  test('in a fork summarises what it inherited and never extracts it', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await appendAll(session, 'a', 'b', 'c')
      await session.commit({ keep: 1 })
      const model = new StubModel()
      await new Worker(store, { model }).drain()
      const fork = await session.fork({ id: 'f' })
      expect((await fork.window()).overview).toBe('[a b]')
      await appendAll(fork, 'd')
      expect(await liveIds(fork)).toBe('c d')
      await fork.commit()
      await new Worker(store, { model }).drain()
      expect((await fork.archives()).map(({ number, overview }) => [number, overview])).toEqual([
        [1, '[a b]'],
        [2, '[a b][c d]'],
      ])
      expect(model.extracted).toEqual(['a', 'b', 'd'])
      expect(await liveIds(session)).toBe('c')
    }))

  test('at once with another takes other messages, or none', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await appendAll(session, 'a', 'b', 'c', 'd', 'e')
      await Promise.all([
        session.commit(),
        session.commit({ keep: 1 }),
        session.commit({ keep: 2 }),
        session.append({ id: 'f', role: 'user', content: 'f' }),
      ])
      const archives = await session.archives()
      const taken = (await Promise.all(archives.map(({ number }) => session.archive(number)))).flatMap(
        (archive) => archive?.messages.map(({ id }) => id) ?? [],
      )
      const live = (await liveIds(session)).split(' ').filter((id) => id !== '')
      expect([...taken, ...live].sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    }))

  test('is chosen anew if the head it was chosen on has been left, so that as much is kept as was to be', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await appendAll(session, 'a', 'b', 'c', 'd')
      const handle = new Handle(store.parts, 's')
      const [{ head }, { point }] = [await handle.liveState(), await handle.locate('c')]
      await session.revert({ message: 'c' })
      await expect(handle.submit({}, (terms) => commit(terms, point, head))).rejects.toThrow(BoundaryLeft)
      await session.undo()
      await appendAll(session, 'e')
      await handle.submit({}, (terms) => commit(terms, point, head))
      expect(await liveIds(session)).toBe('d e')
    }))

  test('that is cancelled keeps its messages readable and in the window, and can be retried', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await appendAll(session, 'a', 'b')
      const committed = await session.commit()
      if (committed.status !== 'accepted') throw new Error('skipped')
      await committed.task.cancel()
      const model = new StubModel()
      await new Worker(store, { model }).drain()
      expect(model.requests).toEqual([])
      expect((await session.window()).messages).toHaveLength(2)
      await expect(committed.task.completed()).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' })
      await committed.task.retry()
      await new Worker(store, { model }).drain()
      expect(await committed.task.completed()).toMatchObject({ overview: '[a b]' })
    }))

  test('can have its memories taken back', () =>
    withStore(async (store) => {
      const session = store.session('s')
      await session.append({ id: 'a', role: 'user', content: 'x' })
      await session.describe({ owner: 'ann' })
      await session.commit()
      await new Worker(store, { model: new StubModel() }).drain()
      expect((await store.memories({ owner: 'ann' })).map(({ text }) => text)).toEqual(['from a'])
      expect(await store.memories()).toEqual([])
      await session.retractMemories(1)
      expect(await store.memories({ owner: 'ann' })).toEqual([])
    }))
})

test('a commit takes what another process has appended, and leaves alone what that one has committed, also if it knew nothing of it', () =>
  withDirectory(async (directory) => {
    const [here, there] = [await openStore(directory), await openStore(directory)]
    try {
      const [session, other] = [here.session('s'), there.session('s')]
      await appendAll(session, 'a', 'b')
      await appendAll(other, 'c', 'd', 'e')
      expect(await session.commit({ keep: 1 })).toMatchObject({ status: 'accepted', messageCount: 4 })
      expect(await liveIds(session)).toBe('e')
      // Here nothing seems to be live but what is kept; there, something is.
      await appendAll(other, 'f')
      expect(await session.commit({ keep: 1 })).toMatchObject({ status: 'accepted', messageCount: 1 })
      await other.commit()
      expect(await session.commit({ keep: 0 })).toMatchObject({ status: 'skipped' })
      expect(await liveIds(session)).toBe('')
    } finally {
      await Promise.all([here.close(), there.close()])
    }
  }))
