import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CatalogService } from '../../src/catalog/service.ts'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { systemIds } from '../../src/engine/ids.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
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

test('a catalog whose file another process replaces while it is opened is opened again', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  const engine = await openFilesEngine({ directory, keysOf: sessionReducer.keysOf })
  const service = new CatalogService({ engine, clock: systemClock, ids: systemIds })
  onTestFinished(async () => {
    await service.close()
    await engine.close()
    rmSync(directory, { recursive: true })
  })
  const checkDirectory = engine.checkDirectory?.bind(engine)
  let removals = 0
  vi.spyOn(engine, 'checkDirectory').mockImplementation(async () => {
    const files = readdirSync(directory).filter((name) => /^catalog\.db\.[0-9a-f]+$/.test(name))
    for (const name of removals < 3 ? files : []) {
      rmSync(join(directory, name))
      removals++
    }
    return (await checkDirectory?.()) ?? 0
  })
  expect(await service.status()).toMatchObject({ state: 'ready', reason: null })
  expect(removals).toBe(3)
})
