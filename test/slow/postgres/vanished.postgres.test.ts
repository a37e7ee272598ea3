/** Lines and rows deleted from the tables of a store: the engine compares the end in the session's row with the last line. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { doctor } from '../../../src/doctor/doctor.ts'
import { newMasterKey } from '../../../src/encryption/master-key.ts'
import type { Vanished } from '../../../src/engine/port.ts'
import { damageOf } from '../../../src/store/damage/damage.ts'
import { type OpenOptions, openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { copyStore } from '../../../src/transfer/copy.ts'
import { newDatabase, withClient } from '../../postgres/database.ts'

async function opened(where: string, options: OpenOptions = {}): Promise<Store> {
  const store = await openStore(where, { limits: { segmentBytes: 2000 }, ...options })
  onTestFinished(() => store.close())
  return store
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-vanished-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function say(store: Store, id: string, count: number): Promise<void> {
  const session = store.session(id)
  for (let i = 0; i < count; i++) await session.append({ id: `m${i}`, role: 'user', content: `message ${i} ${'x'.repeat(100)}` })
}

function vanished(store: Store, id: string): Promise<Vanished | undefined> {
  const { engine, space } = store.parts
  const journal = engine.journal(engine.name(space, id))
  return (journal.vanished as () => Promise<Vanished | undefined>).call(journal)
}

/** Every journal of the store for which the engine reports a loss. */
async function alarms(store: Store): Promise<string[]> {
  const { engine } = store.parts
  const found: string[] = []
  for await (const name of engine.names()) if ((await engine.journal(name).vanished?.()) !== undefined) found.push(name)
  return found
}

interface LineRow {
  readonly segment: number
  readonly position: number
  readonly ends: number
}

/** Runs statements on the tables of the store, and returns the rows of the last one. */
type Tables = (text: string) => Promise<LineRow[]>

interface Subject {
  readonly url: string
  readonly store: Store
  readonly sql: Tables
  readonly lines: readonly LineRow[]
}

async function damaged(count: number, options?: OpenOptions): Promise<Subject> {
  const url = await newDatabase()
  const store = await opened(url, options)
  await say(store, 'a', count)
  const sql: Tables = (text) =>
    withClient(url, async (client) => {
      await client.query('SET search_path TO holdfast')
      return (await client.query<LineRow>(text)).rows
    })
  const lines = await sql('SELECT segment::int, position::int, (position + octet_length(line) + 1)::int AS ends FROM lines ORDER BY 1, 2')
  return { url, store, sql, lines }
}

test('a journal whose last line was deleted has lost exactly that line', async () => {
  const { store, sql, lines } = await damaged(3)
  expect(await vanished(store, 'a')).toBeUndefined()
  await sql('DELETE FROM lines WHERE position = (SELECT max(position) FROM lines)')
  expect(await vanished(store, 'a')).toEqual({ from: lines.at(-2)?.ends, to: lines.at(-1)?.ends })
})

test('a journal without any line has lost everything up to the end that its row names', async () => {
  const { store, sql, lines } = await damaged(3)
  await sql('DELETE FROM lines')
  expect(await vanished(store, 'a')).toEqual({ from: 0, to: lines.at(-1)?.ends })
})

test('a journal of several segments reports the end that an earlier segment has lost', async () => {
  const { store, sql, lines } = await damaged(40)
  const first = lines.filter(({ segment }) => segment === 0)
  expect(lines.length).toBeGreaterThan(first.length)
  await sql('DELETE FROM lines WHERE segment = 0 AND position = (SELECT max(position) FROM lines WHERE segment = 0)')
  expect(await vanished(store, 'a')).toEqual({ from: first.at(-2)?.ends, to: first.at(-1)?.ends })
})

test('a journal whose row was deleted has lost what its lines still hold', async () => {
  const { store, sql, lines } = await damaged(3)
  await sql('DELETE FROM journals')
  expect(await vanished(store, 'a')).toEqual({ from: 0, to: lines.at(-1)?.ends })
})

test('a journal whose row and last segment were deleted has lost something behind the segment before', async () => {
  const { store, sql, lines } = await damaged(40)
  const last = lines.at(-1)?.segment as number
  await sql(`DELETE FROM lines WHERE segment = ${last}`)
  await sql('DELETE FROM journals')
  expect(await vanished(store, 'a')).toEqual({ from: last, to: last + 1 })
})

test('a session of an encrypted store reports its loss like any other', async () => {
  const { store, sql } = await damaged(3, { encryption: { masterKey: newMasterKey() } })
  const own = `session = '${store.parts.engine.name('default', 'a').slice(-32)}'`
  expect(await vanished(store, 'a')).toBeUndefined()
  await sql(`DELETE FROM lines WHERE ${own} AND position > 2`)
  const [row] = await sql(
    `SELECT segment::int, position::int, tail::int AS ends FROM journals JOIN lines USING (space, session, segment) WHERE ${own}`,
  )
  expect(await vanished(store, 'a')).toMatchObject({ to: row?.ends })
})

test('a row that was set back to an earlier end reports the lines that it no longer covers', async () => {
  const { store, sql, lines } = await damaged(3)
  const [end, before] = [lines.at(-1)?.ends, lines.at(-2)?.ends]
  await sql(`UPDATE journals SET tail = ${before}`)
  expect(await vanished(store, 'a')).toEqual({ from: before, to: end })
})

test('a journal whose first segment has lines and no row has lost that segment', async () => {
  const { store, sql, lines } = await damaged(40)
  const second = lines.find(({ segment }) => segment > 0)?.segment
  await sql('DELETE FROM segments WHERE first = 0')
  expect(await vanished(store, 'a')).toEqual({ from: 0, to: second })
})

test('a line that is missing between two others reads as a hole, and the doctor and every copy find it', async () => {
  const { store, sql, lines } = await damaged(5)
  const { segment, position, ends } = lines[3] as (typeof lines)[number]
  await sql(`DELETE FROM lines WHERE position = ${position}`)
  const { engine, space } = store.parts
  const hole = { segment, offset: position - segment, length: ends - position - 1, kind: 'zeros' }
  expect(await damageOf(engine.journal(engine.name(space, 'a')))).toEqual([hole])
  const copy = await opened(directory())
  for await (const _ of copyStore(store, copy));
  expect(await damageOf(copy.parts.engine.journal(engine.name(space, 'a')))).toEqual([hole])
})

test('a hole at the beginning of what is read shows in short reads as in long ones', async () => {
  const { store, sql, lines } = await damaged(5)
  const { segment, position, ends } = lines[3] as (typeof lines)[number]
  await sql(`DELETE FROM lines WHERE position = ${position}`)
  const { engine, space } = store.parts
  const journal = engine.journal(engine.name(space, 'a'))
  const seen: [number, number][] = []
  for (let from = segment; ; ) {
    const chunk = await journal.read(segment, from, 1)
    if (chunk === undefined || chunk.next === from) break
    seen.push(...chunk.lines.map(({ at, bytes }): [number, number] => [at, at + bytes.length + 1]))
    from = chunk.next
  }
  expect(seen).toContainEqual([position, ends])
  expect(seen).toEqual(lines.filter((line) => line.segment === segment).map((line) => [line.position, line.ends]))
})

test('purges, deletions, new incarnations, rolls, erasures and copies raise no alarm', async () => {
  const store = await opened(await newDatabase())
  await say(store, 'a', 40)
  const a = store.session('a')
  await a.erase('m39')
  await a.fork({ id: 'fork', at: 'm20' })
  for (const id of ['purged', 'again', 'deleted']) {
    await say(store, id, 5)
    await store.session(id).delete()
  }
  await store.create({ id: 'again' })
  await say(store, 'again', 5)
  for await (const _ of store.purge({ olderThanMs: 0 }));
  expect(await alarms(store)).toEqual([])
  const [files, copy] = [await opened(directory()), await opened(await newDatabase())]
  for await (const _ of copyStore(store, files));
  for await (const _ of copyStore(files, copy));
  expect(await alarms(copy)).toEqual([])
  await say(copy, 'b', 3)
  expect(await vanished(copy, 'b')).toBeUndefined()
})

test('a comparison while other servers append and roll raises no alarm', async () => {
  const url = await newDatabase()
  const [one, other, looking] = [await opened(url), await opened(url), await opened(url)]
  let writing = true
  const writers = Promise.all(
    [one, other].map(async (store, i) => {
      const session = store.session('a')
      for (let n = 0; n < 60; n++) await session.append({ id: `m${i}-${n}`, role: 'user', content: 'x'.repeat(120) })
    }),
  ).finally(() => {
    writing = false
  })
  let compared = 0
  for (; writing || compared === 0; compared++) expect(await vanished(looking, 'a')).toBeUndefined()
  await writers
  expect(compared).toBeGreaterThan(5)
  expect(await vanished(looking, 'a')).toBeUndefined()
})

test('an epoch that begins with an accepted loss makes the earlier mismatch void', async () => {
  const { store, sql } = await damaged(40)
  await sql('DELETE FROM lines WHERE segment = 0 AND position = (SELECT max(position) FROM lines WHERE segment = 0)')
  expect(await vanished(store, 'a')).toBeDefined()
  const next = 2 ** 32
  const { engine, space } = store.parts
  await engine.journal(engine.name(space, 'a')).roll(next, Buffer.from(` \n{"stands for":"a checkpoint ${'x'.repeat(100)}"}\n`))
  expect(await vanished(store, 'a')).toBeUndefined()
  await sql(`DELETE FROM lines WHERE segment = ${next}`)
  expect(await vanished(store, 'a')).toMatchObject({ from: next })
})

test('an append to a session that lost its row writes nothing and fails no other session', async () => {
  const { store, sql, lines } = await damaged(3)
  const { engine, space } = store.parts
  await sql('DELETE FROM journals')
  const journal = (id: string) => engine.journal(engine.name(space, id))
  const group = Buffer.from(` \n{"stands for":"a record ${'x'.repeat(100)}"}\n`)
  const [lost, other] = await Promise.all([journal('a').append(0, 0, group), journal('b').append(0, 0, group)])
  expect([lost, other]).toEqual([
    { moved: true, placed: 0 },
    { moved: false, placed: group.length },
  ])
  expect((await sql(`SELECT position FROM lines WHERE session = '${engine.name(space, 'a').slice(-32)}'`)).length).toBe(lines.length)
})

test('an accepting append gives a session that lost its row a new one, with the end of its last line', async () => {
  const { store, sql, lines } = await damaged(3)
  const { engine, space } = store.parts
  const rows = await sql('SELECT segment::int, tail::int, name FROM journals')
  await sql('DELETE FROM journals')
  const journal = engine.journal(engine.name(space, 'a'))
  const group = Buffer.from(` \n{"stands for":"a record ${'x'.repeat(100)}"}\n`)
  expect(await journal.append(0, 0, group, { accepting: true })).toEqual({ moved: true, placed: 0 })
  expect(await sql('SELECT segment::int, tail::int, name FROM journals')).toEqual(rows)
  expect(await journal.vanished?.()).toBeUndefined()
  expect(await journal.append(0, lines.at(-1)?.ends as number, group, { accepting: true })).toMatchObject({ placed: group.length })
})

test('a roll for a session that lost its row keeps the lines of the segment that is there', async () => {
  const { store, sql, lines } = await damaged(40)
  const { engine, space } = store.parts
  const rows = await sql('SELECT segment::int, tail::int, name FROM journals')
  await sql('DELETE FROM journals')
  const journal = engine.journal(engine.name(space, 'a'))
  await journal.roll(lines.at(-1)?.segment as number, Buffer.from(` \n{"stands for":"a checkpoint ${'x'.repeat(100)}"}\n`))
  expect(await sql('SELECT segment::int, tail::int, name FROM journals')).toEqual(rows)
  expect(await journal.vanished?.()).toBeUndefined()
})

/** What the list shows after the doctor has read the store, and what the doctor reports as damage. */
async function reports(store: Store): Promise<{ listed: unknown; found: string[] }> {
  const found: string[] = []
  for await (const { session, kind, severity } of doctor(store)) if (severity === 'damage') found.push(`${session} ${kind}`)
  const { sessions } = await store.list()
  return { listed: sessions.map(({ id, status }) => [id, status]).sort(), found }
}

test('the doctor and the list report a session whose row was deleted while its lines remain', async () => {
  const { store, sql } = await damaged(3)
  await say(store, 'b', 1)
  const own = `session = '${store.parts.engine.name('default', 'a').slice(-32)}'`
  await sql(`DELETE FROM journals WHERE ${own}`)
  const expected = {
    listed: [
      ['a', 'damaged'],
      ['b', 'ok'],
    ],
    found: ['a vanished'],
  }
  expect(await reports(store)).toEqual(expected)
  await store.rebuildCatalog()
  expect(await reports(store)).toEqual(expected)
})

test('the doctor and the list report a session whose lines were all deleted while its row remains', async () => {
  const { store, sql } = await damaged(40)
  await say(store, 'b', 1)
  const own = `session = '${store.parts.engine.name('default', 'a').slice(-32)}'`
  await sql(`DELETE FROM lines WHERE ${own}`)
  const expected = {
    listed: [
      ['a', 'damaged'],
      ['b', 'ok'],
    ],
    found: ['a vanished'],
  }
  expect(await reports(store)).toEqual(expected)
  await store.rebuildCatalog()
  expect(await reports(store)).toEqual(expected)
})

test('an encrypted session whose row was deleted is listed by the name that the catalog has', async () => {
  const { store, sql } = await damaged(3, { encryption: { masterKey: newMasterKey() } })
  await store.list()
  await sql(`DELETE FROM journals WHERE session = '${store.parts.engine.name('default', 'a').slice(-32)}'`)
  expect(await reports(store)).toEqual({ listed: [['a', 'damaged']], found: ['a vanished'] })
})

test('names lists each session once, in its own space, with and without its row', async () => {
  const url = await newDatabase()
  const [store, other] = [await opened(url), await opened(url, { space: 'other' })]
  for (const id of ['a', 'b']) for (const one of [store, other]) await say(one, id, 40)
  const { engine } = store.parts
  const names = async (space?: string): Promise<string[]> => {
    const found: string[] = []
    for await (const name of engine.names(space)) found.push(name)
    return found.sort()
  }
  const before = await names()
  await withClient(url, (client) => client.query(`DELETE FROM holdfast.journals WHERE name LIKE '%/b-%'`))
  expect(await names()).toEqual(before)
  expect(await names('other')).toEqual(['a', 'b'].map((id) => engine.name('other', id)).sort())
  expect(await names('neither')).toEqual([])
})

test('a session whose row was set back is read to its last line, and continues once the damage is accepted', async () => {
  const { url, sql, lines } = await damaged(3)
  await sql(`UPDATE journals SET tail = ${lines.at(-3)?.ends}`)
  const session = (await opened(url)).session('a')
  expect((await session.messages()).messages.map(({ id }) => id)).toEqual(['m0', 'm1', 'm2'])
  await expect(session.append({ role: 'user', content: 'x' })).rejects.toMatchObject({ code: 'DAMAGED' })
  await session.acceptDamage()
  await session.append({ id: 'm3', role: 'user', content: 'x' })
  expect((await session.messages()).messages.map(({ id }) => id)).toEqual(['m0', 'm1', 'm2', 'm3'])
})
