import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../simulation/world.ts'
import { useDirectory } from './directory.ts'
import { write } from './journal.ts'
import { start } from './simulated.ts'

const place = useDirectory()

test('F3 truncate, then write: a byte that was written stays where it is, in the same file, whatever happens to the session', async () => {
  const { journal, replica } = await place().open({ segmentBytes: 600 })
  let before = new Map<string, { bytes: Buffer; file: number }>()
  const expectOnlyGrowth = async (): Promise<void> => {
    const now = new Map<string, { bytes: Buffer; file: number }>()
    for (const [name, bytes] of await place().segments()) now.set(name, { bytes, file: (await stat(join(place().directory, name))).ino })
    for (const [name, { bytes, file }] of before) {
      expect(now.get(name)?.file, `${name} is the same file`).toBe(file)
      expect(now.get(name)?.bytes.subarray(0, bytes.length).equals(bytes), `${name} begins as before`).toBe(true)
    }
    before = now
  }
  for (let i = 0; i < 12; i++) {
    await replica.submit(write(`note ${i}`))
    await expectOnlyGrowth()
  }
  await replica.submit(write('gone', 'session.deleted', true))
  await expectOnlyGrowth()
  await replica.submit(write('back', 'session.restored'))
  await expectOnlyGrowth()
  await replica.beginSegment()
  await expectOnlyGrowth()
  await journal.close()
  await (await place().open()).replica.read()
  await expectOnlyGrowth()
  expect(before.size).toBeGreaterThan(3)
})

test('F3 truncate, then write: at no step of a write, a roll, a failed sync or a full disk is a segment shorter or other than before', async () => {
  let looked = 0
  for (let seed = 0; seed < 25; seed++) {
    const world = makeWorld(seed, { faults: { sync: 0.05, shortWrite: 0.1, write: 0.05 }, capacity: seed % 2 === 0 ? 6_000 : 1_000_000 })
    const { replica } = await start(world, { segmentBytes: 500, limits: { syncWriteBytes: 0 } }).catch(() => ({ replica: undefined }))
    if (replica === undefined) continue
    const before = new Map<string, Buffer>()
    world.scheduler.onStep(() => {
      for (const [path, bytes] of world.machine.snapshot()) {
        if (!path.endsWith('.jsonl') || !path.includes('/sessions/')) continue
        const known = before.get(path) ?? Buffer.of()
        if (!bytes.subarray(0, known.length).equals(known)) throw new Error(`seed ${seed}: ${path} was rewritten`)
        before.set(path, bytes)
        looked++
      }
    })
    for (let i = 0; i < 10; i++) await world.settle(replica.submit(write(`note ${i}`)).catch(() => undefined))
  }
  expect(looked).toBeGreaterThan(1_000)
})
