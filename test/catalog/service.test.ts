import { expect, onTestFinished, test, vi } from 'vitest'
import { CatalogService } from '../../src/catalog/service.ts'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { systemIds } from '../../src/engine/ids.ts'
import { openStore } from '../../src/store/open-store.ts'

test('who keeps the catalog rests behind a round of all that is behind, not behind every call that such a round takes', async () => {
  const store = await openStore('memory:')
  // Of each session two pieces: two rounds, each of several slices.
  for (let i = 0; i < 12; i++) {
    const session = store.session(`s${i}`)
    for (let j = 0; j < 3; j++) await session.append({ role: 'user', content: 'x'.repeat(512 * 1024) })
  }
  let elapsedMs = 0
  const restsIn: string[] = []
  const clock: Clock = {
    ...systemClock,
    // Every slice takes longer than a call may.
    monotonicMs: () => {
      elapsedMs += 500
      return elapsedMs
    },
    sleep: async (_, signal) => {
      restsIn.push((await service.status()).state)
      await systemClock.sleep(1, signal)
    },
  }
  const service: CatalogService = new CatalogService({ engine: store.parts.engine, clock, ids: systemIds })
  onTestFinished(async () => {
    await service.close()
    await store.close()
  })
  await service.keep()
  await vi.waitFor(() => expect(restsIn).toContain('ready'), { timeout: 20_000 })
  expect(restsIn.filter((state) => state === 'indexing')).toHaveLength(1)
})
