import { expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'

test('the cursor of a page can be passed on as it is, null at the beginning', async () => {
  const store = await openStore('memory:')
  for (const id of ['a', 'b', 'c']) await store.create({ id })
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof store.list>> = await store.list({ order: 'created', limit: 2, cursor })
    seen.push(...page.sessions.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== null)
  expect(seen.sort()).toEqual(['a', 'b', 'c'])
})
