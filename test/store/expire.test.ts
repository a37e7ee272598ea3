import { expect, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import type { Clock } from '../../src/engine/clock.ts'
import { systemClock } from '../../src/engine/clock.ts'
import type { ExpireOptions } from '../../src/store/lifecycle/expire.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Application } from '../server/application.ts'

const DAY = 24 * 3600 * 1000

async function openAt(): Promise<{ store: Store; pass: (ms: number) => void }> {
  let now = Date.UTC(2026, 0, 1)
  const clock: Clock = { ...systemClock, now: () => now, monotonicMs: () => systemClock.monotonicMs() }
  const pass = (ms: number): void => {
    now += ms
  }
  return { store: await openStore('memory:', { clock }), pass }
}

async function told(store: Store, options: ExpireOptions): Promise<string[]> {
  const all: string[] = []
  for await (const { session, action } of store.expire(options)) all.push(`${session} ${action}`)
  return all.sort()
}

test('nothing expires unless it is told how long', async () => {
  const { store, pass } = await openAt()
  await store.session('a').append({ role: 'user', content: 'hi' })
  await (await store.create({ id: 'gone' })).delete()
  pass(1000 * DAY)
  expect(await told(store, {})).toEqual([])
  await expect(told(store, { deleteIdleAfterMs: -1 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('what was idle is deleted, what was deleted is purged, and a dry run only tells', async () => {
  const { store, pass } = await openAt()
  const idle = await store.create({ id: 'idle' })
  await (await store.create({ id: 'gone' })).delete()
  pass(20 * DAY)
  await (await store.create({ id: 'used' })).append({ role: 'user', content: 'hi' })
  const options = { deleteIdleAfterMs: 10 * DAY, purgeDeletedAfterMs: 15 * DAY }
  expect(await told(store, { ...options, dryRun: true })).toEqual(['gone purged', 'idle deleted'])
  expect((await idle.info()).status).toBe('ok')
  expect(await told(store, options)).toEqual(['gone purged', 'idle deleted'])
  expect(await told(store, options)).toEqual([])
  await idle.restore()
  expect((await store.session('used').info()).status).toBe('ok')
  await expect(store.session('gone').restore()).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a space has a policy, which is used where no time is given, and belongs to that space alone', async () => {
  const { store, pass } = await openAt()
  expect(await store.retention()).toEqual({})
  const policy = { deleteIdleAfterMs: 10 * DAY, purgeDeletedAfterMs: 0 }
  expect(await store.setRetention(policy)).toEqual(policy)
  await store.create({ id: 'idle' })
  await (await store.create({ id: 'gone' })).delete()
  await store.in('other').create({ id: 'elsewhere' })
  pass(11 * DAY)
  expect(await told(store, { dryRun: true })).toEqual(['gone purged', 'idle deleted'])
  // Who names a time means that one and no other.
  expect(await told(store, { deleteIdleAfterMs: 20 * DAY })).toEqual([])
  expect(await told(store.in('other'), {})).toEqual([])
  expect(await told(store, {})).toEqual(['gone purged', 'idle deleted', 'idle purged'])
  expect(await store.setRetention({})).toEqual({})
  pass(100 * DAY)
  await store.create({ id: 'new' })
  pass(100 * DAY)
  expect(await told(store, {})).toEqual([])
  await expect(store.setRetention({ deleteIdleAfterMs: -1 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  await expect(store.setRetention({ days: 3 } as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('what a session says of itself comes first, also where the space says nothing', async () => {
  const { store, pass } = await openAt()
  await store.create({ id: 'short', policies: { retention: { delete_idle_after: 86_400 } } })
  await store.create({ id: 'stays', policies: { retention: { delete_idle_after: null } } })
  await store.create({ id: 'usual' })
  pass(2 * DAY)
  expect(await told(store, { dryRun: true })).toEqual(['short deleted'])
  expect(await told(store, { deleteIdleAfterMs: DAY })).toEqual(['short deleted', 'usual deleted'])
})

test('what a fork reaches is kept', async () => {
  const { store, pass } = await openAt()
  const parent = store.session('parent')
  await parent.append({ role: 'user', content: 'hi' })
  await parent.fork({ id: 'fork' })
  await parent.delete()
  pass(2 * DAY)
  expect(await told(store, { purgeDeletedAfterMs: DAY })).toEqual(['parent kept'])
})

test('over HTTP it needs an operator', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 'a' })
  const writer = await app.newKey({ scope: 'write' })
  expect((await app.post('/expire', {}, { key: writer })).error).toMatchObject({ code: 'PERMISSION_DENIED' })
  expect((await app.post('/expire', {})).result).toEqual([])
  expect((await app.post('/expire', { delete_idle_after_seconds: 0 })).result).toMatchObject([{ session_id: 'a', action: 'deleted' }])
})

test('a client of a server that tells no time, or one of them, says nothing of the others', async () => {
  const app = await Application.open()
  await app.send('PUT', '/retention', { body: { delete_idle_after_seconds: 0 } })
  await app.post('/sessions', { session_id: 'a' })
  const bodies: unknown[] = []
  const send = async (url: unknown, init?: RequestInit): Promise<Response> => {
    bodies.push(JSON.parse(String(init?.body)))
    return app.app.request(String(url), { ...init, headers: { ...(init?.headers as Record<string, string>), host: 'localhost' } })
  }
  const client = connect('http://localhost', { key: app.key, retries: 0, fetch: send as typeof fetch })
  const all = async (options: ExpireOptions) => {
    const actions: string[] = []
    for await (const { action } of client.expire(options)) actions.push(action)
    return actions
  }
  expect(await all({ purgeDeletedAfterMs: 60_000 })).toEqual([])
  await expect(all({ deleteIdleAfterMs: Number.NaN })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(await all({})).toEqual(['deleted'])
  // What is no number is refused before it is sent.
  expect(bodies).toEqual([{ purge_deleted_after_seconds: 60 }, {}])
})
