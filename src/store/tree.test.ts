import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import { openMemoryEngine } from '../engines/memory/engine.ts'
import { Replicas } from '../journal/replicas.ts'
import { LIMITS } from '../record/limits.ts'
import * as decide from '../session/decide.ts'
import { sessionReducer } from '../session/reducer.ts'
import { Handle } from './handle.ts'
import { openStore } from './open-store.ts'
import { pageCursor } from './page-cursor.ts'
import type { Session } from './session.ts'
import type { Store } from './store.ts'
import { type TreeNode, type TreeOptions, type TreePage, treePage } from './tree.ts'

const { keysOf } = sessionReducer

test('a tree does not show a fork that was granted and, because its maker died, never made', async () => {
  const engine = openMemoryEngine({ keysOf })
  const store = await openStore(engine)
  const session = await store.create({ id: 'a' })
  const replicas = new Replicas({ reducer: sessionReducer, engine, clock: systemClock, ids: systemIds, limits: LIMITS })
  const handle = new Handle({ ...store.parts, replicas }, 'a')
  await handle.submit({}, (full) => decide.grant(full, { session: 'never', kind: 'fork', message: null }))
  await session.fork({ id: 'b' })
  expect(await treePage(handle)).toMatchObject({ session: 'a', children: [{ session: 'b', kind: 'fork', status: 'ok', children: [] }] })
})

test('a fork that cannot be read is in the tree, flagged, and hides nothing else', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-tree-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const before = await openStore(directory)
  const root = await before.create({ id: 'a' })
  await root.fork({ id: 'b' })
  await root.fork({ id: 'c' })
  await before.close()
  const names = await readdir(join(directory, 'sessions'), { recursive: true })
  const segment = names.find((name) => /\/b-[0-9a-f]{32}\/0{16}\.jsonl$/.test(name)) as string
  await rm(join(directory, 'sessions', segment))
  await writeFile(join(directory, 'sessions', segment.replace('0000.jsonl', '4711.jsonl')), 'rotten\n')

  const store = await openStore(directory)
  const { children } = await store.session('a').tree()
  expect(children).toMatchObject([
    { session: 'b', status: 'damaged', title: null },
    { session: 'c', status: 'ok' },
  ])
  await store.close()
})

/** Every session of a tree, with the one it comes from, page by page. */
async function pagesOf(session: Pick<Session, 'tree'>, limit: number, between = async (): Promise<void> => undefined): Promise<string[][]> {
  const pages: string[][] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: TreePage = await session.tree({ limit, cursor })
    const links = (node: TreeNode): string[] => node.children.flatMap((child) => [`${node.session} ${child.session}`, ...links(child)])
    pages.push([...(page.continued === true ? [] : [`- ${page.session}`]), ...links(page)])
    cursor = page.cursor
    await between()
  }
  return pages
}

async function family(): Promise<Store> {
  const store = await openStore('memory:')
  await store.create({ id: 'root' })
  for (const a of ['a', 'b', 'c']) {
    const fork = await store.session('root').fork({ id: a })
    for (const b of ['1', '2', '3']) await (await fork.fork({ id: `${a}${b}` })).child({ id: `${a}${b}x` })
  }
  return store
}

test.each([1, 2, 3, 5, 7, 22, 1000])('a tree comes whole in pages of %i sessions, each session once', async (limit) => {
  const store = await family()
  const whole = (await pagesOf(store.session('root'), 1000)).flat()
  const pages = await pagesOf(store.session('root'), limit)
  expect(whole).toHaveLength(22)
  expect(pages.flat()).toEqual(whole)
  for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit)
  await store.close()
})

test('a tree has no cursor when its last session is on the page', async () => {
  const store = await family()
  expect(await store.session('root').tree({ limit: 22 })).toMatchObject({ session: 'root', cursor: null })
  expect((await store.session('root').tree({ limit: 21 })).cursor).toEqual(expect.any(String))
  await store.close()
})

test('a tree that is forked between two pages shows each session that was there once', async () => {
  const store = await family()
  const before = (await pagesOf(store.session('root'), 1000)).flat()
  let n = 0
  const after = await pagesOf(store.session('root'), 4, async () => {
    if (n++ < 4) for (const id of ['root', 'a1', 'b']) await store.session(id).fork({ id: `${id}-${n}` })
  })
  const seen = after.flat()
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen.filter((link) => before.includes(link))).toEqual(before)
  await store.close()
})

test('a chain of forks that is deeper than a stack comes in pages', async () => {
  const store = await openStore('memory:')
  let last = await store.create({ id: 'f0' })
  for (let i = 1; i < 60; i++) last = await last.fork({ id: `f${i}` })
  const pages = await pagesOf(store.session('f0'), 10)
  expect(pages.map((page) => page.length)).toEqual([10, 10, 10, 10, 10, 10])
  await store.close()
})

test('a cursor of another tree, of a session that was created again, or of no tree at all is refused', async () => {
  const store = await family()
  const { cursor } = await store.session('root').tree({ limit: 2 })
  const refused = { code: 'INVALID_ARGUMENT', details: { reason: 'cursor' } }
  await expect(store.session('a').tree({ cursor })).rejects.toMatchObject(refused)
  await expect(store.session('root').tree({ cursor: 'nonsense' })).rejects.toMatchObject(refused)
  await expect(store.session('root').tree({ cursor: (await store.list({ limit: 1 })).cursor })).rejects.toMatchObject(refused)
  await store.session('root').delete()
  await store.create({ id: 'root' })
  await expect(store.session('root').tree({ cursor })).rejects.toMatchObject(refused)
  await store.close()
})

test('a tree of one owner shows no session of another one, whatever its cursor says', async () => {
  const store = await openStore('memory:')
  const root = await store.create({ id: 'root', owner: 'kim' })
  await (await root.fork({ id: 'theirs', owner: 'lee' })).fork({ id: 'below', owner: 'kim' })
  await root.fork({ id: 'own' })
  const ofKim = (options: TreeOptions = {}) => root.tree({ ...options, ...{ owner: 'kim' } })
  expect((await pagesOf({ tree: ofKim }, 1)).flat()).toEqual(['- root', 'root own'])
  const { born } = await new Handle(store.parts, 'root').liveState()
  const forged = pageCursor(['tree', 'root', born, 'kim'], ['theirs', 'root'])
  await expect(ofKim({ cursor: forged })).rejects.toMatchObject({ details: { reason: 'cursor' } })
  await store.close()
})
