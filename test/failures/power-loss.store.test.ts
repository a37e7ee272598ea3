import { expect, test } from 'vitest'
import { makeWorld, type World } from '../simulation/world.ts'
import { write } from './journal.ts'
import { lookAnew, start } from './simulated.ts'

const SEEDS = 50

/** Writes notes until the power goes at some step, and tells which were acknowledged. */
async function writeUntilPowerLoss(world: World, segmentBytes: number): Promise<{ acknowledged: string[]; tried: string[] }> {
  const acknowledged: string[] = []
  const tried: string[] = []
  const { replica } = await start(world, { segmentBytes })
  const lossAt = world.scheduler.step + 20 + world.scheduler.random.int(500)
  const work = async (): Promise<void> => {
    for (let i = 0; ; i++) {
      const pair = [`${i} a`, `${i} b`]
      tried.push(...pair)
      await Promise.all(pair.map((note) => replica.submit(write(note)).then(() => acknowledged.push(note))))
    }
  }
  void work().catch(() => undefined)
  await world.scheduler.run({ until: () => world.scheduler.step >= lossAt })
  world.machine.powerLoss()
  return { acknowledged, tried }
}

test.each([
  ['in one segment', 1_000_000],
  ['in many segments', 500],
])('F4 lost at power loss: what was acknowledged is there afterwards, once and in order, %s', async (_, segmentBytes) => {
  let total = 0
  for (let seed = 0; seed < SEEDS; seed++) {
    const world = makeWorld(seed)
    const { acknowledged, tried } = await writeUntilPowerLoss(world, segmentBytes)
    const { notes } = await lookAnew(world)
    expect(
      notes.filter((note) => acknowledged.includes(note)),
      `seed ${seed}`,
    ).toEqual(acknowledged)
    // Of the group that nobody was told of, some lines may have reached the disk and others not: in order, and none twice.
    expect(notes, `seed ${seed}`).toEqual(tried.filter((note) => notes.includes(note)))
    total += acknowledged.length
  }
  // Otherwise the power went too early to tell anything.
  expect(total).toBeGreaterThan(SEEDS)
})

test('F4 lost at power loss: the session goes on, and what was not acknowledged can be written again, once', async () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const world = makeWorld(seed)
    const { tried } = await writeUntilPowerLoss(world, 500)
    const { replica } = await start(world, { segmentBytes: 500 })
    for (const note of [...tried, 'after']) await world.settle(replica.submit(write(note)))
    const { notes } = await lookAnew(world)
    expect([...notes].sort(), `seed ${seed}`).toEqual([...tried, 'after'].sort())
    expect(notes.at(-1)).toBe('after')
  }
})

test('F4 lost at power loss: what another process was shown is there afterwards, although its writer never synced it', async () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const world = makeWorld(seed, { writeBackChance: 0 })
    const [writer, reader] = [await start(world), await start(world)]
    await world.settle(writer.replica.submit(write('first')))
    let written = false
    world.machine.between = (process, call, path) => {
      if (process !== writer.process || !path.includes('/sessions/')) return
      // The first call behind the write: the bytes stand in the cache, and nowhere else.
      if (written) world.scheduler.kill(process)
      if (call === 'write') written = true
    }
    writer.replica.submit(write('second')).catch(() => undefined)
    await world.scheduler.run({ until: () => !writer.process.alive })
    world.machine.between = undefined
    expect((await world.settle(reader.replica.read())).state, `seed ${seed}`).toEqual(['first', 'second'])
    world.machine.powerLoss()
    expect((await lookAnew(world)).notes, `seed ${seed}`).toEqual(['first', 'second'])
  }
})

test('F4 lost at power loss: a session that was just made does not vanish with its directory', async () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const world = makeWorld(seed, { writeBackChance: 0 })
    const { replica } = await start(world)
    await world.settle(replica.submit(write('created', 'session.created')))
    world.machine.powerLoss()
    expect((await lookAnew(world)).notes, `seed ${seed}`).toEqual(['created'])
  }
})
