import { copyFile, mkdtemp, open, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { diskWith } from '../../../test/damage/disk-with.ts'
import { type Clock, systemClock } from '../../engine/clock.ts'
import { entryOf, testKeysOf } from '../../engine/conformance/index.ts'
import { systemIds } from '../../engine/ids.ts'
import { HoldfastError } from '../../errors.ts'
import type { Counted } from '../../record/fold.ts'
import { hashKey, type KeyEntry } from '../../record/key-hash.ts'
import type { Disk } from './disk.ts'
import { IdIndex } from './id-index.ts'
import { idFile } from './names.ts'
import { nodeDisk } from './node-disk.ts'

/** Every segment is this long, and holds a record at each of these offsets. */
const LENGTH = 1_000
const OFFSETS = [100, 200, 300]

let directory: string
let indexes: IdIndex[]
/** Which segments were read to make an id file. */
let built: number[]
let unreadable: boolean
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
  indexes = []
  built = []
  unreadable = false
})
afterEach(async () => {
  for (const index of indexes) await index.close()
  await rm(directory, { recursive: true })
})

function counted(at: number): Counted {
  const record = { v: 1, id: `r${at}`, at: '', type: 'messages.appended', prev: '', pos: at, keys: [`k${at}`] }
  return { kind: 'counted', carried: false, record, at, end: at + 50, crc: '0badf00d' }
}

const expected = (at: number): KeyEntry => entryOf(`k${at}`, { at, end: at + 50, crc: '0badf00d' })

/** An index over so many segments, and one more that is still written to. */
function makeIndex(segments: number, disk: Disk = nodeDisk, clock: Pick<Clock, 'now'> = systemClock): IdIndex {
  const index = new IdIndex({
    disk,
    ids: systemIds,
    clock,
    directory,
    keysOf: testKeysOf,
    segments: async () => Array.from({ length: segments + 1 }, (_, n) => n * LENGTH),
    records: async function* (segment) {
      if (unreadable) throw new HoldfastError('UNREADABLE', 'Not now.')
      built.push(segment)
      for (const offset of OFFSETS) yield counted(segment + offset)
    },
  })
  indexes.push(index)
  return index
}

/** Asks for every key of so many segments, and for as many that are absent. */
async function expectExact(index: IdIndex, segments: number): Promise<void> {
  const positions = Array.from({ length: segments }, (_, n) => OFFSETS.map((offset) => n * LENGTH + offset)).flat()
  const known = positions.map((at) => hashKey('message', `k${at}`))
  const absent = positions.map((at) => hashKey('message', `absent ${at}`))
  const found = await index.lookup([...known, ...absent], 0, segments * LENGTH)
  expect(found).toEqual([...positions.map(expected), ...absent.map(() => undefined)])
}

const files = async (): Promise<string[]> => (await readdir(directory)).sort()

/** Changes a byte in place, under whoever has the file open. */
async function rot(name: string, offset: number): Promise<void> {
  const handle = await open(join(directory, name), 'r+')
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, offset)
  await handle.write(Buffer.of((buffer[0] as number) ^ 4), 0, 1, offset)
  await handle.close()
}

test('a look-up makes an id file for each sealed segment, and the next process reads nothing else', async () => {
  await expectExact(makeIndex(3), 3)
  expect(built).toEqual([0, LENGTH, 2 * LENGTH])
  expect(await files()).toEqual([0, LENGTH, 2 * LENGTH].map(idFile))
  await expectExact(makeIndex(3), 3)
  expect(built).toHaveLength(3)
})

test('a look-up knows only positions from `from` on and before `before`', async () => {
  const index = makeIndex(4)
  const keys = [100, 1_100, 2_100, 3_100].map((at) => hashKey('message', `k${at}`))
  expect(await index.lookup(keys, LENGTH, 3 * LENGTH)).toEqual([undefined, expected(1_100), expected(2_100), undefined])
  expect(built).toEqual([LENGTH, 2 * LENGTH])
  expect(await index.lookup(keys, 150, 2 * LENGTH)).toEqual([undefined, expected(1_100), undefined, undefined])
})

describe('an id file that is missing or wrong is made again', () => {
  const wrongs: [string, (path: string) => Promise<void>][] = [
    ['missing', (path) => rm(path)],
    ['empty', (path) => truncate(path, 0)],
    ['cut', (path) => truncate(path, 4_100)],
    ['something else', (path) => writeFile(path, 'what is this?\n'.repeat(1_000))],
    ['rotten in a block', () => rot(idFile(LENGTH), 60)],
    ['rotten in its fences', () => rot(idFile(LENGTH), 4_097)],
    ['rotten in its filter', () => rot(idFile(LENGTH), 4_106)],
    ['rotten in its trailer', () => rot(idFile(LENGTH), 4_096 + 8 + 8 + 20)],
    ['that of another segment', (path) => copyFile(join(directory, idFile(2 * LENGTH)), path)],
  ]

  test.each(wrongs)('%s', async (_, spoil) => {
    await expectExact(makeIndex(3), 3)
    await spoil(join(directory, idFile(LENGTH)))
    built = []
    await expectExact(makeIndex(3), 3)
    expect(built).toContain(LENGTH)
    built = []
    await expectExact(makeIndex(3), 3)
    expect(built).toEqual([])
  })

  test('also if it rots while it is open', async () => {
    const index = makeIndex(3)
    await expectExact(index, 3)
    await rot(idFile(LENGTH), 60)
    await expectExact(index, 3)
    expect(built.filter((segment) => segment === LENGTH)).toHaveLength(2)
  })

  test('also if it is found rotten by a merge', async () => {
    const index = makeIndex(4)
    await expectExact(index, 4)
    await rot(idFile(LENGTH), 60)
    await index.prepare(4 * LENGTH)
    expect(await files()).toEqual([])
    await expectExact(index, 4)
  })
})

describe('a disk that fails', () => {
  const full = (): Error => Object.assign(new Error('full'), { code: 'ENOSPC' })

  test.each([
    ['has no room', diskWith({}, () => ({ write: () => Promise.reject(full()) }))],
    ['has room for a part', diskWith({}, (_, file) => ({ write: (bytes) => file.write(bytes.subarray(0, 100)) }))],
    ['takes no new name', { ...nodeDisk, rename: () => Promise.reject(full()) }],
    [
      'makes no file',
      { ...nodeDisk, open: (path, mode) => (mode === 'create' ? Promise.reject(full()) : nodeDisk.open(path, mode)) } as Disk,
    ],
  ])('and %s is done without: the keys are kept in memory, and nothing is left behind', async (_, disk) => {
    const index = makeIndex(3, disk)
    await expectExact(index, 3)
    await index.prepare(3 * LENGTH)
    await expectExact(index, 3)
    expect(built).toEqual([0, LENGTH, 2 * LENGTH])
    expect(index.bytes).toBeGreaterThan(0)
    expect(await files()).toEqual([])
  })

  test('and cannot read a segment is told, and never taken for "unknown"', async () => {
    const index = makeIndex(2)
    unreadable = true
    await expect(expectExact(index, 2)).rejects.toMatchObject({ code: 'UNREADABLE' })
    await index.prepare(2 * LENGTH)
    unreadable = false
    await expectExact(index, 2)
  })

  test('and cannot read an id file that is open is told', async () => {
    let broken = false
    const disk = diskWith({}, (_, file) => ({
      readSync: (offset, length) => {
        if (broken) throw Object.assign(new Error('broken'), { code: 'EIO' })
        return file.readSync(offset, length)
      },
    }))
    const index = makeIndex(2, disk)
    await expectExact(index, 2)
    broken = true
    await expect(expectExact(index, 2)).rejects.toMatchObject({ code: 'UNREADABLE' })
    broken = false
    await expectExact(index, 2)
  })

  test('and cannot open an id file costs time, and nothing else: the segments tell', async () => {
    await expectExact(makeIndex(2), 2)
    built = []
    const disk: Disk = {
      ...nodeDisk,
      open: (path, mode) => (mode === 'read' ? Promise.reject(new Error('EIO')) : nodeDisk.open(path, mode)),
    }
    await expectExact(makeIndex(2, disk), 2)
    expect(built).toEqual([0, LENGTH])
  })
})

describe('the keys of a sealed segment', () => {
  const store = (index: IdIndex, segment: number): void => {
    const entries = OFFSETS.map((offset) => expected(segment * LENGTH + offset))
    index.storeKeys(segment * LENGTH, (segment + 1) * LENGTH, new Map(entries.map((entry) => [entry.key, entry])))
  }

  test('answers without a file, and without the segment being read', async () => {
    const index = makeIndex(3)
    for (const segment of [0, 1, 2]) store(index, segment)
    await expectExact(index, 3)
    expect(built).toEqual([])
    expect(await files()).toEqual([])
    expect(index.bytes).toBeGreaterThan(0)
  })

  test('is written once it is asked for, so that other processes need not read the segment', async () => {
    const index = makeIndex(3)
    for (const segment of [0, 1, 2]) store(index, segment)
    await index.prepare(3 * LENGTH)
    expect(await files()).toEqual([0, LENGTH, 2 * LENGTH].map(idFile))
    await expectExact(makeIndex(3), 3)
    await expectExact(index, 3)
    expect(built).toEqual([])
  })

  test('gives way to a file that another process has written, also one that holds more', async () => {
    const other = makeIndex(4)
    await other.prepare(4 * LENGTH)
    expect(await files()).toEqual([idFile(0)])
    built = []
    const index = makeIndex(5)
    for (const segment of [1, 2, 3, 4]) store(index, segment)
    await expectExact(index, 5)
    await index.prepare(5 * LENGTH)
    await expectExact(index, 5)
    expect(built).toEqual([])
    expect(await files()).toEqual([idFile(0), idFile(4 * LENGTH)])
  })

  test('is not taken twice, nor in the place of what is known', async () => {
    const index = makeIndex(2)
    await expectExact(index, 2)
    index.storeKeys(LENGTH, 2 * LENGTH, new Map())
    store(index, 1)
    await expectExact(index, 2)
  })

  test('is lost when the index is closed, and read from the segments again', async () => {
    const index = makeIndex(2)
    for (const segment of [0, 1]) store(index, segment)
    await index.close()
    expect(index.bytes).toBe(0)
    await expectExact(index, 2)
    expect(built).toEqual([0, LENGTH])
  })
})

describe('merging', () => {
  test('leaves O(log n) files, and every answer exact', async () => {
    const most: number[] = []
    for (let segments = 1; segments <= 64; segments++) {
      const index = makeIndex(segments)
      await index.prepare(segments * LENGTH)
      most.push((await files()).length - Math.log2(segments))
      await index.close()
    }
    expect(Math.max(...most)).toBeLessThanOrEqual(4)
    expect(built).toHaveLength(64)
    await expectExact(makeIndex(64), 64)
    expect(built).toHaveLength(64)
    expect((await files()).every((name) => name.endsWith('.ids'))).toBe(true)
  })

  test('that was interrupted after its file was there leaves nothing that could be wrong', async () => {
    const keeping: Disk = { ...nodeDisk, remove: () => Promise.reject(new Error('killed')) }
    const index = makeIndex(4, keeping)
    await index.prepare(4 * LENGTH)
    expect(await files()).toEqual([0, 1, 2, 3].map((segment) => idFile(segment * LENGTH)))
    await expectExact(index, 4)
    built = []
    await expectExact(makeIndex(4), 4)
    expect(built).toEqual([])
  })

  test('and looking up at once do not get in each other’s way', async () => {
    const index = makeIndex(16)
    await expectExact(index, 1)
    const merging = index.prepare(16 * LENGTH)
    let merged = false
    void merging.then(() => {
      merged = true
    })
    await expectExact(index, 1)
    expect(merged).toBe(false)
    const work = Array.from({ length: 16 }, (_, n) => [index.prepare((n + 1) * LENGTH), expectExact(index, n + 1)])
    await Promise.all(work.flat())
    await expectExact(index, 16)
  })
})

test('what is forgotten is removed, with what a crash left, and made again where the segments still are', async () => {
  const index = makeIndex(3)
  await expectExact(index, 3)
  await writeFile(join(directory, `${idFile(0)}.abc.tmp`), 'half')
  await index.forget(2 * LENGTH)
  expect(await files()).toEqual([idFile(2 * LENGTH)])
  built = []
  await expectExact(index, 3)
  expect(built).toEqual([0, LENGTH])
})

test('an index that was closed holds no memory, and can be used again', async () => {
  const index = makeIndex(2)
  await expectExact(index, 2)
  expect(index.bytes).toBeGreaterThan(0)
  await index.close()
  expect(index.bytes).toBe(0)
  await expectExact(index, 2)
})

describe('drafts', () => {
  const LATER: Pick<Clock, 'now'> = { now: () => systemClock.now() + 2 * 60 * 60 * 1000 }
  const drafts = async (): Promise<string[]> => (await files()).filter((name) => name.endsWith('.tmp'))

  /** A disk of a process that is killed at its nth change: nothing that it asks for happens from then on. */
  function killedAt(n: number): { readonly disk: Disk; readonly isKilled: () => boolean; readonly killed: Promise<void> } {
    let left = n
    let kill = (): void => undefined
    const killed = new Promise<void>((resolve) => {
      kill = resolve
    })
    const step = <T>(change: () => Promise<T>): Promise<T> => {
      if (left-- > 0) return change()
      kill()
      return new Promise<T>(() => undefined)
    }
    const disk: Disk = {
      ...nodeDisk,
      rename: (from, to) => step(() => nodeDisk.rename(from, to)),
      remove: (path) => step(() => nodeDisk.remove(path)),
      open: async (path, mode) => {
        const file = mode === 'create' ? await step(() => nodeDisk.open(path, mode)) : await nodeDisk.open(path, mode)
        const write = file.write.bind(file)
        return Object.assign(file, { write: (bytes: Uint8Array) => step(() => write(bytes)) })
      },
    }
    return { disk, isKilled: () => left < 0, killed }
  }

  test('of a process that was killed at any step are removed by a later one, and every key is found', async () => {
    let left = 0
    for (let n = 0; ; n++) {
      const { disk, isKilled, killed } = killedAt(n)
      const work = makeIndex(4, disk).prepare(4 * LENGTH)
      await Promise.race([work, killed])
      // A killed process closes nothing.
      if (isKilled()) indexes.pop()
      left += (await drafts()).length
      await expectExact(makeIndex(4, nodeDisk, LATER), 4)
      expect(await drafts()).toEqual([])
      for (const name of await files()) await rm(join(directory, name))
      if (!isKilled()) break
    }
    expect(left).toBeGreaterThan(5)
  })

  test('that a living process may be writing stay, and it puts its file into place', async () => {
    let goOn = (): void => undefined
    let begun = (): void => undefined
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const isWriting = new Promise<void>((resolve) => {
      begun = resolve
    })
    const rename: Disk['rename'] = async (from, to) => {
      begun()
      await waiting
      await nodeDisk.rename(from, to)
    }
    const writing = makeIndex(1, { ...nodeDisk, rename }).prepare(LENGTH)
    await isWriting
    const [draft] = await drafts()
    const other = makeIndex(1)
    await expectExact(other, 1)
    await other.prepare(LENGTH)
    expect(await drafts()).toEqual([draft])
    goOn()
    await writing
    expect(await files()).toEqual([idFile(0)])
  })

  test('that are removed although their process lives cost it nothing: it has its keys in memory', async () => {
    const rename: Disk['rename'] = async (from, to) => {
      await rm(from)
      await nodeDisk.rename(from, to)
    }
    await expectExact(makeIndex(2, { ...nodeDisk, rename }), 2)
  })

  test('are removed also by a process that only seals segments, and files of other names stay', async () => {
    const old = `${idFile(0)}.0123456789ab.tmp`
    for (const name of [old, 'notes.tmp']) await writeFile(join(directory, name), 'half of it')
    const index = makeIndex(1, nodeDisk, LATER)
    index.storeKeys(0, LENGTH, new Map(OFFSETS.map((at) => [hashKey('message', `k${at}`), expected(at)])))
    await index.prepare(LENGTH)
    expect(await files()).toEqual([idFile(0), 'notes.tmp'])
  })
})
