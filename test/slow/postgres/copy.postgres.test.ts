/** Copies of stores between engines: equal, in both directions, again and again. */
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Worker } from '../../../src/commit/worker.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type Copied, copyStore } from '../../../src/transfer/copy.ts'
import { exportFrom } from '../../../src/transfer/export/export.ts'
import { importInto } from '../../../src/transfer/import/import.ts'
import { emptyDatabase, newDatabase, withClient } from '../../postgres/database.ts'
import { startProxy } from '../../postgres/proxy.ts'
import { sourceOf } from '../../transfer/fixtures.ts'

async function opened(where: string): Promise<Store> {
  const store = await openStore(where, { limits: { segmentBytes: 2000 } })
  onTestFinished(() => store.close())
  return store
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-copy-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function copied(from: Store, to: Store): Promise<Copied[]> {
  const all: Copied[] = []
  for await (const one of copyStore(from, to)) all.push(one)
  return all.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Sessions with many segments, a fork, a commit, another space, and one whose beginning was purged. */
async function fill(store: Store): Promise<void> {
  const session = store.session('long')
  for (let i = 0; i < 60; i++) await session.append({ id: `m${i}`, role: 'user', content: `message ${i} ${'x'.repeat(100)}` })
  await session.commit({ keep: 5 })
  await new Worker(store).drain()
  await session.fork({ id: 'fork', at: 'm57' })
  await store.in('other').session('there').append({ role: 'user', content: 'elsewhere' })
  const gone = store.session('gone')
  await gone.append({ role: 'user', content: 'to be purged' })
  await gone.delete()
  for await (const _ of store.purge({ olderThanMs: 0 }));
}

async function everything(store: Store): Promise<unknown> {
  const texts: string[] = []
  for await (const piece of exportFrom(store, { format: 'jsonl' })) texts.push(piece)
  return texts.join('')
}

test('a directory becomes a database and a directory again, line by line', async () => {
  const [first, database, last] = [await opened(directory()), await opened(await emptyDatabase()), await opened(directory())]
  await fill(first)
  const there = await copied(first, database)
  expect(there.length).toBe(4)
  expect(there.every(({ status, lines }) => status === 'copied' && lines > 0)).toBe(true)
  const back = await copied(database, last)
  expect(back.map(({ name, digest }) => [name, digest])).toEqual(there.map(({ name, digest }) => [name, digest]))
  expect(await everything(last)).toEqual(await everything(first))
  expect(await everything(database)).toEqual(await everything(first))
})

test('a copy can be repeated, and takes what is new; retries of appends are known there too', async () => {
  const [first, database] = [await opened(directory()), await opened(await newDatabase())]
  await fill(first)
  await copied(first, database)
  expect((await copied(first, database)).every(({ status }) => status === 'unchanged')).toBe(true)
  const session = first.session('long')
  await session.append({ id: 'new', role: 'user', content: 'after the copy' })
  const again = await copied(first, database)
  expect(again.filter(({ status }) => status === 'copied').length).toBe(1)
  const copy = database.session('long')
  expect((await copy.append({ id: 'm3', role: 'user', content: `message 3 ${'x'.repeat(100)}` })).duplicate).toBe(true)
  expect((await copy.info()).version).toBe((await session.info()).version)
})

/** Notes by which statement lines get into their table. */
async function watchLines(url: string): Promise<() => Promise<string[]>> {
  await withClient(url, (client) =>
    client.query(`CREATE TABLE seen (statement text);
      CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen VALUES (left(current_query(), 4)); RETURN NULL; END';
      CREATE TRIGGER see AFTER INSERT ON holdfast.lines FOR EACH STATEMENT EXECUTE FUNCTION see()`),
  )
  return async () => {
    const { rows } = await withClient(url, (client) =>
      client.query<{ statement: string }>('SELECT DISTINCT statement FROM seen ORDER BY 1'),
    )
    return rows.map(({ statement }) => statement)
  }
}

const LARGE = Array.from({ length: 2000 }, (_, i) => ({ role: 'user', content: `${i} ${'large '.repeat(200)}` }))

test('a copy and an import of much go by COPY, and little does not', async () => {
  const [first, urls] = [await openStore(directory()), [await newDatabase(), await newDatabase()] as const]
  onTestFinished(() => first.close())
  for (let i = 0; i < LARGE.length; i += 100) await first.session('s').append(LARGE.slice(i, i + 100))
  const [copiedTo, importedTo] = [await opened(urls[0]), await opened(urls[1])]
  const [statementsOfCopy, statementsOfImport] = [await watchLines(urls[0]), await watchLines(urls[1])]
  await copiedTo.session('little').append({ role: 'user', content: 'little' })
  expect(await statementsOfCopy()).toEqual(['WITH'])
  await copied(first, copiedTo)
  expect(await statementsOfCopy()).toContain('COPY')
  const lines = LARGE.map((message) => JSON.stringify(message)).join('\n')
  const source = sourceOf({ name: '/large/chat.jsonl', files: { 'chat.jsonl': lines } })
  for await (const { messages } of importInto(importedTo, [source])) expect(messages).toBe(LARGE.length)
  expect(await statementsOfImport()).toContain('COPY')
})

test('much that is appended while connections break again and again is there once, in order', async () => {
  const proxy = await startProxy(await newDatabase())
  const store = await openStore(proxy.url)
  onTestFinished(async () => {
    await store.close()
    await proxy.close()
  })
  const sessions = await Promise.all(['a', 'b', 'c'].map((id) => store.session(id)))
  const breaking = setInterval(() => proxy.reset(), 150)
  await Promise.all(
    sessions.map(async (session) => {
      for (let i = 0; i < 12; i++) await session.append(LARGE.slice(i * 150, (i + 1) * 150))
    }),
  )
  clearInterval(breaking)
  for (const session of sessions) {
    expect((await session.info()).messageCount).toBe(1800)
    const { messages } = await session.messages({ limit: 1000, from: 'start' })
    expect(messages.map(({ message }) => message.content)).toEqual(LARGE.slice(0, 1000).map(({ content }) => content))
  }
})

test('a store that has gone its own way is not written over', async () => {
  const [first, database] = [await opened(directory()), await opened(await newDatabase())]
  await first.session('s').append({ role: 'user', content: 'here' })
  await database.session('s').append({ role: 'user', content: 'there' })
  await expect(copied(first, database)).rejects.toMatchObject({ code: 'CONFLICT' })
  const { messages } = await database.session('s').messages()
  expect(messages.map(({ message }) => message.content)).toEqual(['there'])
})

test('a copy to a directory that was killed inside of a write goes on where it ended', async () => {
  const [first, database, whole] = [await opened(directory()), await opened(await newDatabase()), directory()]
  await first.session('s').append(Array.from({ length: 20 }, (_, i) => ({ id: `m${i}`, role: 'user', content: 'x'.repeat(50) })))
  for (let i = 0; i < 30; i++) await first.session('s').append({ role: 'user', content: `${i} ${'y'.repeat(100)}` })
  await copied(first, database)
  for (const source of [first, database]) {
    for (let cut = 0; cut < 12; cut++) {
      const path = join(whole, `${source === first ? 'files' : 'postgres'}-${cut}`)
      await (await openStore(path)).close()
      const before = await openStore(path)
      const [there] = await copied(source, before)
      await before.close()
      const segments = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'))
      const torn = join(path, segments.filter((name) => name.startsWith('sessions')).sort()[(5 * cut) % 4] as string)
      const behind = segments.filter((name) => name.startsWith('sessions') && join(path, name) > torn)
      for (const name of behind) rmSync(join(path, name))
      // Whoever dies inside a write leaves no watermark for it.
      rmSync(join(path, 'watermarks'), { recursive: true })
      truncateSync(torn, Math.floor((statSync(torn).size * (cut * 37 + 5)) / 450))
      const after = await opened(path)
      const [again] = await copied(source, after)
      expect(again, `${path} cut in ${torn}`).toMatchObject({ status: 'copied', digest: there?.digest })
      expect(await everything(after)).toEqual(await everything(first))
    }
  }
})
