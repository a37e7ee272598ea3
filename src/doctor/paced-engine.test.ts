import { expect, test } from 'vitest'
import type { Clock } from '../engine/clock.ts'
import type { Engine } from '../engine/port.ts'
import { PacedEngine } from './paced-engine.ts'

test('the turns of the doctor are measured on the clock of the store, so that a simulated run replays to the same events', async () => {
  let ms = 0
  const clock: Clock = { now: () => 0, monotonicMs: () => ms, sleep: async () => undefined }
  const engine = new PacedEngine({} as Engine, clock, undefined)
  const until = performance.now() + 25
  while (performance.now() < until);
  expect(engine.pause()).toBeUndefined()
  ms = 20
  const paused = engine.pause()
  expect(paused).toBeInstanceOf(Promise)
  await paused
  expect(engine.pause()).toBeUndefined()
})
