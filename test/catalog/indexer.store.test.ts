import { afterEach, beforeEach, expect, test } from 'vitest'
import { Indexer } from '../../src/catalog/indexer.ts'
import { SqliteCatalog } from '../../src/catalog/sqlite/catalog.ts'
import type { TextPut } from '../../src/engine/catalog.ts'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

const SESSIONS = 9
const MEBIBYTE = 1024 * 1024
let store: Store
let catalog: SqliteCatalog
let puts: (readonly TextPut[])[]
let elapsedMs: number

beforeEach(async () => {
  store = await openStore('memory:')
  catalog = new SqliteCatalog('')
  puts = []
  elapsedMs = 0
  const putText = catalog.putText.bind(catalog)
  catalog.putText = (texts) => {
    puts.push(texts)
    return putText(texts)
  }
  for (let i = 0; i < SESSIONS; i++) {
    const session = store.session(`s${i}`)
    for (let j = 0; j < 3; j++) await session.append({ role: 'user', content: `needle${j} ${'x'.repeat(MEBIBYTE / 2)}` })
  }
})

afterEach(async () => {
  await catalog.close()
  await store.close()
})

async function behind(): Promise<Indexer> {
  const clock: Clock = { ...systemClock, monotonicMs: () => elapsedMs }
  const indexer = new Indexer({ engine: store.parts.engine, clock, catalog, spaces: new Set(), signal: new AbortController().signal })
  await indexer.catchUp()
  return indexer
}

test('text is put in transactions of a few mebibytes at most, and all of it', async () => {
  const indexer = await behind()
  while (await indexer.index());
  const sizes = puts.map((put) => put.reduce((sum, { text, basedOn }) => sum + text.end - basedOn.end, 0))
  // Of each session a mebibyte, and the record that goes beyond it.
  expect(Math.max(...sizes)).toBeLessThan(6.5 * MEBIBYTE)
  expect(sizes.length).toBeGreaterThan(2)
  expect(puts.flat().reduce((sum, { messages }) => sum + messages.length, 0)).toBe(3 * SESSIONS)
  expect(await catalog.lag()).toBeNull()
})

test('a call that has taken long ends, and tells that there is more', async () => {
  const indexer = await behind()
  const read = catalog.known.bind(catalog)
  catalog.known = (names) => {
    elapsedMs += 1000
    return read(names)
  }
  expect(await indexer.index()).toBe(true)
  expect(puts).toHaveLength(1)
  expect((await catalog.lag())?.sessions).toBe(SESSIONS)
  // The next ones go on with those that it has not come to, until each has had a piece.
  expect(indexer.isMidway).toBe(true)
  while (indexer.isMidway) await indexer.index()
  expect(
    puts
      .flat()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual((await catalog.names()).toSorted())
})
