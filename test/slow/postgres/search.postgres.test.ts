/**
 * Searches of more texts than are looked at: which of them are found must not depend on the way that is taken to them. The words of
 * the texts are chosen so that every way is taken: the newest texts one by one, stretches of them, and the index of words alone.
 */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { message, next, row, SPACE, text } from '../../../src/catalog/contract/rows.ts'
import type { Catalog, FoundDocument, SearchQuery } from '../../../src/engine/catalog.ts'
import { openPostgresEngine } from '../../../src/engines/postgres/engine.ts'
import { parseQuery } from '../../../src/message/words.ts'
import { newDatabase } from '../../postgres/database.ts'

const SESSIONS = 24
const MESSAGES = 1000
const AT = Date.UTC(2026, 0, 1)

let url: string

async function opened(): Promise<Catalog> {
  const engine = await openPostgresEngine({ url, keysOf: () => [] })
  onTestFinished(() => engine.close())
  return (await engine.catalog?.({ empty: false })) as Catalog
}

async function search(catalog: Catalog, words: string, query: Partial<SearchQuery> = {}): Promise<FoundDocument[]> {
  const kinds = ['message', 'session', 'summary', 'memory'] as const
  return catalog.search({ space: SPACE, text: parseQuery(words), kinds, now: AT + SESSIONS * MESSAGES, limit: 20, ...query })
}

const sessionsOf = (found: readonly FoundDocument[]): string[] => [...new Set(found.map(({ session }) => session))].sort()

/** Of message `i` of all: `the` everywhere, `often` in a tenth, `pair` and `couple` in a third each and rarely in a row, `now` and then one that is rare. */
function contentOf(i: number): string {
  const words = ['the', i % 10 === 0 ? 'often' : '', i % 3 === 0 ? 'pair of a couple' : '', i % 500 === 7 ? 'seldom' : '', `n${i}`]
  return words.join(' ')
}

beforeAll(async () => {
  url = await newDatabase()
  const engine = await openPostgresEngine({ url, keysOf: () => [] })
  const catalog = (await engine.catalog?.({ empty: false })) as Catalog
  const gone = row('gone')
  for (let s = 0; s < SESSIONS; s++) {
    const id = `s${String(s).padStart(2, '0')}`
    const at = (i: number) => ({ at: AT + s * MESSAGES + i, role: i % 100 === 3 ? 'tool' : 'user' })
    const session = row(id, { tags: s === 1 ? ['early'] : [], title: s === 0 ? 'The first one' : null })
    await catalog.put([session])
    const extra = s === 0 ? [message(0, 'the needle in a couple pair', { at: AT })] : []
    const all = Array.from({ length: MESSAGES }, (_, i) => message(10 * (i + 1), contentOf(s * MESSAGES + i), at(i)))
    await catalog.putText([text(session, [...extra, ...all])])
  }
  // The newest texts of all are of a session that was deleted.
  await catalog.put([gone])
  await catalog.putText([
    text(
      gone,
      Array.from({ length: 2000 }, (_, i) => message(10 * (i + 1), 'the needle often', { at: AT + 1e9 })),
    ),
  ])
  await catalog.put([next(gone, { status: 'deleted' })])
  const other = row('elsewhere', { space: 'other', name: 'name of elsewhere' })
  await catalog.put([other])
  await catalog.putText([text(other, [message(10, 'the needle and the pin', { at: AT })])])
  await engine.close()
}, 240_000)

test('the only text that has a word is found, however old it is, and not those of deleted sessions', async () => {
  const catalog = await opened()
  expect((await search(catalog, 'needle')).map(({ session, position }) => [session, position])).toEqual([['s00', 0]])
  expect((await search(catalog, 'n17')).map(({ session }) => session)).toEqual(['s00'])
  expect((await search(catalog, 'the n17')).length).toBe(1)
  expect((await search(catalog, 'needl*')).length).toBe(1)
})

test('of common words the newest texts are found, as many as are asked for', async () => {
  const catalog = await opened()
  for (const word of ['the', 'often', 'the often', 'pair', 'seldom']) {
    const found = await search(catalog, word)
    expect(found.length, word).toBe(20)
    expect(
      found.every(({ session }) => session > 's05'),
      `${word}: ${sessionsOf(found)}`,
    ).toBe(true)
  }
  expect((await search(catalog, 'often', { limit: 200 })).length).toBe(200)
})

test('words in a row are told from the same words elsewhere', async () => {
  const catalog = await opened()
  expect((await search(catalog, '"a couple"')).length).toBe(20)
  expect((await search(catalog, '"of couple"')).length).toBe(0)
  expect((await search(catalog, '"couple pair"', { session: 's00' })).length).toBe(1)
})

test('a filter is a part of what is looked for: common words are found in one session, tag, role, kind, space and time', async () => {
  const catalog = await opened()
  expect(sessionsOf(await search(catalog, 'the', { session: 's02' }))).toEqual(['s02'])
  expect((await search(catalog, 'often', { session: 's02', limit: 200 })).length).toBe(100)
  expect(sessionsOf(await search(catalog, 'the', { tag: 'early' }))).toEqual(['s01'])
  const tools = await search(catalog, 'the', { role: 'tool', limit: 200 })
  expect(tools.length).toBe(200)
  expect(tools.every(({ role }) => role === 'tool')).toBe(true)
  expect((await search(catalog, 'the', { kinds: ['session'] })).map(({ session }) => session)).toEqual(['s00'])
  expect((await search(catalog, 'the', { space: 'other' })).map(({ session }) => session)).toEqual(['elsewhere'])
  expect((await search(catalog, 'needle', { space: 'other' })).length).toBe(1)
  const early = await search(catalog, 'often', { to: AT + 3 * MESSAGES, kinds: ['message'] })
  expect(early.length).toBe(20)
  expect(sessionsOf(early).every((id) => id <= 's02')).toBe(true)
  const between = await search(catalog, 'the', { from: AT + 5 * MESSAGES, to: AT + 6 * MESSAGES })
  expect(sessionsOf(between)).toEqual(['s05'])
})
