import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { diskWith } from '../damage/disk-with.ts'
import { unsynced } from '../damage/on-disk.ts'

let directory = ''
let store: Store

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  store = await openStore(directory)
  for (const id of ['a', 'b']) await store.session(id).append({ content: 'first' })
  expect(await counts()).toEqual([1, 1])
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

async function counts(): Promise<number[]> {
  return (await store.list()).sessions.map(({ messageCount }) => messageCount).sort()
}

/** Appends like a writer that died before it could announce what it had written. */
async function appendUnannounced(...ids: string[]): Promise<void> {
  const silent = diskWith({ open: unsynced.open }, (path) => (path.includes('/feed/') ? { writeSync: (bytes) => bytes.length } : {}))
  const other = await openStore(await openFilesEngine({ directory, keysOf: sessionReducer.keysOf, disk: silent }))
  for (const id of ids) await other.session(id).append({ content: 'unannounced' })
  await other.close()
}

test('what a writer that died has not announced is found once the catalog is kept, and when the session changes', async () => {
  await appendUnannounced('a', 'b', 'c')
  expect(await counts()).toEqual([1, 1])
  await store.session('a').append({ content: 'announced' })
  expect(await counts()).toEqual([1, 3])
  store.keepCatalog()
  await vi.waitFor(async () => expect(await counts()).toEqual([1, 2, 3]), { timeout: 30_000 })
  expect((await store.search('unannounced')).hits).toHaveLength(3)
})

test('after a restart of the machine, a list looks at every session', async () => {
  await appendUnannounced('a', 'c')
  const feed = join(directory, 'feed')
  for (const name of readdirSync(feed)) if (name.startsWith('epoch.')) renameSync(join(feed, name), join(feed, 'epoch.another-boot.1'))
  expect(await counts()).toEqual([1, 1, 2])
})

test('a session whose files are gone is listed as damaged once every session was looked at', async () => {
  removeFiles('b')
  await store.rebuildCatalog()
  expect((await store.list()).sessions.map(({ id, status }) => [id, status]).sort()).toEqual([
    ['a', 'ok'],
    ['b', 'damaged'],
  ])
})

test('a session of which nothing is left, no watermark either, is no longer listed once every session was looked at', async () => {
  await store.close()
  removeFiles('b')
  rmSync(join(directory, 'watermarks'), { recursive: true })
  store = await openStore(directory)
  await store.rebuildCatalog()
  expect(await counts()).toEqual([1])
})

function removeFiles(id: string): void {
  const sessions = join(directory, 'sessions')
  const names = readdirSync(sessions, { recursive: true, encoding: 'utf8' })
  rmSync(join(sessions, names.find((name) => new RegExp(`/${id}-[0-9a-f]{32}$`).test(name)) as string), { recursive: true })
}
