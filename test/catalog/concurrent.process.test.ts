import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CatalogCrowd } from './processes.ts'

test('while two processes append, every list of a third has everything that was acknowledged before it began', {
  timeout: 240_000,
}, async () => {
  const crowd = await CatalogCrowd.make(1)
  onTestFinished(() => crowd.dispose())
  const { lists, searches } = await crowd.appendWhileListing({ milliseconds: 3000, keep: false, kills: 1 })
  expect(lists).toBeGreaterThan(1)
  expect(searches).toBeGreaterThan(1)
  expect(crowd.acknowledged).toBeGreaterThan(20)
  await crowd.checkAgainstAnew({ keep: true })
})

test('every list is whole where the feed begins a new file all the time, and old ones are trimmed before they were read', {
  timeout: 240_000,
}, async () => {
  const crowd = await CatalogCrowd.make(6)
  onTestFinished(() => crowd.dispose())
  const { lists } = await crowd.appendWhileListing({ milliseconds: 3000, keep: false, kills: 1, limits: { feedBytes: 400, feedFiles: 2 } })
  expect(lists).toBeGreaterThan(1)
  const files = (await readdir(join(crowd.directory, 'feed'))).filter((name) => name.endsWith('.jsonl'))
  // Their numbers go up: many have been, and few are left.
  expect(Math.max(...files.map((name) => Number(name.slice(0, 8))))).toBeGreaterThan(10)
  expect(files.length).toBeLessThan(10)
  await crowd.checkAgainstAnew({ keep: true })
})

test('a process that is killed while it indexes leaves a catalog that equals a rebuilt one', { timeout: 240_000 }, async () => {
  const crowd = await CatalogCrowd.make(2)
  onTestFinished(() => crowd.dispose())
  await crowd.killIndexing({ rounds: 1, rebuild: false })
  await crowd.killIndexing({ rounds: 1, rebuild: true })
})
