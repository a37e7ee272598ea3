import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()
const SMALL = { limits: { segmentBytes: 2000 } }

async function bytesOnDisk(): Promise<number> {
  const names = await readdir(join(directory().path, 'sessions'), { recursive: true })
  // Id files are derived, and merged in the background meanwhile.
  const files = names.filter((name) => name.endsWith('.jsonl'))
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(directory().path, 'sessions', name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

async function ids(session: Session<JsonObject>): Promise<string[]> {
  const { messages } = await session.messages({ limit: 1000 })
  return messages.map(({ id }) => id)
}

async function write(store: Store, count: number): Promise<{ session: Session<JsonObject>; all: string[] }> {
  const session = store.session<JsonObject>('parent')
  const all: string[] = []
  for (let i = 0; i < count; i += 10) {
    const batch = Array.from({ length: 10 }, (_, k) => `m${i + k}`)
    await session.append(
      batch.map((id) => ({ content: id.padEnd(500, '.') })),
      { ids: batch },
    )
    all.push(...batch)
  }
  return { session, all }
}

test('F35 fork multiplies disk: a fork takes a few kilobytes, however long what it shares is', async () => {
  const store = await directory().open(SMALL)
  const { session, all } = await write(store, 400)
  const before = await bytesOnDisk()
  expect(before).toBeGreaterThan(200_000)
  let fork = session
  for (let i = 0; i < 10; i++) fork = await fork.fork({ id: `fork ${i}` })
  expect((await bytesOnDisk()) - before).toBeLessThan(10 * 4_000)
  expect(await ids(fork)).toEqual(all)
})

test('F35 fork multiplies disk: deleting and purging the parent keeps the fork whole, and what no fork reaches goes', async () => {
  const store = await directory().open(SMALL)
  const { session, all } = await write(store, 60)
  const fork = await session.fork({ id: 'fork', at: 'm39' })
  await fork.append({ content: 'own' }, { ids: ['own'] })
  const grandchild = await fork.fork({ id: 'grandchild' })
  await grandchild.append({ content: 'third' }, { ids: ['third'] })
  const purge = async (): Promise<string[]> => {
    const told: string[] = []
    for await (const { session: id, action } of store.purge({ olderThanMs: -1000 })) told.push(`${id} ${action}`)
    return told.sort()
  }
  await session.delete()
  expect(await purge()).toEqual(['parent kept'])
  await fork.delete()
  expect(await purge()).toEqual(['fork kept', 'parent kept'])
  const cold = (await directory().open(SMALL)).session<JsonObject>('grandchild')
  expect(await ids(cold)).toEqual([...all.slice(0, 40), 'own', 'third'])
  expect(await cold.message('m5')).toMatchObject({ depth: 6 })
  await store.create<JsonObject>({ id: 'parent' })
  expect(await ids(cold)).toEqual([...all.slice(0, 40), 'own', 'third'])
  await grandchild.delete()
  // Whoever is purged lets go of what it shared; that may take as many rounds as there are generations.
  for (let round = 0; round < 3; round++) await purge()
  expect(await purge()).toEqual([])
  expect(await bytesOnDisk()).toBeLessThan(20_000)
  expect((await store.session<JsonObject>('parent').info()).messageCount).toBe(0)
})
