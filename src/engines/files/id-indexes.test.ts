import { expect, test } from 'vitest'
import type { IdIndex } from './id-index.ts'
import { IdIndexes } from './id-indexes.ts'

/** An index that holds so many files open. */
function indexOf(files: number, closed: string[], name: string): () => IdIndex {
  return () => ({ bytes: 10, files, close: async () => void closed.push(name) }) as unknown as IdIndex
}

const nothing = async (): Promise<void> => undefined

test('id indexes hold no more files than they may, and the longest unused one is closed first', async () => {
  const closed: string[] = []
  const indexes = new IdIndexes(1000, 5)
  for (const name of ['a', 'b', 'a', 'c']) await indexes.use(name, indexOf(2, closed, name), nothing)
  expect(closed).toEqual(['b'])
})

test('id indexes that are used are not closed for others', async () => {
  const closed: string[] = []
  const indexes = new IdIndexes(1000, 1)
  await indexes.use('a', indexOf(2, closed, 'a'), () => indexes.use('b', indexOf(2, closed, 'b'), nothing))
  expect(closed).toEqual(['b', 'a'])
})

test('half of the files of unused id indexes are closed when the system has none to give', async () => {
  const closed: string[] = []
  const indexes = new IdIndexes(1000, 100)
  for (const name of ['a', 'b', 'c', 'd']) await indexes.use(name, indexOf(3, closed, name), nothing)
  await indexes.relieve()
  expect(closed).toEqual(['a', 'b'])
})
