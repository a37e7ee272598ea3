/** Making a catalog anew beside the one in use. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Rebuild } from '../../src/catalog/rebuild.ts'
import { SqliteCatalog } from '../../src/catalog/sqlite/catalog.ts'
import { currentFile } from '../../src/catalog/sqlite/file.ts'
import { STORE_SPACE } from '../../src/engine/names.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { tracesOf } from '../erase/traces.ts'
import { searched } from './answers.ts'

let directory = ''
let store: Store

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  store = await openStore(directory)
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

async function fill(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await store.session(`s${i}`).append({ id: `m${i}`, role: 'user', content: `needle ${i}` })
}

function files(): string[] {
  return readdirSync(directory).filter((name) => /^catalog\.db\.[0-9a-f]+(?:\.draft)?$/.test(name))
}

test('lists and searches go on with the old one, tell all there is, and see what is appended meanwhile', async () => {
  await fill(150)
  expect((await searched(store, 'needle')).lag).toBeNull()
  const before = files()
  let isDone = false
  const rebuilding = store.rebuildCatalog().finally(() => {
    isDone = true
  })
  const states = new Set<string>()
  for (let i = 150; !isDone; i++) {
    states.add((await store.catalogStatus()).state)
    await store.session(`s${i}`).append({ id: `m${i}`, role: 'user', content: 'needle' })
    const { total } = await store.list({ limit: 1, count: true })
    const { hits, lag } = await searched(store, 'needle', { limit: 200 })
    expect([total, hits.length, lag]).toEqual([i + 1, Math.min(200, i + 1), null])
  }
  await rebuilding
  expect(states).toContain('sweeping')
  expect(files()).toHaveLength(1)
  expect(readdirSync(directory).filter((name) => name.includes('draft'))).toEqual([])
  expect(files()).not.toEqual(before)
  const { total } = await store.list({ limit: 1, count: true })
  expect((await store.search('needle', { limit: 200 })).hits).toHaveLength(Math.min(200, total ?? 0))
})

test('calls that come while one is at it share it', async () => {
  await fill(10)
  expect(await Promise.all([store.rebuildCatalog(), store.rebuildCatalog()])).toEqual([10, 10])
  expect(files()).toHaveLength(1)
})

test('what an attempt left that died is removed by the next one, and is not taken for a catalog', async () => {
  await fill(3)
  writeFileSync(join(directory, 'catalog.db.0123456789abcdef.draft'), 'half of it')
  expect((await store.list()).sessions).toHaveLength(3)
  expect(await store.rebuildCatalog()).toBe(3)
  expect(files()).toHaveLength(1)
  expect(files()[0]).not.toContain('draft')
})

test('a store that is closed ends it, and leaves nothing behind', async () => {
  await fill(300)
  await store.list()
  const rebuilding = store.rebuildCatalog()
  const refused = expect(rebuilding).rejects.toMatchObject({ code: 'CLOSED' })
  await store.catalogStatus()
  await store.close()
  await refused
  expect(files().filter((name) => name.includes('draft'))).toEqual([])
})

test('sessions larger than what is read at once are found from beginning to end', async () => {
  const session = store.session('large')
  for (let i = 0; i < 30; i++) await session.append({ role: 'user', content: `needle${i} ${'padding '.repeat(12_000)}` })
  await store.rebuildCatalog()
  for (const i of [0, 10, 11, 12, 29]) expect((await store.search(`needle${i}`)).hits).toHaveLength(1)
})

test('what came while it was made, and what is large, is in the file that is put in place', async () => {
  await fill(100)
  const { engine, clock, ids } = store.parts
  const session = store.session('large')
  for (let i = 0; i < 30; i++) await session.append({ role: 'user', content: `needle${i} ${'padding '.repeat(12_000)}` })
  const options = { engine, clock, ids, directory, spaces: new Set<string>(), signal: new AbortController().signal }
  const rebuilding = new Rebuild(options).run()
  for (let i = 0; i < 20; i++) await store.session(`s${i}`).append({ role: 'user', content: 'needle, later' })
  expect(await rebuilding).toBe(101)
  const catalog = new SqliteCatalog((await currentFile(directory)) as string)
  try {
    expect(await catalog.lag()).toBeNull()
    const [known] = await catalog.known([engine.name(store.space, 'large')])
    expect(known?.text.end).toBeGreaterThan(2_000_000)
  } finally {
    await catalog.close()
  }
})

test('the store’s own facts are not in it: nobody finds or counts them, and whoever may look at them lists them', async () => {
  await fill(2)
  const own = store.in(STORE_SPACE)
  await own.session('audit-1').append({ role: 'user', content: 'needle in the audit' })
  expect((await store.search('needle')).hits).toHaveLength(2)
  expect((await store.list({ count: true })).total).toBe(2)
  expect((await store.stats()).sessions.ok).toBe(2)
  expect(await store.rebuildCatalog()).toBe(2)
  expect((await own.list({ count: true })).sessions).toMatchObject([{ id: 'audit-1', messageCount: 1 }])
  expect((await own.stats()).messages).toEqual({ live: 1, archived: 0 })
  await expect(own.search('needle')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

test('two processes may make one at once: each is finished, and the last one is used', async () => {
  await fill(300)
  const program = `
    import { openStore } from ${JSON.stringify(new URL('../../build/src/store/open-store.js', import.meta.url).href)}
    const store = await openStore(${JSON.stringify(directory)})
    process.stdout.write('ready\\n')
    process.stdin.once('data', async () => {
      let made = 0
      for (let i = 0; i < 5; i++) made = await store.rebuildCatalog()
      console.log(made)
      await store.close()
      process.exit()
    })`
  const others = [1, 2].map(() => spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'pipe' }))
  const told = others.map(
    (other) =>
      new Promise<string>((resolve) => {
        let text = ''
        other.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        other.stderr.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        other.once('close', () => resolve(text))
      }),
  )
  await Promise.all(others.map((other) => once(other.stdout, 'data')))
  for (const other of others) other.stdin.write('go')
  expect(await Promise.all(told)).toEqual(['ready\n300\n', 'ready\n300\n'])
  expect(files()).toHaveLength(1)
  expect((await store.list({ limit: 1, count: true })).total).toBe(300)
})

test('the turn of a process that has died is over', async () => {
  await fill(3)
  const dead = spawn(process.execPath, ['-e', ''])
  await once(dead, 'close')
  for (const name of ['catalog.db.turn', `catalog.db.turn.${dead.pid}.abcdef`]) {
    mkdirSync(join(directory, name))
    writeFileSync(join(directory, name, `${dead.pid}.abcdef`), '')
  }
  expect(await store.rebuildCatalog()).toBe(3)
  expect(readdirSync(directory).filter((name) => name.includes('turn'))).toEqual([])
})

test('what is erased while one is made is in no page of it', async () => {
  await fill(400)
  const session = store.session('s0')
  await store.list()
  for (let round = 0; round < 5; round++) {
    await session.append({ id: `secret ${round}`, role: 'user', content: 'the word is ypsilanti' })
    expect((await searched(store, 'ypsilanti')).hits).toHaveLength(1)
    const rebuilding = store.rebuildCatalog()
    // Another moment of the work each time.
    for (let status = await store.catalogStatus(); status.state === 'sweeping' && status.sessions < round * 90; ) {
      await new Promise((resolve) => setImmediate(resolve))
      status = await store.catalogStatus()
    }
    await session.erase(`secret ${round}`)
    await rebuilding
    expect(tracesOf(directory, 'ypsilanti')).toEqual([])
  }
})
