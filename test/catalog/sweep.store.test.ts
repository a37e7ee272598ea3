import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

let directory = ''
let store: Store

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  store = await openStore(directory)
  for (const id of ['a', 'b']) await store.session<JsonObject>(id).append({ content: 'first' })
  expect(await counts()).toEqual([1, 1])
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

async function counts(): Promise<number[]> {
  return (await store.list()).sessions.map(({ messageCount }) => messageCount).sort()
}

/** Appends like a writer that died before it could announce what it had written: the feed ends where it ended before. */
async function appendUnannounced(...ids: string[]): Promise<void> {
  const feed = join(directory, 'feed')
  const sizes = new Map(readdirSync(feed).map((name) => [name, statSync(join(feed, name)).size]))
  const other = await openStore(directory)
  for (const id of ids) await other.session<JsonObject>(id).append({ content: 'unannounced' })
  await other.close()
  for (const name of readdirSync(feed)) truncateSync(join(feed, name), sizes.get(name) ?? 0)
}

test('what a writer that died has not announced is found once the catalog is kept, and when the session changes', async () => {
  await appendUnannounced('a', 'b', 'c')
  expect(await counts()).toEqual([1, 1])
  await store.session<JsonObject>('a').append({ content: 'announced' })
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
