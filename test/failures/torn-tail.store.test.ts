import { appendFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../simulation/world.ts'
import { useDirectory } from './directory.ts'
import { inspect, write } from './journal.ts'
import { lookAnew, start } from './simulated.ts'

const place = useDirectory()

/** A store with three notes, closed, and its one file. */
async function threeNotes(): Promise<{ path: string; bytes: Buffer }> {
  const { engine, replica } = await place().open()
  for (const note of ['one', 'two', 'three']) await replica.submit(write(note))
  await engine.close()
  await forgetWatermarks()
  const [[name, bytes]] = [...(await place().segments())] as [[string, Buffer]]
  return { path: join(place().directory, name), bytes }
}

/** A writer that dies inside its write leaves no watermark for it. */
function forgetWatermarks(): Promise<void> {
  return rm(join(place().directory, 'watermarks'), { recursive: true })
}

test('F1 torn tail: every whole record is kept, the tear is reported, and appending goes on', async () => {
  const { path, bytes } = await threeNotes()
  const begin = bytes.lastIndexOf('{"v":2')
  await truncate(path, bytes.length - 20)
  const { journal, replica } = await place().open()
  expect((await replica.read()).state).toEqual(['one', 'two'])
  await replica.submit(write('four'))
  const found = await inspect(journal)
  expect(found.notes).toEqual(['one', 'two', 'four'])
  // The writer that went on behind it knows of it as well.
  expect(replica.damage).toMatchObject(found.damage.map(({ segment, at, length, as }) => ({ segment, at, length, as })))
  // The fragment, and the space that ended it.
  expect(found.damage).toMatchObject([{ segment: 0, at: begin, length: bytes.length - 20 - begin + 1, as: 'torn' }])
})

test('F1 torn tail: what was torn is written again by its caller, under the same key, once', async () => {
  const { path, bytes } = await threeNotes()
  await truncate(path, bytes.length - 20)
  const { journal, replica } = await place().open()
  expect(await replica.submit(write('two'))).toBe('known')
  expect(await replica.submit(write('three'))).toBe('written')
  expect(await replica.submit(write('three'))).toBe('known')
  expect((await inspect(journal)).notes).toEqual(['one', 'two', 'three'])
})

test('F1 torn tail: zeros, as some file systems leave them, are no records and no end', async () => {
  const { path, bytes } = await threeNotes()
  await writeFile(path, Buffer.concat([bytes.subarray(0, -40), Buffer.alloc(40)]))
  const { journal, replica } = await place().open()
  await replica.submit(write('four'))
  const found = await inspect(journal)
  expect(found.notes).toEqual(['one', 'two', 'four'])
  expect(found.damage).toMatchObject([{ as: 'zeros' }])
})

test('F1 torn tail: a writer that was killed inside its write costs what it had not been told', async () => {
  let torn = 0
  for (let seed = 0; seed < 60; seed++) {
    const world = makeWorld(seed)
    const first = await start(world)
    for (const note of ['one', 'two']) await world.settle(first.replica.submit(write(note)))
    world.machine.faults.set({ death: 1 })
    first.replica.submit(write('lost or not')).catch(() => undefined)
    await world.scheduler.run({ until: () => !first.process.alive })
    world.machine.heal()
    const second = await start(world)
    await world.settle(second.replica.submit(write('three')))
    const { notes, damage } = await lookAnew(world)
    expect(
      notes.filter((note) => note !== 'lost or not'),
      `seed ${seed}`,
    ).toEqual(['one', 'two', 'three'])
    expect(damage.every(({ as }) => as === 'torn')).toBe(true)
    torn += damage.length
  }
  expect(torn).toBeGreaterThan(10)
})

test('F2 glued records: a record that is appended behind a fragment is read back whole, and only the fragment is lost', async () => {
  const { path, bytes } = await threeNotes()
  const line = bytes.subarray(bytes.lastIndexOf('{"v":2'))
  for (let length = 1; length < line.length; length += 7) {
    await writeFile(path, Buffer.concat([bytes, line.subarray(0, length)]))
    const { engine, journal, replica } = await place().open()
    expect(await replica.submit(write('four'))).toBe('written')
    const found = await inspect(journal)
    expect(found.notes, `a fragment of ${length} bytes`).toEqual(['one', 'two', 'three', 'four'])
    expect(found.damage).toEqual([{ segment: 0, at: bytes.length, length: length + 1, as: 'torn' }])
    await engine.close()
    await forgetWatermarks()
  }
})

test('F2 glued records: a line that lacks nothing but its newline never comes alive, whoever writes behind it', async () => {
  const { path, bytes } = await threeNotes()
  await writeFile(path, bytes.subarray(0, -1))
  const { journal, replica } = await place().open()
  expect((await replica.read()).state).toEqual(['one', 'two'])
  await replica.submit(write('four'))
  await appendFile(path, '\n\n')
  expect((await inspect(journal)).notes).toEqual(['one', 'two', 'four'])
  expect((await (await place().open()).replica.read()).state).toEqual(['one', 'two', 'four'])
})
