/** The same call on a store in this process and on a store at a server ends in the same way. */
import { expect, test } from 'vitest'
import { connect, type StoreApi } from '../../src/client/index.ts'
import { Application } from './application.ts'

async function bothStores(): Promise<[name: string, store: StoreApi][]> {
  const app = await Application.open({ quotas: true })
  const send = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
    Promise.resolve(app.app.request(String(url), { ...init, headers: { ...(init?.headers as Record<string, string>), host: 'localhost' } }))
  const remote = connect('http://localhost', { key: app.key, retries: 0, fetch: send })
  return [
    ['library', app.store],
    ['client', remote],
  ]
}

const INVALID = { name: 'HoldfastError', code: 'INVALID_ARGUMENT', outcome: 'none' }
const MESSAGE = { role: 'user', content: 'hi' }

test('one message with two ids, or none, is refused', async () => {
  for (const [name, store] of await bothStores()) {
    const session = store.session('a')
    for (const ids of [['a', 'b'], []]) await expect(session.append(MESSAGE, { ids }), name).rejects.toMatchObject(INVALID)
    expect((await session.append(MESSAGE, { ids: ['a'] })).ids, name).toEqual(['a'])
  }
})

test('following after a text that is no cursor is refused with the reason "cursor"', async () => {
  for (const [name, store] of await bothStores()) {
    const session = store.session('a')
    await session.append(MESSAGE, { ids: ['a'] })
    for (const after of ['junk', '']) {
      const refusal = { ...INVALID, details: { reason: 'cursor' } }
      await expect(session.follow({ after }).next(), name).rejects.toMatchObject(refusal)
    }
    const changes = session.follow({ fromStart: true })
    expect((await changes.next()).value, name).toMatchObject({ type: 'session.created', cursor: expect.any(String) })
    await changes.return(undefined)
  }
})

test('an unknown field of a quota or of a retention policy is refused, and clears nothing', async () => {
  for (const [name, store] of await bothStores()) {
    await store.setQuota({ sessions: 50 })
    await store.setRetention({ purgeDeletedAfterMs: 1000 })
    const [quota, policy] = [{ session: 1 } as object, { purgeAfterMs: 1 } as object]
    await expect(store.setQuota(quota), name).rejects.toMatchObject({ ...INVALID, message: expect.stringContaining('messagesPerMinute') })
    await expect(store.setRetention(policy), name).rejects.toMatchObject({
      ...INVALID,
      message: expect.stringContaining('purgeDeletedAfterMs'),
    })
    expect(await store.quota(), name).toEqual({ sessions: 50 })
    expect(await store.retention(), name).toEqual({ purgeDeletedAfterMs: 1000 })
  }
})

test('a window in an unknown format is refused, and the refusal names the formats', async () => {
  for (const [name, store] of await bothStores()) {
    const session = store.session('a')
    await session.append(MESSAGE, { ids: ['a'] })
    for (const format of ['foo', 'toString', '__proto__', ''] as unknown as ['text']) {
      const refusal = { ...INVALID, message: expect.stringContaining('openai-responses') }
      await expect(session.window({ format }), `${name} ${format}`).rejects.toMatchObject(refusal)
    }
  }
})

test('a page of records always has its damage', async () => {
  for (const [name, store] of await bothStores()) {
    const session = store.session('a')
    await session.append(MESSAGE, { ids: ['a'] })
    expect(await session.recordPage(), name).toMatchObject({ damage: [], before: null })
  }
})

test('a tree and an archive have the same pages', async () => {
  const stores = await bothStores()
  const [[, store]] = stores as [[string, StoreApi]]
  for (const id of ['m1', 'm2', 'm3']) await store.session('a').append(MESSAGE, { ids: [id] })
  for (const id of ['b', 'c', 'd']) await store.session('a').fork({ id })
  await store.session('a').commit()
  for (const [name, one] of stores) {
    const session = one.session('a')
    const first = await session.tree({ limit: 2 })
    const second = await session.tree({ cursor: first.cursor })
    const ids = [first, second].map(({ children }) => children.map((node) => node.session))
    expect([ids, second.continued, second.cursor], name).toEqual([[['b'], ['c', 'd']], true, null])
    const { messages, cursor } = (await session.archive(1, { limit: 2 })) ?? {}
    const rest = await session.archive(1, { cursor })
    expect([messages?.length, rest?.messages.length, rest?.cursor], name).toEqual([2, 1, null])
    const refusal = { ...INVALID, details: { reason: 'cursor' } }
    await expect(session.archive(1, { cursor: 'junk' }), name).rejects.toMatchObject(refusal)
    await expect(session.tree({ cursor: 'junk' }), name).rejects.toMatchObject(refusal)
  }
})
