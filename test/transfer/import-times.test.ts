/** Times of imported sessions: a list after an import has the order of the source. */
import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import { FIXTURES, sourceOf } from './fixtures.ts'

const NOON = Date.UTC(2026, 0, 1, 12)

async function listed(store: Store): Promise<unknown[]> {
  return (await store.list()).sessions.map(({ id, createdAt, updatedAt }) => ({ id, createdAt, updatedAt }))
}

test.each(FIXTURES)('$format, $name: a session whose messages have times was not changed by its import', async (fixture) => {
  await using store = await openStore('memory:')
  const begun = new Date().toISOString()
  for await (const _ of importInto(store, [sourceOf(fixture)]));
  for (const { id, createdAt, updatedAt } of (await store.list()).sessions) {
    const { messages } = await store.session(id).messages({ archived: true, limit: 1000 })
    expect(updatedAt >= createdAt).toBe(true)
    if (messages.length > 0 && messages.every(({ at }) => at < begun)) expect([id, updatedAt < begun]).toEqual([id, true])
  }
})

test('an export that is imported again is listed in the same order, and a session that is changed after that comes first', async () => {
  let now = NOON
  const clock: Clock = { ...systemClock, now: () => now }
  await using source = await openStore('memory:', { clock })
  for (const [id, minutes] of [
    ['b', 1],
    ['d', 3],
    ['a', 5],
    ['c', 9],
  ] as const) {
    now = NOON + minutes * 60_000
    const session = source.session(id)
    await session.append({ role: 'user', content: id })
    await session.putEntries([{ channel: 'notes', key: 'k', value: 1 }])
    await session.snapshot('first')
    await session.describe({ title: id })
  }
  now = NOON + 3_600_000
  await using target = await openStore('memory:', { clock })
  const pieces: string[] = []
  for await (const piece of exportFrom(source)) pieces.push(piece)
  for await (const _ of importInto(target, [sourceOf({ name: '/all.jsonl', files: { 'all.jsonl': pieces.join('') } })]));
  expect(await listed(target)).toEqual(await listed(source))
  await target.session('b').append({ role: 'user', content: 'more' })
  expect((await listed(target))[0]).toMatchObject({ id: 'b', updatedAt: new Date(now).toISOString() })
})

test('what a source dates in the future does not come before what is changed later', async () => {
  const clock: Clock = { ...systemClock, now: () => NOON }
  await using store = await openStore('memory:', { clock })
  const message = { role: 'user', content: 'hi', created_at: '2030-01-01T00:00:00.000Z' }
  const files = { 'chat.jsonl': `${JSON.stringify(message)}\n` }
  for await (const _ of importInto(store, [sourceOf({ name: '/chat.jsonl', files })]));
  expect((await store.list()).sessions[0]?.updatedAt).toBe(new Date(NOON).toISOString())
})
