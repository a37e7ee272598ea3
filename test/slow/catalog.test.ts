import { expect, onTestFinished, test } from 'vitest'
import { CatalogCrowd } from '../catalog/processes.ts'

for (const keep of [false, true]) {
  test(`processes that append and are killed, and one that lists${keep ? ' and keeps the catalog' : ''}: every list is whole`, async () => {
    const crowd = await CatalogCrowd.make(keep ? 3 : 4)
    onTestFinished(() => crowd.dispose())
    const { lists } = await crowd.appendWhileListing({ milliseconds: 20_000, keep, kills: 10 })
    expect(lists).toBeGreaterThan(20)
    await crowd.checkAgainstAnew()
  })
}

test.each([false, true])('a process that is killed at any moment of its indexing (making anew: %s) spoils nothing', async (rebuild) => {
  const crowd = await CatalogCrowd.make(5)
  onTestFinished(() => crowd.dispose())
  await crowd.killIndexing({ rounds: 15, rebuild })
})
