/** Watermark files on a real disk: what is trusted, what survives, and what a compaction keeps. */
import { copyFile, mkdir, mkdtemp, open, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../engine/clock.ts'
import { systemIds } from '../../engine/ids.ts'
import { journalName } from '../../engine/names.ts'
import type { Watermark } from '../../record/watermark.ts'
import type { Disk } from './disk.ts'
import { nodeDisk } from './node-disk.ts'
import { Watermarks } from './watermarks.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdfast-watermarks-'))
})
afterEach(() => rm(root, { recursive: true }))

const NAME = journalName('default', 'talk')
const NEVER = {
  ...systemClock,
  sleep: (_: number, signal?: AbortSignal) => new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
}

function make({ store = 'store-1', boot = 'boot-1', compactBytes = 32 * 1024, disk = nodeDisk as Disk } = {}): Watermarks {
  const directory = join(root, 'watermarks')
  return new Watermarks({ disk, clock: NEVER, ids: systemIds, directory, origin: { store, boot }, shards: 4, compactBytes })
}

function mark(start: number, end = start + 100): Watermark {
  return { start, end, idHash: start % 1000 }
}

async function files(): Promise<string[]> {
  return (await readdir(join(root, 'watermarks'))).map((file) => join(root, 'watermarks', file))
}

async function known(options: Parameters<typeof make>[0] = {}, name = NAME): Promise<number[]> {
  return (await make(options).of(name)).marks.map(({ end }) => end)
}

test('a watermark is known at once in its own process, and to others when it was written down', async () => {
  const own = make()
  own.add(NAME, () => mark(0), undefined)
  expect((await own.of(NAME)).marks).toEqual([mark(0)])
  expect(await known()).toEqual([])
  await own.close()
  expect(await known()).toEqual([100])
})

test('journals of two spaces do not share watermarks for any pair of ids', async () => {
  // A zero byte separates space and id in what is hashed.
  const [one, other] = [journalName('a\0b', 'c'), journalName('a', 'b\0c')]
  expect(one.slice(-32)).toBe(other.slice(-32))
  const own = make()
  own.add(one, () => mark(0), undefined)
  await own.close()
  expect(await known({}, one)).toEqual([100])
  expect(await known({}, other)).toEqual([])
  const all: string[] = []
  for await (const { names } of make().names()) all.push(...names)
  expect(all).toEqual([one])
})

test('a watermark covers those that its writer had verified, and no other', async () => {
  const [one, other] = [make(), make()]
  one.add(NAME, () => mark(0), undefined)
  await one.flush()
  const { shard } = await one.of(NAME)
  other.add(NAME, () => mark(200), undefined)
  await other.flush()
  one.add(NAME, () => mark(400), shard)
  await one.flush()
  // The first is covered. The second was added after the writer of the third had looked.
  expect(await known()).toEqual([300, 500])
  const { shard: all } = await one.of(NAME)
  one.add(NAME, () => mark(600), all)
  await one.flush()
  expect(await known()).toEqual([700])
})

test('a process that had read a file finds what was added after the file was cut', async () => {
  const [reader, writer] = [make(), make()]
  writer.add(NAME, () => mark(0), undefined)
  await writer.flush()
  expect((await reader.of(NAME)).marks).toEqual([expect.objectContaining(mark(0))])
  const [path = ''] = await files()
  await truncate(path, (await readFile(path)).length - 1)
  writer.add(NAME, () => mark(200), undefined)
  await writer.flush()
  expect((await reader.of(NAME)).marks.map(({ end }) => end)).toContain(300)
  await Promise.all([reader.close(), writer.close()])
})

test('what was read stays known if it cannot be read or written again', async () => {
  let broken = false
  const fail = async (): Promise<never> => {
    throw Object.assign(new Error('simulated'), { code: 'EIO' })
  }
  const disk = { ...nodeDisk, open: (...of: Parameters<Disk['open']>) => (broken ? fail() : nodeDisk.open(...of)) } as Disk
  const [own, other] = [make({ disk }), make()]
  other.add(NAME, () => mark(0), undefined)
  await other.close()
  expect((await own.of(NAME)).marks).toHaveLength(1)
  broken = true
  own.add(NAME, () => mark(200), undefined)
  await own.flush()
  const later = make()
  later.add(NAME, () => mark(400), undefined)
  await later.close()
  expect((await own.of(NAME)).marks.map(({ end }) => end)).toEqual([100, 300])
})

test('a smaller watermark never covers a larger one', async () => {
  const own = make()
  own.add(NAME, () => mark(1000), undefined)
  await own.flush()
  own.add(NAME, () => mark(0), (await own.of(NAME)).shard)
  await own.flush()
  expect((await known()).toSorted((a, b) => a - b)).toEqual([100, 1100])
})

describe('a file is trusted only by the store it was made for, as the very file that was made', () => {
  beforeEach(async () => {
    const own = make()
    own.add(NAME, () => mark(0), undefined)
    await own.close()
  })

  test('not by a store with another id', async () => expect(await known({ store: 'store-2' })).toEqual([]))

  test('not as a copy', async () => {
    const [path] = await files()
    await copyFile(path as string, `${path}-copy`)
    await rm(path as string)
    await rename(`${path}-copy`, path as string)
    expect(await known()).toEqual([])
  })

  test('also after it was renamed, which leaves it the same file', async () => {
    const [path] = await files()
    await rename(path as string, `${path}0`)
    expect(await known()).toEqual([100])
  })

  test('where the file system records no birth time, only within the same boot', async () => {
    const timeless = (disk: Disk): Disk => ({
      ...disk,
      open: async (path, mode) => {
        const file = await disk.open(path, mode)
        const stat = file.stat.bind(file)
        return Object.assign(file, { stat: () => ({ ...stat(), createdMs: 0 }) })
      },
    })
    const disk = timeless(nodeDisk)
    await rm(join(root, 'watermarks'), { recursive: true })
    const own = make({ disk })
    own.add(NAME, () => mark(0), undefined)
    await own.close()
    expect(await known({ disk })).toEqual([100])
    expect(await known({ disk, boot: 'boot-2' })).toEqual([])
  })

  test.each([1, 7, 39])('half an entry of %i bytes costs no other', async (bytes) => {
    const [path] = await files()
    const file = await open(path as string, 'a')
    await file.write(Buffer.alloc(bytes, 7))
    await file.close()
    const own = make()
    own.add(NAME, () => mark(200), undefined)
    await own.close()
    expect(await known()).toEqual([100, 300])
  })

  test('an entry that rotted is passed over, and so is a rotten header', async () => {
    const [path] = await files()
    const bytes = await readFile(path as string)
    for (let at = 0; at < bytes.length; at++) {
      const spoiled = Buffer.from(bytes)
      spoiled[at] = (spoiled[at] as number) ^ 1
      await writeFile(path as string, spoiled)
      // An entry whose name rotted still counts; everything else is not there.
      for (const end of await known()) expect(end).toBe(100)
    }
  })

  test('a file that was cut says what is left of it', async () => {
    const own = make()
    own.add(NAME, () => mark(200), undefined)
    await own.close()
    const [path] = await files()
    await truncate(path as string, (await readFile(path as string)).length - 1)
    expect(await known()).toEqual([100])
  })
})

describe('compaction', () => {
  const names = Array.from({ length: 400 }, (_, i) => journalName('default', `talk ${i}`)).filter(
    (name) => name.slice(33, 35) === NAME.slice(33, 35),
  )

  test('keeps the last watermark of every journal, and its name', async () => {
    const own = make({ compactBytes: 2000 })
    for (let round = 0; round < 60; round++) {
      for (const name of [NAME, ...names]) own.add(name, () => mark(round * 1000), (await own.of(name)).shard)
      await own.flush()
    }
    const size = (await Promise.all((await files()).map((file) => readFile(file)))).reduce((sum, { length }) => sum + length, 0)
    expect(size).toBeLessThan(10_000)
    for (const name of [NAME, ...names]) expect(await known({}, name)).toEqual([59_100])
    const all: string[] = []
    for await (const shard of make().names()) all.push(...shard.names)
    expect(new Set(all)).toEqual(new Set([NAME, ...names]))
  })

  test('keeps what others add while it runs', async () => {
    const [compacting, adding] = [make({ compactBytes: 500 }), make({ compactBytes: 1e9 })]
    for (let round = 0; round < 100; round++) {
      const mine = journalName('default', `mine ${round % 3}`).replace(/\/[0-9a-f]{2}\//, `/${NAME.slice(33, 35)}/`)
      adding.add(mine, () => mark(round * 1000), (await adding.of(mine)).shard)
      compacting.add(NAME, () => mark(round * 1000), (await compacting.of(NAME)).shard)
      await Promise.all([compacting.flush(), adding.flush()])
      expect(Math.max(...(await known({}, mine)))).toBe(round * 1000 + 100)
      expect(Math.max(...(await known()))).toBe(round * 1000 + 100)
    }
  })

  test('leaves every watermark in place if it fails at any call', async () => {
    for (const call of ['rename', 'syncDirectory', 'remove'] as const) {
      const failing = { ...nodeDisk, [call]: () => Promise.reject(new Error('no')) }
      const own = make()
      for (let round = 0; round < 20; round++) {
        own.add(NAME, () => mark(round * 1000), (await own.of(NAME)).shard)
        await own.flush()
      }
      const compacting = make({ disk: failing, compactBytes: 500 })
      compacting.add(NAME, () => mark(50_000), (await compacting.of(NAME)).shard)
      await compacting.flush()
      expect(Math.max(...(await known()))).toBe(50_100)
      await rm(join(root, 'watermarks'), { recursive: true })
    }
  })
})

test('a disk that cannot be written to fails no one, and the watermark is written once it can be', async () => {
  let full = true
  const disk = {
    ...nodeDisk,
    open: ((path, mode) => (full ? Promise.reject(new Error('full')) : nodeDisk.open(path, mode))) as Disk['open'],
  }
  const own = make({ disk })
  own.add(NAME, () => mark(0), undefined)
  await own.flush()
  expect(await known()).toEqual([])
  full = false
  await own.close()
  expect(await known()).toEqual([100])
})

test('what was read before still counts while the disk fails to read', async () => {
  let fails = false
  const failing = (): never => {
    throw Object.assign(new Error('EIO'), { code: 'EIO' })
  }
  const disk = { ...nodeDisk, statSync: ((path) => (fails ? failing() : nodeDisk.statSync(path))) as Disk['statSync'] }
  const [one, other] = [make(), make({ disk })]
  one.add(NAME, () => mark(0), undefined)
  await one.flush()
  expect((await other.of(NAME)).marks).toMatchObject([mark(0)])
  fails = true
  expect((await other.of(NAME)).marks).toMatchObject([mark(0)])
})

test('what another program put among the watermarks hides none of them', async () => {
  const own = make()
  own.add(NAME, () => mark(0), undefined)
  await own.close()
  const shard = (await readdir(join(root, 'watermarks')))[0]?.slice(0, 2) as string
  await mkdir(join(root, 'watermarks', `${shard}.11111111-1111-4111-8111-111111111111`))
  const huge = join(root, 'watermarks', `${shard}.22222222-2222-4222-8222-222222222222`)
  await writeFile(huge, '')
  await truncate(huge, 3 * 1024 ** 3)
  expect(await known()).toEqual([100])
  const other = make()
  other.add(NAME, () => mark(200), undefined)
  await other.close()
  expect(await known()).toEqual([100, 300])
})
