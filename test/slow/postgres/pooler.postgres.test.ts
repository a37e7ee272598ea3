/** Behind a pooler in transaction mode everything works: no statement relies on what an earlier one left in its session. */
import { expect, onTestFinished, test } from 'vitest'
import { Worker } from '../../../src/commit/worker.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { emptyDatabase } from '../../postgres/database.ts'
import { type Pooler, startPooler } from '../../postgres/pooler.ts'

async function pooled(): Promise<{ readonly pooler: Pooler; open(): Promise<Store> }> {
  const pooler = await startPooler(await emptyDatabase())
  const stores: Store[] = []
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await pooler.close()
  })
  return {
    pooler,
    open: async () => {
      const store = await openStore(pooler.url)
      stores.push(store)
      return store
    },
  }
}

test('tables are made, sessions of two processes written, listed, searched, committed, erased and read', async () => {
  const { pooler, open } = await pooled()
  const [one, other] = await Promise.all([open(), open()])
  const ids = Array.from({ length: 12 }, (_, i) => `s${i}`)
  for (let round = 0; round < 8; round++) {
    await Promise.all(
      ids.map(async (id, i) => {
        const session = (i % 2 === round % 2 ? one : other).session(id)
        await session.append({ id: `${id}-${round}`, role: 'user', content: `parcel ${round} of ${id}` })
      }),
    )
  }
  expect(pooler.moved).toBeGreaterThan(20)
  for (const id of ids) {
    const { messages } = await one.session(id).messages()
    expect(messages.map((message) => message.id)).toEqual(Array.from({ length: 8 }, (_, round) => `${id}-${round}`))
  }
  expect((await other.list()).sessions.length).toBe(12)
  expect((await one.search('parcels')).hits.length).toBe(20)
  const session = one.session('s1')
  await session.commit({ keep: 1 })
  await new Worker(other).drain()
  expect((await session.info()).commitCount).toBe(1)
  await other.session('s2').erase('s2-3')
  expect((await one.search('"3 of s2"')).hits).toEqual([])
})

test('much at once goes by COPY there too', async () => {
  const { open } = await pooled()
  const store = await open()
  const large = Array.from({ length: 600 }, (_, i) => ({ role: 'user', content: `${i} ${'large '.repeat(200)}` }))
  const sessions = await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.session(id)))
  for (let round = 0; round < 3; round++) await Promise.all(sessions.map((session) => session.append(large)))
  for (const session of sessions) expect((await session.info()).messageCount).toBe(1800)
})

test('who follows notices what another process wrote, though hints are dropped', async () => {
  const { open } = await pooled()
  const [one, other] = [await open(), await open()]
  await one.session('s').append({ role: 'user', content: 'before' })
  const stop = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    for await (const change of other.session('s').follow({ signal: stop.signal })) {
      seen.push(change.type)
      stop.abort()
    }
  })().catch(() => undefined)
  // It looks by itself: what is written after it began is what it must see.
  const writing = setInterval(() => void one.session('s').append({ role: 'user', content: 'after' }), 200)
  await following
  clearInterval(writing)
  expect(seen.length).toBeGreaterThan(0)
})
