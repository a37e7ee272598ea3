/** Sessions whose parent was deleted and created again, in trees and exports. */
import { expect, test } from 'vitest'
import { Handle } from '../../src/store/handle.ts'
import { openStore } from '../../src/store/open-store.ts'
import { pageCursor } from '../../src/store/page-cursor.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesSource } from '../../src/transfer/bytes.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { importInto } from '../../src/transfer/import/import.ts'

/** Two sessions of which each comes from the other: the first one was deleted and created again. */
async function circle(): Promise<Store> {
  const store = await openStore('memory:')
  const first = await store.create({ id: 'one', owner: 'kim' })
  await first.append({ role: 'user', content: 'x' }, { ids: ['x'] })
  const second = await first.fork({ id: 'two' })
  await first.delete()
  await second.fork({ id: 'one' })
  return store
}

test('a forged cursor leads into no circle', async () => {
  const store = await circle()
  const root = await store.create({ id: 'root', owner: 'kim' })
  const { born } = await new Handle(store.parts, 'root').liveState()
  for (const owner of [null, 'kim']) {
    for (const place of [
      ['one', 'two'],
      ['two', 'one'],
    ]) {
      const options = { cursor: pageCursor(['tree', 'root', born, owner], place), ...(owner === null ? {} : { owner }) }
      await expect(root.tree(options)).rejects.toMatchObject({ details: { reason: 'cursor' } })
    }
  }
  expect(await store.session('two').tree()).toMatchObject({ session: 'two', children: [{ session: 'one', children: [] }] })
  await store.close()
}, 10_000)

test('an export of the whole space has both sessions of a circle, and an import of it makes both', async () => {
  const store = await circle()
  const pieces: string[] = []
  for await (const piece of exportFrom(store)) pieces.push(piece)
  const other = await openStore('memory:')
  const made: (string | null)[] = []
  for await (const { session } of importInto(other, [bytesSource('all.jsonl', Buffer.from(pieces.join('')))])) made.push(session)
  expect(made.sort()).toEqual(['one', 'two'])
  for (const id of ['one', 'two']) expect((await other.session(id).messages()).messages.map((one) => one.id)).toEqual(['x'])
  await Promise.all([store.close(), other.close()])
}, 10_000)

test('an export has what a fork begins with, although its parent was deleted and created again', async () => {
  const store = await openStore('memory:')
  const parent = await store.create({ id: 'parent' })
  await parent.append({ role: 'user', content: 'x' }, { ids: ['x'] })
  const fork = await parent.fork({ id: 'fork' })
  await fork.append({ role: 'user', content: 'y' }, { ids: ['y'] })
  await parent.delete()
  await (await store.create({ id: 'parent' })).append({ role: 'user', content: 'z' }, { ids: ['z'] })
  const pieces: string[] = []
  for await (const piece of exportFrom(store)) pieces.push(piece)
  const other = await openStore('memory:')
  for await (const _ of importInto(other, [bytesSource('all.jsonl', Buffer.from(pieces.join('')))]));
  expect((await other.session('fork').messages()).messages.map(({ id }) => id)).toEqual(['x', 'y'])
  expect((await other.session('parent').messages()).messages.map(({ id }) => id)).toEqual(['z'])
  await Promise.all([store.close(), other.close()])
})
