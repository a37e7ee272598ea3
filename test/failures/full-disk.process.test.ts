import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/engine/clock.ts'
import { requirePlatform } from '../platform.ts'
import { mountTmpfs } from '../processes/mount.ts'
import { makeWorld } from '../simulation/world.ts'
import { inspect, open, write } from './journal.ts'
import { lookAnew, start } from './simulated.ts'

const SEEDS = 40

test('F30 disk full: NO_SPACE, nothing acknowledged, nothing of it appears later, and all works again when space returns', async () => {
  let fragments = 0
  for (let seed = 0; seed < SEEDS; seed++) {
    const world = makeWorld(seed)
    const { replica } = await start(world)
    await world.settle(replica.submit(write('before')))
    // Room for a part of the record, or for none.
    world.machine.capacity = world.machine.used + (seed % 4) * 50
    const told: unknown = await world.settle(replica.submit(write('refused '.repeat(40))).catch((error: unknown) => error))
    expect(told, `seed ${seed}`).toMatchObject({ code: 'NO_SPACE', outcome: 'none', retryable: true })
    expect((await world.settle(replica.read())).state).toEqual(['before'])
    world.machine.capacity = Number.POSITIVE_INFINITY
    await world.settle(replica.submit(write('after')))
    world.machine.powerLoss()
    const { notes, damage } = await lookAnew(world)
    expect(notes, `seed ${seed}`).toEqual(['before', 'after'])
    fragments += damage.length
  }
  expect(fragments).toBeGreaterThan(5)
})

test('F30 disk full: what is readable stays readable, in this process and in one that starts', async () => {
  const world = makeWorld(1)
  const { replica } = await start(world)
  for (const note of ['one', 'two']) await world.settle(replica.submit(write(note)))
  world.machine.capacity = world.machine.used
  expect((await world.settle(replica.read())).state).toEqual(['one', 'two'])
  const other = await start(world)
  expect((await world.settle(other.replica.read())).state).toEqual(['one', 'two'])
})

test('F30 disk full: deleting works all the same, on the space kept in reserve', async () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const world = makeWorld(seed)
    const { replica } = await start(world)
    await world.settle(replica.submit(write('before')))
    world.machine.capacity = world.machine.used
    await expect(world.settle(replica.submit(write('refused')))).rejects.toMatchObject({ code: 'NO_SPACE' })
    expect(await world.settle(replica.submit(write('gone', 'session.deleted', true))), `seed ${seed}`).toBe('written')
    world.machine.powerLoss()
    world.machine.capacity = Number.POSITIVE_INFINITY
    expect((await lookAnew(world)).notes, `seed ${seed}`).toEqual(['before', 'gone'])
  }
})

const tmpfs = requirePlatform('tmpfs')

test.skipIf(!tmpfs.available)('F30 disk full: the same on a disk that is really full', async () => {
  const mount = mountTmpfs(1)
  const directory = join(mount.directory, 'store')
  try {
    let passedMs = 0
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs }
    const { engine, journal, replica } = await open({ directory, clock, limits: { reserveBytes: 64 * 1024 } })
    await replica.submit(write('before'))
    const ballast = join(mount.directory, 'ballast')
    writeFileSync(ballast, Buffer.alloc(700 * 1024))
    const acknowledged: string[] = []
    const fill = async (): Promise<void> => {
      for (let i = 0; ; i++) {
        const note = `${i} ${'x'.repeat(5_000)}`
        await replica.submit(write(note))
        acknowledged.push(note)
      }
    }
    await expect(fill()).rejects.toMatchObject({ code: 'NO_SPACE', outcome: 'none' })
    expect((await inspect(journal)).notes).toEqual(['before', ...acknowledged])
    await replica.submit(write('gone', 'session.deleted', true))
    await replica.submit(write('back', 'session.restored', true))
    expect(existsSync(join(directory, 'reserve'))).toBe(false)
    rmSync(ballast)
    passedMs = 10_000
    await replica.submit(write('after'))
    await engine.close()
    // Made again before the store is opened again: the disk may be full by then.
    expect(statSync(join(directory, 'reserve')).size).toBe(64 * 1024)
    const anew = await open({ directory, limits: { reserveBytes: 64 * 1024 } })
    expect((await inspect(anew.journal)).notes).toEqual(['before', ...acknowledged, 'gone', 'back', 'after'])
    await anew.engine.close()
  } finally {
    mount.dispose()
  }
})
