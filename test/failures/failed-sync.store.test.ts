import { expect, test } from 'vitest'
import { makeWorld, type World } from '../simulation/world.ts'
import { type Opened, write } from './journal.ts'
import { lookAnew, start } from './simulated.ts'

const SEEDS = 40

/** A session with two notes, and a third whose sync failed. */
async function failOnce(seed: number): Promise<{ world: World; opened: Opened; error: unknown }> {
  const world = makeWorld(seed, { writeBackChance: 0 })
  const opened = await start(world)
  for (const note of ['one', 'two']) await world.settle(opened.replica.submit(write(note)))
  world.machine.faults.set({ sync: 1 })
  const failing = opened.replica.submit(write('three')).catch((failure: unknown) => failure)
  const error: unknown = await world.settle(failing)
  world.machine.heal()
  return { world, opened, error }
}

test('F31 failed fsync: its callers are told that the outcome is unknown', async () => {
  const { error } = await failOnce(1)
  expect(error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown', retryable: true, details: { reason: 'sync failed' } })
})

test('F31 failed fsync: the same file is never synced again and believed; the session goes on in a new one', async () => {
  const { world, opened } = await failOnce(2)
  await world.settle(opened.replica.submit(write('four')))
  const { notes, seals } = await lookAnew(world)
  expect(seals).toEqual(['sync failed'])
  expect(notes).toEqual(['one', 'two', 'three', 'four'])
  expect(await world.settle(opened.journal.segments())).toHaveLength(2)
})

test('F31 failed fsync: a repeated call that is then acknowledged survives, although its bytes were lost where they stood first', async () => {
  let lostInPlace = 0
  for (let seed = 0; seed < SEEDS; seed++) {
    const { world, opened } = await failOnce(seed)
    // The bytes can be read all the while, so this is a duplicate; believing the page cache would lose it.
    expect(await world.settle(opened.replica.submit(write('three')))).toMatch(/known|written/)
    world.machine.powerLoss()
    const first = [...world.machine.snapshot()].find(([path]) => path.endsWith('0000000000000000.jsonl'))?.[1]
    if (first?.includes('"note":"three"') !== true) lostInPlace++
    const { notes } = await lookAnew(world)
    expect(notes, `seed ${seed}`).toEqual(['one', 'two', 'three'])
  }
  expect(lostInPlace).toBeGreaterThan(5)
})

test('F31 failed fsync: another process that read the bytes does not believe them either', async () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const { world, opened } = await failOnce(seed)
    // Until the lines are carried along, others cannot know: a limit that docs/format.md states.
    await world.settle(opened.replica.idle())
    const other = await start(world)
    const { state } = await world.settle(other.replica.read())
    await world.settle(other.replica.submit(write('theirs')))
    world.machine.powerLoss()
    const { notes } = await lookAnew(world)
    expect(
      notes.filter((note) => note !== 'three'),
      `seed ${seed}`,
    ).toEqual(['one', 'two', 'theirs'])
    expect(notes.slice(0, state.length), `seed ${seed}`).toEqual(state)
  }
})

test('F31 failed fsync: of a directory counts as well, since a name that is not there has no content', async () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const world = makeWorld(seed, { writeBackChance: 0 })
    const { replica } = await start(world)
    world.machine.faults.set({ syncDirectory: 1 })
    const error: unknown = await world.settle(replica.submit(write('one')).catch((failure: unknown) => failure))
    expect(error, `seed ${seed}`).toMatchObject({ code: 'UNAVAILABLE' })
    world.machine.heal()
    await world.settle(replica.submit(write('one')))
    world.machine.powerLoss()
    expect((await lookAnew(world)).notes, `seed ${seed}`).toEqual(['one'])
  }
})
