import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { searched } from '../catalog/answers.ts'
import { CatalogCrowd } from '../catalog/processes.ts'
import { runs } from '../long.ts'
import { requirePlatform } from '../platform.ts'
import { type Mount, mountTmpfs } from '../processes/mount.ts'

const tmpfs = requirePlatform('tmpfs')

for (const keep of [false, true]) {
  test(`processes that append and are killed, and one that lists${keep ? ' and keeps the catalog' : ''}: every list is whole`, async () => {
    const crowd = await CatalogCrowd.make(keep ? 3 : 4)
    onTestFinished(() => crowd.dispose())
    const { lists } = await crowd.appendWhileListing({ milliseconds: runs(3_000, 20_000), keep, kills: runs(2, 10) })
    expect(lists).toBeGreaterThan(runs(2, 20))
    await crowd.checkAgainstAnew({ keep: true })
  })
}

test.each([false, true])('a process that is killed at any moment of its indexing (making anew: %s) spoils nothing', async (rebuild) => {
  const crowd = await CatalogCrowd.make(5)
  onTestFinished(() => crowd.dispose())
  await crowd.killIndexing({ rounds: runs(3, 15), rebuild })
})

test('a thread that kept the catalog up to date and ends is started anew, and keeps it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  // Compiled: others have no thread.
  const built: typeof import('../../src/store/open-store.ts') = await import(join(process.cwd(), 'build/src/store/open-store.js'))
  const asked = vi.spyOn(Worker.prototype, 'postMessage')
  onTestFinished(() => asked.mockRestore())
  const threads = (): unknown[] =>
    asked.mock.contexts.filter((_, call) => (asked.mock.calls[call]?.[0] as { method?: string } | undefined)?.method === 'keep')
  const store = await built.openStore(directory)
  store.keepCatalog()
  await vi.waitFor(() => expect(threads()).toHaveLength(1), 30_000)
  expect((await store.list()).sessions).toEqual([])
  await (threads()[0] as Worker).terminate()
  await vi.waitFor(() => expect(threads()).toHaveLength(2), 30_000)
  expect(threads()[1]).not.toBe(threads()[0])
  await store.session<JsonObject>('s').append({ role: 'user', content: 'a needle' })
  expect(await answers(store as unknown as Store)).toMatchObject({ listed: ['s'], lag: null })
  await store.close()
  // A store that is closed starts none.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(threads()).toHaveLength(2)
})

function onMount(): { mount: Mount; directory: string } {
  const mount = mountTmpfs(24)
  onTestFinished(() => mount.dispose())
  return { mount, directory: join(mount.directory, 'store') }
}

async function answers(store: Store): Promise<unknown> {
  const { hits, lag } = await searched(store, 'needle')
  return { listed: (await store.list()).sessions.map(({ id }) => id).sort(), found: hits.map(({ message }) => message).sort(), lag }
}

test.skipIf(!tmpfs.available)(
  'on a mount that may only be read, with a catalog, an old one or none, lists and searches are exact',
  async () => {
    const { mount, directory } = onMount()
    // In processes of their own: SQLite lets go of its files for good when a process ends.
    const holdfast = (...words: string[]): void => {
      const main = join(process.cwd(), 'build', 'src', 'cli', 'main.js')
      execFileSync(process.execPath, [main, ...words, '--store', directory], { stdio: 'ignore' })
    }
    const append = (id: string): void => holdfast('append', id, 'a needle', '--message-id', id)
    for (const round of ['none', 'old', 'whole']) {
      append(round)
      if (round !== 'none') holdfast('search', 'needle')
      if (round === 'old') append('more')
      mount.remount('ro')
      const reader = await openStore(directory)
      const ids = round === 'none' ? ['none'] : round === 'old' ? ['more', 'none', 'old'] : ['more', 'none', 'old', 'whole']
      expect(await answers(reader)).toEqual({ listed: ids, found: ids, lag: null })
      expect(await reader.stats()).toMatchObject({ sessions: { ok: ids.length } })
      await reader.close()
      mount.remount('rw')
    }
  },
)

test.skipIf(!tmpfs.available)(
  'a catalog cannot be made anew on a full disk: the old one goes on, and nothing is left of the attempt',
  async () => {
    const { mount, directory } = onMount()
    const store = await openStore(directory)
    for (let i = 0; i < 50; i++) {
      const messages = Array.from({ length: 40 }, (_, j) => ({
        id: `m${i}x${j}`,
        content: `a needle ${i * j} ${'some words '.repeat(20)}`,
      }))
      await store.session<JsonObject>(`s${i}`).append(messages)
    }
    while ((await store.search('needle')).lag !== null);
    const files = (): string[] => readdirSync(directory).filter((name) => name.startsWith('catalog.db') && !/-(?:wal|shm)$/.test(name))
    const before = files()
    const ballast = join(mount.directory, 'ballast')
    const { bavail, bsize } = statfsSync(mount.directory)
    writeFileSync(ballast, Buffer.alloc((bavail - 8) * bsize))
    await expect(store.rebuildCatalog()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(files()).toEqual(before)
    expect((await store.list({ limit: 1, count: true })).total).toBe(50)
    expect((await store.search('needle')).hits).toHaveLength(20)
    rmSync(ballast)
    expect(await store.rebuildCatalog()).toBe(50)
    expect((await store.search('needle')).hits).toHaveLength(20)
    await store.close()
  },
)

test.skipIf(!tmpfs.available)('on a full disk what is there is listed and found; when there is room, what comes is too', async () => {
  const { mount, directory } = onMount()
  const store = await openStore(directory)
  for (let i = 0; i < 5; i++) await store.session<JsonObject>(`s${i}`).append({ id: `m${i}`, content: 'a needle' })
  expect(await answers(store)).toMatchObject({ found: ['m0', 'm1', 'm2', 'm3', 'm4'] })
  const ballast = join(mount.directory, 'ballast')
  await store.session<JsonObject>('s5').append({ id: 'm5', content: `a needle ${'x'.repeat(200)}` })
  const { bavail, bsize } = statfsSync(mount.directory)
  writeFileSync(ballast, Buffer.alloc(bavail * bsize))
  await expect(store.session<JsonObject>('s6').append({ id: 'm6', content: 'x'.repeat(100_000) })).rejects.toMatchObject({
    code: 'NO_SPACE',
  })
  expect(await answers(store)).toMatchObject({ found: ['m0', 'm1', 'm2', 'm3', 'm4', 'm5'] })
  rmSync(ballast)
  await store.session<JsonObject>('s7').append({ id: 'm7', content: 'a needle' })
  expect(await answers(store)).toMatchObject({ found: ['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm7'], lag: null })
  await store.close()
})
