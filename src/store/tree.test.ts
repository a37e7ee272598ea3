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
import { treeOf } from './family.ts'
import { Handle } from './handle.ts'
import { openStore } from './open-store.ts'

const { keysOf } = sessionReducer

test('a tree does not show a fork that was granted and, because its maker died, never made', async () => {
  const engine = openMemoryEngine({ keysOf })
  const store = await openStore(engine)
  const session = await store.create({ id: 'a' })
  const replicas = new Replicas({ reducer: sessionReducer, engine, clock: systemClock, ids: systemIds, limits: LIMITS })
  const handle = new Handle({ ...store.parts, replicas }, 'a')
  await handle.submit({}, (full) => decide.grant(full, { session: 'never', kind: 'fork', message: null }))
  await session.fork({ id: 'b' })
  expect(await treeOf(handle)).toMatchObject({ session: 'a', children: [{ session: 'b', kind: 'fork', status: 'ok', children: [] }] })
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
