import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../engine/clock.ts'
import type { JsonObject } from '../record/record.ts'
import type { ListOptions } from './list.ts'
import { openStore } from './open-store.ts'
import type { Store } from './store.ts'

let store: Store
let now = Date.UTC(2026, 0, 1)
const clock: Clock = { ...systemClock, now: () => now++ }

beforeEach(async () => {
  store = await openStore('memory:', { clock })
  await store.create<JsonObject>({
    id: 'beta',
    title: 'Lost parcel',
    tags: ['refund', 'eu'],
    owner: 'ann',
    metadata: { plan: { a: 1, b: 2 } },
  })
  await store.create<JsonObject>({ id: 'alpha', title: 'lost keys', tags: ['eu'], owner: 'bob', workspace: '/w' })
  await store.create<JsonObject>({ id: 'gamma', metadata: { plan: null, n: 1 } })
  await store.create<JsonObject>({ id: 'delta', parent: 'alpha', title: 'A child' })
  await (await store.create<JsonObject>({ id: 'gone', title: 'Lost for good' })).delete()
  await store.session<JsonObject>('beta').append({ content: 'changed last' })
})

afterEach(() => store.close())

async function ids(options: ListOptions = {}): Promise<string[]> {
  return (await store.list(options)).sessions.map(({ id }) => id)
}

test('those changed last come first; those deleted are listed when asked for, and only then', async () => {
  expect(await ids()).toEqual(['beta', 'delta', 'gamma', 'alpha'])
  expect(await ids({ status: 'deleted' })).toEqual(['gone'])
})

test('they come by title or by age if that is wanted', async () => {
  expect(await ids({ order: 'title' })).toEqual(['gamma', 'delta', 'alpha', 'beta'])
  expect(await ids({ order: 'created' })).toEqual(['delta', 'gamma', 'alpha', 'beta'])
})

describe('a filter', () => {
  test.each<[ListOptions, string[]]>([
    [{ tag: 'eu' }, ['alpha', 'beta']],
    [{ tag: 'none' }, []],
    [{ owner: 'bob' }, ['alpha', 'delta']],
    [{ workspace: '/w' }, ['alpha', 'delta']],
    [{ parent: 'alpha' }, ['delta']],
    [{ query: 'LOST' }, ['alpha', 'beta']],
    [{ query: ' lost  parcel ' }, ['beta']],
    [{ query: 'gam' }, ['gamma']],
    [{ tag: 'eu', owner: 'ann' }, ['beta']],
    [{ metadata: { n: 1 } }, ['gamma']],
    [{ metadata: { plan: { b: 2, a: 1 } } }, ['beta']],
    [{ metadata: { plan: { a: 1 } } }, []],
    [{ metadata: { n: 1, plan: 1 } }, []],
    [{ query: 'lost', status: 'deleted' }, ['gone']],
  ])('%j', async (options, expected) => {
    expect((await ids(options)).sort()).toEqual(expected)
  })
})

describe('pages', () => {
  test.each(['updated', 'created', 'title'] as const)('join to the whole list, in the order of %s, whatever their size', async (order) => {
    for (let i = 0; i < 20; i++) await store.create<JsonObject>({ id: `s${i}`, title: `title ${i % 3}` })
    const whole = await ids({ order, limit: 1000 })
    expect(whole).toHaveLength(24)
    for (const limit of [1, 5, 23, 24, 25]) {
      const all: string[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await store.list({ order, limit, ...(cursor === undefined ? {} : { cursor }) })
        expect(page.sessions.length).toBeLessThanOrEqual(limit)
        all.push(...page.sessions.map(({ id }) => id))
        cursor = page.cursor
      }
      expect(all).toEqual(whole)
    }
  })

  test('show nothing twice if sessions change meanwhile, and what was not shown yet and did not change', async () => {
    const first = await store.list({ limit: 2, order: 'created' })
    await store.create<JsonObject>({ id: 'new' })
    await store.session<JsonObject>('alpha').describe({ title: 'changed' })
    const second = await store.list({ limit: 2, order: 'created', cursor: first.cursor as string })
    expect([...first.sessions, ...second.sessions].map(({ id }) => id)).toEqual(['delta', 'gamma', 'alpha', 'beta'])
  })

  test.each(['updated', 'created', 'title'] as const)(
    'in the order of %s, what does not change is shown once, whatever changes',
    async (order) => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(fc.nat(4), fc.nat(3)), { maxLength: 30 }), async (changes) => {
          const space = store.in(`space ${now}`)
          for (let i = 0; i < 20; i++) await space.create({ id: `${i % 4 === 0 ? 'moving' : 'still'} ${i}`, title: `title ${i % 7}` })
          const seen: string[] = []
          const gone = new Set<number>()
          const left = [...changes]
          for (let cursor: string | null | undefined; cursor !== null; ) {
            const page = await space.list({ order, limit: 3, ...(cursor === undefined ? {} : { cursor }) })
            seen.push(...page.sessions.map(({ id }) => id))
            cursor = page.cursor
            for (const [which, how] of left.splice(0, 4)) {
              const session = space.session<JsonObject>(`moving ${which * 4}`)
              if (how === 0) await space.create({ id: `new ${now}`, title: `title ${which}` })
              else if (gone.delete(which)) await session.restore()
              else if (how > 1) await session.describe({ title: `title ${(which * how) % 7}` })
              else {
                await session.delete()
                gone.add(which)
              }
            }
          }
          expect(seen.filter((id) => id.startsWith('still')).sort()).toEqual(
            Array.from({ length: 20 }, (_, i) => i)
              .filter((i) => i % 4 !== 0)
              .map((i) => `still ${i}`)
              .sort(),
          )
        }),
        { numRuns: 8 },
      )
    },
  )

  test.each(['', 'x', 'bm9uZQ', Buffer.from('["title","a","b"]').toString('base64url')])(
    'a cursor that is none is refused: %j',
    async (cursor) => {
      await expect(store.list({ cursor })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    },
  )

  test('the first 32 different words of a query count, however many there are', async () => {
    const parts = Array.from({ length: 32 }, (_, i) => `p${i}`)
    await store.create<JsonObject>({ id: 'wordy', title: parts.join('') })
    const repeated = Array.from({ length: 3000 }, () => 'p1').join(' ')
    expect(await ids({ query: `${repeated} ${parts.join(' ')} absent` })).toEqual(['wordy'])
    expect(await ids({ query: `absent ${parts.join(' ')}` })).toEqual([])
    const { reason } = await store.catalogStatus()
    expect(reason).toBeNull()
  })

  test.each([-1, 1001, 0.5])('a limit of %s is refused', async (limit) => {
    await expect(store.list({ limit })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

test('spaces do not see each other', async () => {
  const other = store.in('other')
  await other.session<JsonObject>('beta').append({ content: 'theirs' })
  expect((await other.list()).sessions).toMatchObject([{ id: 'beta', messageCount: 1, title: null }])
  expect(await ids()).toHaveLength(4)
})
