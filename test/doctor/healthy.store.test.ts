import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import type { HoldfastError } from '../../src/errors.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import { MemoryDisk } from './disk.ts'
import { findingsIn, makeStore, openOn, segmentsOf, talk } from './sample.ts'

test('in a healthy store with a little of everything there is nothing to find', async () => {
  const files = await makeStore()
  for (const session of ['talk', 'fork', 'restored', 'carried']) expect(segmentsOf(files, session).length).toBeGreaterThan(1)
  for (const session of ['again', 'purged']) expect(segmentsOf(files, session)[0]).toBeGreaterThan(0)
  expect(await findingsIn(files)).toEqual([])
})

test('looking changes nothing', async () => {
  const disk = new MemoryDisk(await makeStore())
  const store = await openOn(disk, 900)
  const before = disk.writes
  for await (const _ of doctor(store));
  expect(disk.writes).toBe(before)
})

test('one session can be looked at alone, and one that does not exist is not found', async () => {
  const disk = new MemoryDisk(await makeStore())
  disk.files.set('/store/notes.txt', Buffer.of())
  expect((await findingsIn(disk)).map(({ kind }) => kind)).toEqual(['foreign-file'])
  expect(await findingsIn(disk, 'talk')).toEqual([])
  await expect(findingsIn(disk, 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' } satisfies Partial<HoldfastError>)
})

test('with a rate, so many sessions a second are looked at, and no more', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const slept: number[] = []
  const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) }
  const store = await openStore(engine, { clock })
  for (const id of ['a', 'b', 'c']) await store.create({ id })
  for await (const _ of doctor(store, { rate: 50 }));
  expect(slept).toEqual([20, 20, 20])
})

test('progress counts the sessions of every space', async () => {
  const store = await openOn(new MemoryDisk(await makeStore()), 900)
  const progress: unknown[] = []
  for await (const _ of doctor(store, { onProgress: (one) => progress.push(one) }));
  expect(progress).toEqual(progress.map((_, i) => ({ done: i + 1, total: progress.length })))
  expect(progress).toHaveLength(9)
})

test('a store in memory has no files to look at, and is looked at all the same', async () => {
  const store = await openStore('memory:')
  await talk(store, 'talk')
  let total = 0
  for await (const finding of doctor(store, { onProgress: (one) => (total = one.total ?? 0) })) expect.fail(finding.kind)
  expect(total).toBe(1)
})

test('docs/doctor.md lists every kind, as the code does', async () => {
  const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
  const kinds = (await read('src/verify/findings.ts')).matchAll(/^ {2}'?([a-z-]+)'?: \[\s*'(damage|note)'/gm)
  const listed = (await read('docs/doctor.md')).matchAll(/^\| `([a-z-]+)` \| (damage|note) \|/gm)
  const inCode = [...kinds].map(([, kind, severity]) => `${kind} ${severity}`)
  expect(inCode.length).toBeGreaterThan(15)
  expect([...listed].map(([, kind, severity]) => `${kind} ${severity}`)).toEqual(inCode)
})
