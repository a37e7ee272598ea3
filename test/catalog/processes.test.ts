import { expect, onTestFinished, test } from 'vitest'
import { CatalogCrowd } from './processes.ts'

test('while two processes append, every list of a third has everything that was acknowledged before it began', {
  timeout: 60_000,
}, async () => {
  const crowd = await CatalogCrowd.make(1)
  onTestFinished(() => crowd.dispose())
  const { lists, searches } = await crowd.appendWhileListing({ milliseconds: 3000, keep: false, kills: 1 })
  expect(lists).toBeGreaterThan(1)
  expect(searches).toBeGreaterThan(1)
  expect(crowd.acknowledged).toBeGreaterThan(20)
  await crowd.checkAgainstAnew({ keep: true })
})

test('a process that is killed while it indexes leaves a catalog that is as good as one made anew', { timeout: 60_000 }, async () => {
  const crowd = await CatalogCrowd.make(2)
  onTestFinished(() => crowd.dispose())
  await crowd.killIndexing({ rounds: 1, rebuild: false })
  await crowd.killIndexing({ rounds: 1, rebuild: true })
})
