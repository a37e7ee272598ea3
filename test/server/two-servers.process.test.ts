/** Quotas, as two servers on one store keep them: the built program, as two processes that know of each other by the store alone. */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connect, type RemoteStore } from '../../src/client/index.ts'
import { storeAddress } from '../store-address.ts'
import { ServerProcess } from './process.ts'

interface Pair {
  readonly admin: RemoteStore
  readonly key: string
  /** The same key at both. */
  readonly both: readonly [RemoteStore, RemoteStore]
  again(): Promise<RemoteStore>
}

async function start(): Promise<Pair> {
  const home = await mkdtemp(join(tmpdir(), 'holdfast-two-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const where = process.env.HOLDFAST_TEST_STORE === 'postgres' ? await storeAddress() : join(home, 'store')
  const [first, second] = [await ServerProcess.start(where, [], { home }), await ServerProcess.start(where, [], { home })]
  const open = (server: ServerProcess, key: string): RemoteStore => {
    const store = connect(server.url, { key, retries: 0 })
    onTestFinished(() => store.close())
    return store
  }
  const admin = open(first, first.key)
  const { key, id } = await admin.createKey({ scope: 'write' })
  return {
    admin,
    key: id,
    both: [open(first, key), open(second, key)],
    again: async () => {
      await first.stop()
      await second.stop()
      return open(await ServerProcess.start(where, [], { home }), key)
    },
  }
}

/** Goes from one to the other until both refuse. Tells how many were let in. */
async function exhaust(both: readonly [RemoteStore, RemoteStore], quota: string, add: (store: RemoteStore, n: number) => Promise<unknown>) {
  const refused = new Set<RemoteStore>()
  let count = 0
  for (let n = 0; refused.size < 2; n++) {
    const store = both[n % 2] as RemoteStore
    if (refused.has(store)) continue
    try {
      await add(store, n)
      count++
    } catch (error) {
      expect(error).toMatchObject({ code: 'RESOURCE_EXHAUSTED', details: { quota } })
      refused.add(store)
    }
  }
  return count
}

test('sessions and bytes that a key adds at two servers are added up, and the next server goes on from there', async () => {
  const { admin, key, both, again } = await start()
  await admin.setQuota({ sessions: 20, bytes: 100_000 }, { key })
  const sessions = await exhaust(both, 'sessions', (store, n) => store.create({ id: `s${n}` }))
  // Each may not know yet of a tenth that the other has let in.
  expect(sessions).toBeGreaterThanOrEqual(20)
  expect(sessions).toBeLessThanOrEqual(24)
  const say = async (store: RemoteStore) => store.session('s0').append({ role: 'user', content: 'x'.repeat(1000) })
  const messages = await exhaust(both, 'bytes', say)
  expect(messages).toBeGreaterThan(80)
  expect(messages).toBeLessThan(120)
  const next = await again()
  await expect(next.create({ id: 'one more' })).rejects.toMatchObject({ details: { quota: 'sessions', of: 'key', used: sessions } })
})

test('what a space holds is what two servers have written to it', async () => {
  const { admin, both } = await start()
  await admin.setQuota({ sessions: 20 })
  const sessions = await exhaust(both, 'sessions', (store, n) => store.create({ id: `s${n}` }))
  expect(sessions).toBeGreaterThanOrEqual(20)
  expect(sessions).toBeLessThanOrEqual(24)
  expect((await admin.quotaUsage())?.sessions).toBe(sessions)
})

test('messages a minute are those of two servers together, of a key and of a space', async () => {
  for (const whose of ['key', 'space'] as const) {
    const { admin, key, both } = await start()
    await admin.setQuota({ messagesPerMinute: 100 }, whose === 'key' ? { key } : {})
    const begun = performance.now()
    const say = async (store: RemoteStore) => store.session('s').append({ role: 'user', content: 'x' })
    const messages = await exhaust(both, 'messages_per_minute', say)
    // While they came, some of a minute went by.
    const faded = ((performance.now() - begun) / 60_000) * 100
    expect(messages).toBeGreaterThan(90)
    expect(messages).toBeLessThan(130 + faded)
  }
})
