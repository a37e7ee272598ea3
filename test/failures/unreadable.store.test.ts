import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../src/engines/files/disk.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { diskWith } from '../damage/disk-with.ts'
import { systemError, useDirectory } from './directory.ts'
import { inspect, write } from './journal.ts'

const place = useDirectory()
const isSession = (path: string): boolean => path.includes('/sessions/')

async function writeNotes(...notes: string[]): Promise<void> {
  const { engine, replica } = await place().open({ segmentBytes: 700 })
  for (const note of notes) await replica.submit(write(note))
  await engine.close()
}

describe('F5 damage read as empty: absent, damaged and unreadable are different answers', () => {
  test('absent: the initial state, no error, and looking makes nothing', async () => {
    const { journal, replica } = await place().open()
    expect((await replica.read()).state).toEqual([])
    expect(await journal.segments()).toEqual([])
    expect(await inspect(journal)).toEqual({ notes: [], damage: [], seals: [] })
    expect((await place().segments()).size).toBe(0)
  })

  test('damaged: what is left, and the place of what is not', async () => {
    await writeNotes('one', 'two', 'three')
    const [[name, bytes]] = [...(await place().segments())] as [[string, Buffer]]
    const at = bytes.indexOf('two')
    await writeFile(join(place().directory, name), Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 1)]))
    const { journal, replica } = await place().open()
    expect((await replica.read()).state).toEqual(['one', 'three'])
    const { damage } = await inspect(journal)
    expect(damage).toHaveLength(1)
    expect(damage[0]?.at).toBeLessThanOrEqual(at)
    expect((damage[0]?.at ?? 0) + (damage[0]?.length ?? 0)).toBeGreaterThan(at)
  })

  const unreadable: [string, (code: string) => Disk][] = [
    [
      'a file that cannot be opened',
      (code) => diskWith({ open: (path, mode) => (isSession(path) ? Promise.reject(systemError(code)) : nodeDisk.open(path, mode)) }),
    ],
    [
      'a directory that cannot be listed',
      (code) => diskWith({ list: (path) => (isSession(path) ? Promise.reject(systemError(code)) : nodeDisk.list(path)) }),
    ],
    [
      'a file that opens and cannot be read',
      (code) =>
        diskWith({}, (path) => {
          const fail = (): never => {
            throw systemError(code)
          }
          return isSession(path) ? { readSync: fail, read: async () => fail() } : {}
        }),
    ],
  ]

  describe.each(['EIO', 'EACCES', 'EPERM'])('unreadable (%s)', (code) => {
    test.each(unreadable)('%s: UNREADABLE, whether it is read or written, and not one byte changes', async (_, disk) => {
      await writeNotes('one', 'two', 'three', 'four', 'five', 'six')
      const before = await place().segments()
      expect(before.size).toBeGreaterThan(1)
      const { replica, journal } = await place().open({ disk: disk(code) })
      await expect(replica.read()).rejects.toMatchObject({ code: 'UNREADABLE', outcome: 'none' })
      await expect(replica.submit(write('seven'))).rejects.toMatchObject({ code: 'UNREADABLE', outcome: 'none' })
      await expect(replica.submit(write('gone', 'session.deleted', true))).rejects.toMatchObject({ code: 'UNREADABLE' })
      await expect(inspect(journal)).rejects.toMatchObject({ code: 'UNREADABLE' })
      expect(await place().segments()).toEqual(before)
      const healed = await place().open()
      expect((await healed.replica.read()).state).toEqual(['one', 'two', 'three', 'four', 'five', 'six'])
    })
  })

  test('unreadable, then readable: the same process goes on', async () => {
    await writeNotes('one')
    let broken = true
    const { replica } = await place().open({
      disk: diskWith({
        open: (path, mode) => (broken && isSession(path) ? Promise.reject(systemError('EIO')) : nodeDisk.open(path, mode)),
      }),
    })
    await expect(replica.submit(write('two'))).rejects.toMatchObject({ code: 'UNREADABLE' })
    broken = false
    await replica.submit(write('two'))
    expect((await replica.read()).state).toEqual(['one', 'two'])
  })

  test('may only be read: read as ever, and a write says so and changes nothing', async () => {
    await writeNotes('one', 'two')
    const before = await place().segments()
    const disk = diskWith({
      open: (path, mode) => (isSession(path) && mode !== 'read' ? Promise.reject(systemError('EACCES')) : nodeDisk.open(path, mode)),
    })
    const { replica } = await place().open({ disk })
    expect((await replica.read()).state).toEqual(['one', 'two'])
    await expect(replica.submit(write('three'))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'none' })
    expect(await place().segments()).toEqual(before)
  })
})

describe('F5 damage read as empty: a write never replaces what could not be read', () => {
  test('a session whose beginning is gone with its only checkpoint is DAMAGED, not new', async () => {
    await writeNotes('one', 'two', 'three', 'four', 'five', 'six')
    const [first, ...later] = [...(await place().segments()).keys()] as [string, ...string[]]
    await rm(join(place().directory, first))
    for (const name of later) {
      const bytes = await readFile(join(place().directory, name))
      const at = bytes.indexOf('"type":"checkpoint"')
      bytes.fill('x', at, at + 5)
      await writeFile(join(place().directory, name), bytes)
    }
    const before = await place().segments()
    const { replica } = await place().open()
    expect((await replica.read()).state).not.toContain('one')
    expect(replica.damage).toContainEqual(expect.objectContaining({ at: 0, as: 'vanished' }))
    await expect(replica.submit(write('seven'))).rejects.toMatchObject({ code: 'DAMAGED', outcome: 'none' })
    expect(await place().segments()).toEqual(before)
  })

  test('files that vanish while they are in use are told, and no new session takes their place', async () => {
    await writeNotes('one')
    const { journal, replica } = await place().open()
    await replica.read()
    const [name = ''] = (await place().segments()).keys()
    for (const lost of [join(place().directory, name), join(place().directory, 'sessions')]) {
      await rename(lost, `${place().directory}/away`)
      await journal.close()
      await expect(replica.submit(write('two'))).rejects.toMatchObject({ code: 'DAMAGED', outcome: 'none' })
      expect((await place().segments()).size).toBe(0)
      await rename(`${place().directory}/away`, lost)
    }
    await replica.submit(write('two'))
    expect((await inspect(journal)).notes).toEqual(['one', 'two'])
  })

  test('a session of which nothing can be made out is kept, byte by byte, in front of what is written next', async () => {
    await writeNotes('one', 'two')
    const [[name, bytes]] = [...(await place().segments())] as [[string, Buffer]]
    const garbage = Buffer.from(bytes.map((byte) => (byte === 0x0a ? byte : byte ^ 0x55)))
    await writeFile(join(place().directory, name), garbage)
    const { journal, replica } = await place().open()
    await expect(replica.submit(write('three'))).rejects.toMatchObject({ code: 'DAMAGED', outcome: 'none' })
    expect(await readFile(join(place().directory, name))).toEqual(garbage)
    await replica.accept(() => ({ type: 'damage.acknowledged', payload: {} }))
    await replica.submit(write('three'))
    expect((await readFile(join(place().directory, name))).subarray(0, garbage.length).equals(garbage)).toBe(true)
    const { notes, damage } = await inspect(journal)
    expect(notes).toEqual(['three'])
    expect(damage.length).toBeGreaterThanOrEqual(2)
  })
})
