import { appendFile, copyFile, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { diskWith } from '../../../test/damage/disk-with.ts'
import { systemClock } from '../../engine/clock.ts'
import { Directories } from './directories.ts'
import { segmentFile } from './names.ts'
import { nodeDisk } from './node-disk.ts'
import { OpenSegments } from './open-segments.ts'
import { patientDisk } from './patient-disk.ts'
import type { Segment } from './segment.ts'

let directory: string
/** Names of the files that are open now, and of all that were ever opened. */
let opened: string[]
let everOpened: string[]
let refuse: (path: string, mode: string) => string | undefined
let failSync: boolean
let onSync: (name: string) => void
let segments: OpenSegments

const failure = (code: string): Error => Object.assign(new Error(code), { code })

/** The real disk, which can be told to refuse, and keeps count of what is open. */
const disk = diskWith(
  {
    open: async (path, mode) => {
      const code = refuse(path, mode)
      if (code !== undefined) throw failure(code)
      return nodeDisk.open(path, mode)
    },
  },
  (path, file) => {
    const name = path.slice(directory.length + 1)
    opened.push(name)
    everOpened.push(name)
    return {
      sync: () => {
        onSync(name)
        return failSync ? Promise.reject(failure('EIO')) : file.sync()
      },
      close: () => {
        opened.splice(opened.indexOf(name), 1)
        return file.close()
      },
    }
  },
)

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
  opened = []
  everOpened = []
  refuse = () => undefined
  failSync = false
  onSync = () => undefined
  segments = new OpenSegments(disk, new Directories(disk, directory), 3)
})
afterEach(async () => {
  await segments.close()
  await rm(directory, { recursive: true })
})

async function hold(first: number, create = true): Promise<Segment> {
  const segment = await segments.hold(directory, first, create)
  if (segment === undefined) throw new Error(`There is no segment ${first}.`)
  return segment
}

async function touch(...firsts: number[]): Promise<void> {
  for (const first of firsts) (await hold(first)).release()
}

const isOpen = (first: number): boolean => {
  const segment = segments.holdNow(directory, first)
  segment?.release()
  return segment !== undefined
}

describe('what is kept open', () => {
  test('is bounded, and the longest unused is closed first', async () => {
    await touch(0, 1, 2)
    await touch(0)
    await touch(3)
    expect([0, 1, 2, 3].map(isOpen)).toEqual([true, false, true, true])
    for (let first = 4; first < 30; first++) await touch(first)
    expect(opened).toHaveLength(3)
    expect(new Set(opened).size).toBe(3)
  })

  test('is used again: a second hold opens no file', async () => {
    const first = await hold(0)
    expect(await hold(0)).toBe(first)
    expect(segments.holdNow(directory, 0)).toBe(first)
    expect(everOpened).toHaveLength(1)
    for (let i = 0; i < 3; i++) first.release()
  })

  test('is opened once, however many ask at once', async () => {
    const held = await Promise.all(Array.from({ length: 10 }, () => hold(7)))
    expect(new Set(held).size).toBe(1)
    expect(everOpened).toHaveLength(1)
    for (const segment of held) segment.release()
  })

  test('is closed by directory, or all, once its users are done, and can be opened again', async () => {
    const other = join(directory, 'other')
    await disk.makeDirectory(other)
    const segment = await hold(0)
    await (await segments.hold(other, 0, true))?.release()
    const closing = segments.close(directory)
    expect(opened).toHaveLength(2)
    segment.release()
    await closing
    expect(opened).toHaveLength(1)
    await segments.close()
    expect(opened).toEqual([])
    await touch(0)
  })

  test('is not what was asked for, where it is missing: nothing is made unless it shall be', async () => {
    expect(await segments.hold(directory, 0)).toBeUndefined()
    expect(segments.holdNow(directory, 0)).toBeUndefined()
    expect(await disk.list(directory)).toEqual([])
    // Who only looks and who makes, at once.
    const [looked, made] = await Promise.all([segments.hold(directory, 0), segments.hold(directory, 0, true)])
    expect(made).toBeDefined()
    if (looked !== undefined) expect(looked).toBe(made)
    looked?.release()
    made?.release()
  })
})

describe('what is closed to make room', () => {
  test('was synced before, and keeps the mark of a sync that failed then', async () => {
    const synced: string[] = []
    onSync = (name) => synced.push(name)
    for (const first of [0, 1]) {
      const segment = await hold(first)
      segment.file.writeSync(Buffer.from('later'))
      segment.see(first + 5)
      segment.release()
    }
    await touch(2, 3)
    expect(isOpen(0)).toBe(false)
    expect(synced).toEqual([segmentFile(0)])
    failSync = true
    await touch(4)
    failSync = false
    expect(isOpen(1)).toBe(false)
    const again = await hold(1)
    expect(again.poisoned).toBe(true)
    again.release()
  })

  test('keeps its number if it is the same file when it is opened again, and not if it was cut or replaced', async () => {
    async function closeAndOpen(first: number, between: (path: string) => Promise<void>): Promise<boolean> {
      const segment = await hold(first)
      segment.file.writeSync(Buffer.from('a line that is long enough to be compared'))
      segment.noteEnd(first, segment.file.readSync(0, 100))
      segment.release()
      await touch(7, 8, 9)
      expect(isOpen(first)).toBe(false)
      await between(join(directory, segmentFile(first)))
      const again = await hold(first)
      again.release()
      return again.opened === segment.opened
    }
    expect(await closeAndOpen(0, async () => undefined)).toBe(true)
    expect(await closeAndOpen(100, (path) => appendFile(path, 'more'))).toBe(true)
    expect(await closeAndOpen(200, (path) => truncate(path, 30))).toBe(false)
    expect(await closeAndOpen(300, (path) => writeFile(path, 'another line that is as long as the first one'))).toBe(false)
    const replace = async (path: string): Promise<void> => {
      await copyFile(path, `${path}.copy`)
      await rename(`${path}.copy`, path)
    }
    expect(await closeAndOpen(400, replace)).toBe(false)
  })

  test('makes room for more than may be open, used side by side, and every one of them ends', async () => {
    let running = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 50 }, async (_, first) => {
        for (let i = 0; i < 10; i++) {
          const segment = await hold(first)
          most = Math.max(most, ++running)
          await segment.sync()
          running--
          segment.release()
        }
      }),
    )
    expect(most).toBeGreaterThan(3)
    await touch(1000)
    expect(opened).toHaveLength(3)
  })
})

describe('a segment whose sync failed', () => {
  async function poison(first: number): Promise<void> {
    const segment = await hold(first)
    segment.file.writeSync(Buffer.from('lost'))
    segment.see(segment.end ?? first)
    failSync = true
    await expect(segment.sync()).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown', details: { reason: 'sync failed' } })
    failSync = false
    segments.discard(directory, segment)
    segment.release()
  }

  test('is opened anew and still marked: a new file would not be told by the system', async () => {
    await poison(0)
    const again = await hold(0)
    expect(everOpened).toHaveLength(2)
    expect(again.poisoned).toBe(true)
    await expect(again.sync()).rejects.toMatchObject({ details: { reason: 'sync failed', segment: 0, from: null } })
    again.release()
  })

  test('stays marked when it was closed to make room, and when all were closed', async () => {
    await poison(0)
    await touch(1, 2, 3, 4, 5, 6)
    expect(isOpen(0)).toBe(false)
    await segments.close()
    const again = await hold(0)
    expect(again.poisoned).toBe(true)
    again.release()
  })

  test('remembers up to where an earlier sync had succeeded', async () => {
    const segment = await hold(10)
    segment.file.writeSync(Buffer.from('kept'))
    segment.see(14)
    expect(await segment.sync()).toBe(true)
    segment.release()
    await poison(10)
    const again = await hold(10)
    expect(again.poison).toEqual({ from: 14 })
    expect(again.failure('unknown').details).toMatchObject({ segment: 10, from: 14 })
    again.release()
  })

  test('is marked alone, and forgotten once it has a successor', async () => {
    await poison(0)
    const other = await hold(1)
    expect(other.poisoned).toBe(false)
    other.release()
    segments.forgetBefore(directory, 1)
    const again = await hold(0)
    expect(again.poisoned).toBe(false)
    again.release()
  })

  test('that was discarded is closed when its last user is done, and nobody gets it again', async () => {
    const [segment, user] = [await hold(0), await hold(0)]
    segments.discard(directory, segment)
    segment.release()
    const fresh = await hold(0)
    expect(fresh).not.toBe(user)
    expect(opened).toHaveLength(2)
    expect(user.end).toBe(0)
    user.release()
    await segment.close()
    expect(opened).toHaveLength(1)
    fresh.release()
  })
})

describe('a file that cannot be opened', () => {
  test.each(['EACCES', 'EPERM', 'EROFS'])('for writing (%s) is opened for reading, and knows it', async (code) => {
    await touch(0)
    await segments.close()
    refuse = (_, mode) => (mode === 'read' ? undefined : code)
    const segment = await hold(0, false)
    expect(segment.writable).toBe(false)
    segment.release()
  })

  test('because the system gives no more files: half of those that nobody uses are closed, it is opened, and later more are held again', async () => {
    const relieve = (): Promise<void> => segments.relieve()
    segments = new OpenSegments(patientDisk(disk, systemClock, relieve), new Directories(disk, directory), 40)
    await touch(...Array.from({ length: 40 }, (_, i) => i))
    const used = await hold(0, false)
    let refusals = 0
    refuse = () => (refusals++ === 0 ? 'EMFILE' : undefined)
    await touch(1000)
    expect(opened.length).toBeLessThanOrEqual(21)
    expect(used.closed).toBe(false)
    used.release()
    for (let first = 2000; first < 2400; first++) await touch(first)
    expect(opened).toHaveLength(40)
  })

  test.each([
    ['EIO', 'UNREADABLE'],
    ['EACCES', 'UNREADABLE'],
    ['EISDIR', 'UNREADABLE'],
    ['EMFILE', 'UNAVAILABLE'],
    ['ENFILE', 'UNAVAILABLE'],
    ['ENOMEM', 'UNAVAILABLE'],
  ])('at all (%s) is %s, never missing, and tried again by the next call', async (system, code) => {
    await touch(0)
    await segments.close()
    refuse = () => system
    await expect(hold(0, false)).rejects.toMatchObject({ code })
    refuse = () => undefined
    await touch(0)
  })
})
