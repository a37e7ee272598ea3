/** F6, F32 and F34 where a catalog lies between the sessions and whoever looks for them, and the catalog itself in every bad state. */

import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Database } from '../../src/catalog/sqlite/database.ts'
import { Worker } from '../../src/commit/worker.ts'
import { splitLines } from '../../src/record/line.ts'
import type { JsonObject } from '../../src/record/record.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { CountingDisk } from '../store/counting-disk.ts'
import { useDirectory } from '../store/directory.ts'

let parent = ''
let directory = ''
let stores: Store[] = []
const simulated = useDirectory()

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-'))
  directory = join(parent, 'store')
  stores = []
})

afterEach(async () => {
  for (const store of stores) await store.close()
  rmSync(parent, { recursive: true })
})

async function open(at = directory): Promise<Store> {
  const store = await openStore(at)
  stores.push(store)
  return store
}

async function fill(store: Store, ...ids: string[]): Promise<void> {
  for (const id of ids) await store.session<JsonObject>(id).append({ id: `m ${id}`, role: 'user', content: `needle of ${id}` })
}

async function listed(store: Store): Promise<string[]> {
  return (await store.list()).sessions.map(({ id }) => id).sort()
}

async function found(store: Store): Promise<(string | null)[]> {
  return (await store.search('needle', { limit: 200 })).hits.map(({ message }) => message).sort()
}

/** The database itself, which the link leads to. */
function database(): string {
  return join(directory, readlinkSync(join(directory, 'catalog.db')))
}

test('F6 one bad first line hides everything: the session is listed, flagged, and its text is found', async () => {
  const store = await open()
  await fill(store, 'one', 'two')
  await store.close()
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.jsonl') || !name.includes('/one-')) continue
    const file = join(directory, name)
    const bytes = readFileSync(file)
    for (const { at, bytes: line } of splitLines(bytes, 0).lines) {
      if (Buffer.from(line).includes('"type":"session.created"')) bytes[at + 20] = (bytes[at + 20] as number) ^ 4
    }
    writeFileSync(file, bytes)
  }
  const again = await open()
  expect((await again.list()).sessions.map(({ id, status }) => [id, status]).sort()).toEqual([
    ['one', 'damaged'],
    ['two', 'ok'],
  ])
  expect(await found(again)).toEqual(['m one', 'm two'])
  expect((await again.search('needle', { session: 'one' })).hits).toMatchObject([{ session: 'one', message: 'm one' }])
})

test('F32 a cap hides sessions: pages reach every one, however many, and the count is exact', async () => {
  const store = await simulated().open()
  const ids = Array.from({ length: 1100 }, (_, i) => `session ${String(i).padStart(4, '0')}`)
  for (const id of ids) await store.create<JsonObject>({ id })
  const seen: string[] = []
  let total: number | undefined
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const page = await store.list({ limit: 250, count: true, ...(cursor === undefined ? {} : { cursor }) })
    seen.push(...page.sessions.map(({ id }) => id))
    total = page.total
    cursor = page.cursor
  }
  expect(seen.sort()).toEqual(ids)
  expect(total).toBe(1100)
})

test('F32 slow listing: a list reads what has changed, and not every session again', async () => {
  const disk = new CountingDisk()
  const store = await simulated().open({ disk: disk.disk })
  for (let i = 0; i < 200; i++) await store.create<JsonObject>({ id: `session ${i}` })
  const first = await disk.during(() => store.list())
  expect(first.calls).toBeGreaterThan(400)
  const second = await disk.during(() => store.list())
  expect(second.calls).toBeLessThan(10)
  await store.session<JsonObject>('session 7').describe({ title: 'changed' })
  let shown: unknown
  const third = await disk.during(async () => {
    shown = (await store.list({ limit: 1 })).sessions[0]
  })
  expect(shown).toMatchObject({ id: 'session 7', title: 'changed' })
  expect(third.calls).toBeLessThan(30)
})

describe('F34 index and data disagree: the catalog is made anew, never trusted', () => {
  const spoil: Record<string, () => void> = {
    'it is gone': () => rmSync(join(directory, 'catalog.db')),
    'the database behind the link is gone': () => rmSync(database()),
    'all of its files are gone': () => {
      for (const name of readdirSync(directory)) if (name.startsWith('catalog.db')) rmSync(join(directory, name))
    },
    'it is empty': () => truncateSync(database(), 0),
    'it is cut short': () => truncateSync(database(), Math.floor(statSync(database()).size / 2)),
    'it is garbage': () => writeFileSync(database(), 'garbage '.repeat(10_000)),
    'somebody has put another file in its place': () => {
      rmSync(join(directory, 'catalog.db'))
      writeFileSync(join(directory, 'catalog.db'), 'something else')
    },
    'it has another format': () => {
      const raw = new Database(database())
      raw.run(`UPDATE meta SET value = '0' WHERE key = 'format'`)
      raw.close()
    },
    'a table is missing': () => {
      const raw = new Database(database())
      raw.exec('DROP TABLE documents')
      raw.close()
    },
  }

  test.each(Object.keys(spoil))('%s', async (how) => {
    const store = await open()
    await fill(store, 'a', 'b')
    expect(await found(store)).toEqual(['m a', 'm b'])
    await store.close()
    spoil[how]?.()
    const again = await open()
    await fill(again, 'c')
    expect(await listed(again)).toEqual(['a', 'b', 'c'])
    expect(await found(again)).toEqual(['m a', 'm b', 'm c'])
    expect((await again.catalogStatus()).state).toBe('ready')
  })

  test.each(['it is gone', 'all of its files are gone', 'it is garbage'])('%s, while stores are open', async (how) => {
    const [one, two] = [await open(), await open()]
    await fill(one, 'a', 'b')
    expect(await found(one)).toEqual(['m a', 'm b'])
    expect(await found(two)).toEqual(['m a', 'm b'])
    spoil[how]?.()
    await fill(two, 'c')
    expect(await listed(one)).toEqual(['a', 'b', 'c'])
    expect(await found(two)).toEqual(['m a', 'm b', 'm c'])
    await fill(one, 'd')
    expect(await found(two)).toEqual(['m a', 'm b', 'm c', 'm d'])
    expect(await found(one)).toEqual(['m a', 'm b', 'm c', 'm d'])
  })

  test('it is of another store', async () => {
    const other = await open(join(parent, 'other'))
    await fill(other, 'x', 'y')
    await found(other)
    await other.close()
    const store = await open()
    await fill(store, 'a')
    await store.close()
    const link = readlinkSync(join(parent, 'other', 'catalog.db'))
    copyFileSync(join(parent, 'other', link), join(directory, 'catalog.db'))
    const again = await open()
    expect(await listed(again)).toEqual(['a'])
    expect(await found(again)).toEqual(['m a'])
  })

  test('a session was put back to an older state, and continues from there once that was accepted', async () => {
    const store = await open()
    await fill(store, 'a')
    const backup = join(parent, 'backup')
    cpSync(join(directory, 'sessions'), backup, { recursive: true })
    const session = store.session<JsonObject>('a')
    await session.append({ id: 'lost', content: 'needle that is lost' })
    expect(await found(store)).toEqual(['lost', 'm a'])
    await store.close()
    rmSync(join(directory, 'sessions'), { recursive: true })
    cpSync(backup, join(directory, 'sessions'), { recursive: true })
    const again = await open()
    const old = again.session<JsonObject>('a')
    const message = { id: 'new', content: 'another needle, which is quite a bit longer than the one that was lost' }
    await expect(old.append(message)).rejects.toMatchObject({ code: 'DAMAGED' })
    await old.acceptDamage()
    await old.append(message)
    expect(await found(again)).toEqual(['m a', 'new'])
    expect((await again.list()).sessions).toMatchObject([{ id: 'a', messageCount: 2 }])
  })

  test('a row that was changed by hand is not shown: the catalog is rebuilt', async () => {
    const store = await open()
    await fill(store, 'a')
    await found(store)
    const raw = new Database(database())
    raw.run(`UPDATE sessions SET shown = replace(shown, '"title":null', '"title":"wrong"')`)
    raw.close()
    expect((await store.list()).sessions).toMatchObject([{ title: null }])
    expect(await found(store)).toEqual(['m a'])
  })
})

test('while another process writes to the catalog and does not end, appends go on, lists are exact, and a search tells what it lacks', async () => {
  const store = await open()
  await fill(store, 'a')
  expect(await found(store)).toEqual(['m a'])
  const other = new Database(database())
  other.exec('BEGIN IMMEDIATE')
  await fill(store, 'b')
  expect(await listed(store)).toEqual(['a', 'b'])
  const { hits, lag } = await store.search('needle')
  expect(hits.map(({ message }) => message)).toEqual(['m a'])
  expect(lag).toMatchObject({ sessions: 1 })
  expect((await store.stats()).sessions).toMatchObject({ ok: 2 })
  other.exec('ROLLBACK')
  other.close()
  expect(await found(store)).toEqual(['m a', 'm b'])
})

test('while another process writes to the catalog and does not end, memories are told and found as before', async () => {
  const store = await open()
  for (const [id, content] of [
    ['a', 'I prefer trains.'],
    ['b', 'My name is Kim.'],
  ] as const) {
    const session = store.session<JsonObject>(id)
    await session.append({ role: 'user', content })
    await session.commit()
  }
  await new Worker(store).drain()
  const told = await store.memories()
  expect(told).toHaveLength(2)
  const found = async () => (await store.search('trains', { kinds: ['memory'] })).hits.map(({ memory }) => memory)
  const [trains] = await found()
  expect(told.map(({ id }) => id)).toContain(trains)
  const other = new Database(database())
  other.exec('BEGIN IMMEDIATE')
  await fill(store, 'c')
  expect(await store.memories()).toEqual(told)
  expect(await found()).toEqual([trains])
  other.exec('ROLLBACK')
  other.close()
})

test('where the catalog cannot lie beside the store, everything works all the same, from a temporary one', async () => {
  mkdirSync(join(directory, 'catalog.db'), { recursive: true })
  const store = await open()
  await fill(store, 'a')
  expect(await listed(store)).toEqual(['a'])
  expect(await found(store)).toEqual(['m a'])
  expect(await store.catalogStatus()).toMatchObject({ state: 'ready', reason: expect.stringContaining('SQLite') })
  await expect(store.rebuildCatalog()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
