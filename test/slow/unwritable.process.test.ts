/**
 * Stores that cannot be written when they are opened, after a restart of the machine: not even an epoch of the feed can begin. What is
 * there can be read, whoever follows the feed looks everywhere, and nothing is acknowledged that is not there and told.
 */
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Disk } from '../../src/engines/files/disk.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { open, write } from '../failures/journal.ts'
import { requirePlatform } from '../platform.ts'
import { type Mount, mountTmpfs } from '../processes/mount.ts'

const tmpfs = requirePlatform('tmpfs')
const NOTES = ['one', 'two', 'three']
const AFTER_RESTART: Disk = { ...nodeDisk, bootId: async () => 'another-boot' }

describe.skipIf(!tmpfs.available)('after a restart', () => {
  let mount: Mount
  let directory: string

  beforeEach(async () => {
    mount = mountTmpfs(4, 100)
    directory = join(mount.directory, 'store')
    // Some segments, so that there is something to look up.
    const { engine, replica } = await open({ directory, segmentBytes: 1 })
    for (const note of NOTES) await replica.submit(write(note))
    await engine.close()
  })

  afterEach(() => mount.dispose())

  test('a store on a mount that may only be read can be read, and refuses what it cannot do', async () => {
    mount.remount('ro')
    const { engine, journal, replica } = await open({ directory, disk: AFTER_RESTART })
    expect((await replica.read()).state).toEqual(NOTES)
    const { cursor, reset } = await engine.changes()
    expect(reset).toBe(true)
    expect(await engine.changes(cursor)).toMatchObject({ names: [], reset: true })
    engine.watch(() => undefined)()
    await expect(replica.submit(write('four'))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'none' })
    expect((await replica.read()).state).toEqual(NOTES)
    await journal.close()

    mount.remount('rw')
    expect(await replica.submit(write('four'))).toBe('written')
    const answer = await engine.changes(cursor)
    expect(answer.reset).toBe(true)
    expect(await replica.submit(write('five'))).toBe('written')
    expect(await engine.changes(answer.cursor)).toMatchObject({ names: [journal.name], reset: false })
    await engine.close()
  })

  test('a store that lost its feed, on a mount that may only be read, can be read', async () => {
    rmSync(join(directory, 'feed'), { recursive: true })
    mount.remount('ro')
    const { engine, replica } = await open({ directory, disk: AFTER_RESTART })
    expect((await replica.read()).state).toEqual(NOTES)
    expect(await engine.changes((await engine.changes()).cursor)).toMatchObject({ names: [], reset: true })
    engine.watch(() => undefined)()
    await engine.close()
  })

  test('a store on a disk that is full, for names too, can be read, and goes on when there is room', async () => {
    // The name of an epoch is not synced, so a power cut may have taken it.
    const feed = join(directory, 'feed')
    for (const file of readdirSync(feed)) if (file.startsWith('epoch.')) rmSync(join(feed, file))
    const ballast = fill(mount.directory)
    const { engine, journal, replica } = await open({ directory, disk: AFTER_RESTART })
    expect((await replica.read()).state).toEqual(NOTES)
    const { cursor } = await engine.changes()
    expect(await engine.changes(cursor)).toMatchObject({ names: [], reset: true })
    await expect(replica.submit(write('x'.repeat(20_000)))).rejects.toMatchObject({ code: 'NO_SPACE', outcome: 'none' })
    expect((await replica.read()).state).toEqual(NOTES)

    for (const file of ballast) rmSync(file)
    const answer = await engine.changes(cursor)
    expect(answer.reset).toBe(true)
    expect(await replica.submit(write('four'))).toBe('written')
    expect(await engine.changes(answer.cursor)).toMatchObject({ names: [journal.name], reset: false })
    await engine.close()
  })
})

/** Leaves no block and no name. */
function fill(directory: string): string[] {
  const files: string[] = []
  const add = (bytes: number): void => {
    const file = join(directory, `ballast ${files.length}`)
    writeFileSync(file, Buffer.alloc(bytes))
    files.push(file)
  }
  const { bavail, bsize } = statfsSync(directory)
  add(bavail * bsize)
  for (;;) {
    try {
      add(0)
    } catch {
      return files
    }
  }
}
