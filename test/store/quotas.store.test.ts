import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import type { Engine } from '../../src/engine/port.ts'
import { HoldfastError } from '../../src/errors.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

/** A clock that stands until it is moved. */
function standing(): Clock & { ms: number } {
  return {
    ...systemClock,
    ms: 0,
    monotonicMs() {
      return this.ms
    },
    now() {
      return 1_763_200_000_000 + this.ms
    },
  } as Clock & { ms: number }
}

const EXHAUSTED = 'RESOURCE_EXHAUSTED'

test('a space holds as many sessions as it may, however they are made; deleting one makes room', async () => {
  const clock = standing()
  const refused: string[] = []
  const store = await openStore('memory:', { clock, quotas: (limit) => refused.push(limit) })
  await store.setQuota({ sessions: 2 })
  const a = await store.create({ id: 'a' })
  await store.session('b').append({ role: 'user', content: 'x' })
  await store.session('b').append({ role: 'user', content: 'y' })
  const no = { code: EXHAUSTED, details: { quota: 'sessions', limit: 2, used: 2 } }
  await expect(store.create({ id: 'c' })).rejects.toMatchObject(no)
  await expect(store.session('c').append({ role: 'user', content: 'x' })).rejects.toMatchObject(no)
  await expect(a.fork({ id: 'f' })).rejects.toMatchObject(no)
  expect(refused).toEqual(['sessions', 'sessions', 'sessions'])
  await a.delete()
  clock.ms += 5000
  await store.create({ id: 'c' })
  await (await store.in('other').create({ id: 'of another space' })).append({ role: 'user', content: 'x' })
  await store.close()
})

test('a space holds as many bytes as it may', async () => {
  const store = await openStore('memory:', { clock: standing(), quotas: true })
  await store.setQuota({ bytes: 5000 })
  const session = store.session('s')
  await session.append({ role: 'user', content: 'x'.repeat(3000) })
  await expect(session.append({ role: 'user', content: 'x'.repeat(3000) })).rejects.toMatchObject({
    code: EXHAUSTED,
    details: { quota: 'bytes' },
  })
  await store.close()
})

test('messages a minute are let in as they fade, and a caller is told when to come back', async () => {
  const clock = standing()
  const store = await openStore('memory:', { clock, quotas: true })
  await store.setQuota({ messagesPerMinute: 60 })
  const session = store.session('s')
  for (let i = 0; i < 60; i++) await session.append({ role: 'user', content: 'x' })
  await expect(session.append({ role: 'user', content: 'x' })).rejects.toMatchObject({
    code: EXHAUSTED,
    retryable: true,
    details: { quota: 'messages_per_minute', limit: 60, retry_after: 1 },
  })
  clock.ms += 1000
  await session.append({ role: 'user', content: 'x' })
  await expect(session.append({ role: 'user', content: 'x' })).rejects.toMatchObject({ code: EXHAUSTED })
  await store.close()
})

test('many that come at once are not let in beyond the limit', async () => {
  const store = await openStore('memory:', { clock: standing(), quotas: true })
  await store.setQuota({ sessions: 5 })
  const made = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => store.create({ id: `s${i}` })))
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  expect(await store.quotaUsage()).toMatchObject({ sessions: 5 })
  await store.setQuota({})
  await store.setQuota({ sessions: 3 }, { key: 'k' })
  const others = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => store.withKey('k').create({ id: `k${i}` })))
  expect(others.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  await store.close()
})

test('messages a minute are those of all processes together', async () => {
  const where = await mkdtemp(join(tmpdir(), 'holdfast-quotas-'))
  onTestFinished(() => rm(where, { recursive: true, force: true }))
  const clock = standing()
  const [one, other] = [await openStore(where, { clock, quotas: true }), await openStore(where, { clock, quotas: true })]
  await one.setQuota({ messagesPerMinute: 60 })
  clock.ms += 1000
  const spend = async (store: Store): Promise<number> => {
    const session = store.session('s')
    for (let count = 0; ; count++) {
      try {
        await session.append({ role: 'user', content: 'x' })
      } catch (error) {
        expect(error).toMatchObject({ code: EXHAUSTED, details: { quota: 'messages_per_minute' } })
        return count
      }
    }
  }
  const session = other.session('s')
  await session.append({ role: 'user', content: 'x' })
  const first = await spend(one)
  expect(first).toBeGreaterThan(50)
  // Who has not looked for a while is told too late of a tenth at most.
  expect(await spend(other)).toBeLessThan(8)
  clock.ms += 30_000
  const later = (await spend(one)) + (await spend(other))
  expect(later).toBeGreaterThan(20)
  expect(later).toBeLessThan(38)
  await Promise.all([one.close(), other.close()])
})

test('a quota that is taken away and set again begins at nothing, and lets in no more than it says', async () => {
  const where = await mkdtemp(join(tmpdir(), 'holdfast-quotas-'))
  onTestFinished(() => rm(where, { recursive: true, force: true }))
  const clock = standing()
  const [one, other] = [await openStore(where, { clock, quotas: true }), await openStore(where, { clock, quotas: true })]
  await one.setQuota({ messagesPerMinute: 10 })
  clock.ms += 1000
  const say = async (store: Store, many: number) => {
    for (let i = 0; i < many; i++) await store.session('s').append({ role: 'user', content: 'x' })
  }
  // The first looks before the other lets in anything, and again when it has let in something itself: so it counts what the other did.
  await say(one, 1)
  await say(other, 6)
  await say(one, 2)
  clock.ms += 60_000
  await one.setQuota({})
  await one.setQuota({ messagesPerMinute: 10 })
  await say(one, 10)
  await expect(say(one, 1)).rejects.toMatchObject({ code: EXHAUSTED, details: { quota: 'messages_per_minute' } })
  await Promise.all([one.close(), other.close()])
})

test('what is used is told of a space, and of a key from when it has a limit', async () => {
  const store = await openStore('memory:', { quotas: true })
  await store.session('a').append({ role: 'user', content: 'x' })
  expect(await store.quotaUsage()).toMatchObject({ sessions: 1, bytes: expect.any(Number) })
  expect(await store.quotaUsage({ key: 'k' })).toBeNull()
  await store.setQuota({ sessions: 3 }, { key: 'k' })
  await store.withKey('k').session('b').append({ role: 'user', content: 'x' })
  expect(await store.quotaUsage({ key: 'k' })).toMatchObject({ sessions: 1 })
  await store.close()
})

test('without `quotas` nobody is refused, and what was set can be read and taken away', async () => {
  const store = await openStore('memory:')
  expect(await store.quota()).toEqual({})
  expect(await store.setQuota({ sessions: 0, messagesPerMinute: 1 })).toEqual({ sessions: 0, messagesPerMinute: 1 })
  await store.create({ id: 'a' })
  expect(await store.setQuota({})).toEqual({})
  await expect(store.setQuota({ sessions: -1 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(await store.setQuota({ sessions: 1 }, { key: 'k' })).toEqual({ sessions: 1 })
  await store.close()
})

test('what a key has added is counted by two processes together, and by the next one', async () => {
  const where = await mkdtemp(join(tmpdir(), 'holdfast-quotas-'))
  onTestFinished(() => rm(where, { recursive: true, force: true }))
  const clock = standing()
  const open = async () => (await openStore(where, { clock, quotas: true })).withKey('k')
  const add = (store: Store, id: string) => store.session(id).append({ role: 'user', content: 'x' })
  const [one, other] = [await open(), await open()]
  await one.setQuota({ sessions: 4 }, { key: 'k' })
  await add(one, 'a')
  await add(other, 'b')
  // Both add up at the same moment what they have counted, the first time and later.
  for (const [first, second] of [
    ['a', 'b'],
    ['c', 'd'],
  ] as const) {
    clock.ms += 20_000
    await Promise.all([add(one, first), add(other, second)])
  }
  clock.ms += 20_000
  await add(other, 'b')
  await expect(add(one, 'e')).rejects.toMatchObject({ code: EXHAUSTED, details: { quota: 'sessions', of: 'key', limit: 4, used: 4 } })
  await Promise.all([one.close(), other.close()])
  const next = await open()
  await expect(add(next, 'e')).rejects.toMatchObject({ details: { used: 4 } })
  await next.setQuota({ sessions: 5 }, { key: 'k' })
  await add(next, 'e')
  await next.close()
  const last = await open()
  await expect(add(last, 'f')).rejects.toMatchObject({ details: { used: 5 } })
  await last.close()
})

/** Appends to the journals whose name is told fail. */
function failing(fails: (name: string) => boolean): (engine: Engine) => Engine {
  return (engine) => {
    const journal = engine.journal.bind(engine)
    return Object.assign(engine, {
      journal: (name: string) => {
        const inner = journal(name)
        const append = inner.append.bind(inner)
        return Object.assign(inner, {
          append: (...words: Parameters<typeof append>) =>
            fails(name) ? Promise.reject(new HoldfastError('UNAVAILABLE', 'It fails.')) : append(...words),
        })
      },
    })
  }
}

test('what one request adds is known to others at once, although nobody comes to this process again', async () => {
  const where = await mkdtemp(join(tmpdir(), 'holdfast-quotas-'))
  onTestFinished(() => rm(where, { recursive: true, force: true }))
  const clock = standing()
  const open = async () => (await openStore(where, { clock, quotas: true })).withKey('k')
  const [one, other] = [await open(), await open()]
  await one.setQuota({ messagesPerMinute: 60 })
  await one.setQuota({ bytes: 100_000 }, { key: 'k' })
  clock.ms += 1000
  await other.session('b').append({ role: 'user', content: 'x' })
  await one.session('a').append(Array.from({ length: 60 }, () => ({ role: 'user', content: 'x'.repeat(1000) })))
  const third = await open()
  expect((await third.quotaUsage({ key: 'k' }))?.bytes).toBeGreaterThan(60_000)
  let count = 0
  const session = other.session('b')
  const more = async () => {
    for (; count < 60; count++) await session.append({ role: 'user', content: 'x' })
  }
  await expect(more()).rejects.toMatchObject({ code: EXHAUSTED, details: { quota: 'messages_per_minute' } })
  expect(count).toBeLessThan(8)
  await Promise.all([one.close(), other.close(), third.close()])
})

test('of requests that come at once, each is settled, and none is counted twice', async () => {
  const where = await mkdtemp(join(tmpdir(), 'holdfast-quotas-'))
  onTestFinished(() => rm(where, { recursive: true, force: true }))
  const open = async () => (await openStore(where, { clock: standing(), quotas: true })).withKey('k')
  const [one, other] = [await open(), await open()]
  await one.setQuota({ sessions: 10 }, { key: 'k' })
  await Promise.all(Array.from({ length: 10 }, (_, i) => one.create({ id: `s${i}` })))
  expect((await other.quotaUsage({ key: 'k' }))?.sessions).toBe(10)
  await Promise.all([one.close(), other.close()])
})

test('a count that cannot be written fails no request that was let in, and is written later', async () => {
  let fails = false
  const where = await mkdtemp(join(tmpdir(), 'holdfast-quotas-'))
  onTestFinished(() => rm(where, { recursive: true, force: true }))
  const wrap = failing((name) => fails && name.includes('quota-usage'))
  const store = (await openStore(where, { quotas: true, wrap })).withKey('k')
  await store.setQuota({ sessions: 4 }, { key: 'k' })
  fails = true
  await store.create({ id: 'a' })
  fails = false
  await store.close()
  const next = await openStore(where, { quotas: true })
  expect(await next.quotaUsage({ key: 'k' })).toMatchObject({ sessions: 1 })
  await next.close()
})

test('a store whose last count cannot be written is closed all the same', async () => {
  let fails = false
  const closed: string[] = []
  const wrap = (engine: Engine): Engine => {
    const close = engine.close.bind(engine)
    return Object.assign(failing(() => fails)(engine), {
      close: async () => {
        closed.push('engine')
        await close()
      },
    })
  }
  const store = (await openStore('memory:', { quotas: true, wrap })).withKey('k')
  await store.setQuota({ sessions: 40 }, { key: 'k' })
  await store.session('a').append({ role: 'user', content: 'x' })
  fails = true
  await expect(store.close()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(closed).toEqual(['engine'])
})
