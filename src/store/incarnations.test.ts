import { expect, test } from 'vitest'
import { openStore } from './open-store.ts'

test('an append right behind a re-creation is not taken for one of the former incarnation', async () => {
  const store = await openStore('memory:')
  const session = await store.session('s')
  await session.append({ id: 'a', content: 'first life' })
  await session.delete()
  // Both go into one group.
  const [, appended] = await Promise.all([session.create({}), session.append({ id: 'a', content: 'first life' })])
  expect(appended.duplicate).toBe(false)
  expect((await session.messages()).messages.map(({ id }) => id)).toEqual(['a'])
})
