import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { diskWith } from '../../../test/damage/disk-with.ts'
import { systemClock } from '../../engine/clock.ts'
import { systemIds } from '../../engine/ids.ts'
import type { Disk, DiskFile } from './disk.ts'
import { Feed } from './feed.ts'
import { nodeDisk } from './node-disk.ts'

let directory: string
let feeds: Feed[]
beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'holdfast-')), 'feed')
  feeds = []
})
afterEach(async () => {
  for (const feed of feeds) await feed.close()
  await rm(join(directory, '..'), { recursive: true })
})

/** The feed as one more process has it. */
async function open(disk: Disk = nodeDisk, { fileBytes = 1_000_000, files = 4 } = {}): Promise<Feed> {
  const isName = (name: string): boolean => /^[a-z0-9 ]+$/.test(name)
  const feed = await Feed.open({ disk, clock: systemClock, ids: systemIds, directory, fileBytes, files, isName })
  feeds.push(feed)
  return feed
}

const booted = (id: string): Disk => ({ ...nodeDisk, bootId: async () => id })
const cursorOf = async (feed: Feed): Promise<string> => (await feed.changes()).cursor
const named = async (feed: Feed, cursor: string): Promise<{ names: string[]; reset: boolean }> => {
  const { names, reset } = await feed.changes(cursor)
  return { names: [...names].sort(), reset }
}
const feedFiles = async (): Promise<string[]> => (await readdir(directory)).filter((name) => name.endsWith('.jsonl')).sort()
const epochs = async (): Promise<string[]> => (await readdir(directory)).filter((name) => name.startsWith('epoch.'))
const nothing = { names: [], reset: false }
const reset = { names: [], reset: true }

/** A disk whose feed files write as they are told. */
function writing(write: (file: DiskFile, bytes: Uint8Array) => number): Disk {
  return diskWith({}, (_, file) => ({ writeSync: (bytes) => write(file, bytes) }))
}

const full = (): never => {
  throw Object.assign(new Error('full'), { code: 'ENOSPC' })
}

test('what one process announces is told to every cursor, once', async () => {
  const [writer, reader] = [await open(), await open()]
  const cursor = await cursorOf(reader)
  for (const name of ['a', 'b', 'a']) await writer.announce(name)
  expect(await named(reader, cursor)).toEqual({ names: ['a', 'b'], reset: false })
  const next = (await reader.changes(cursor)).cursor
  expect(await named(reader, next)).toEqual(nothing)
  // A cursor may be used twice, and by any process.
  expect(await named(writer, cursor)).toEqual({ names: ['a', 'b'], reset: false })
})

test('what is announced together is written together, each name once, and told to everybody who waits', async () => {
  const written: string[] = []
  const feed = await open(
    writing((file, bytes) => {
      written.push(Buffer.from(bytes).toString())
      return file.writeSync(bytes)
    }),
  )
  await feed.announce('first')
  const cursor = await cursorOf(feed)
  await Promise.all(['a', 'b', 'a'].map((name) => feed.announce(name)))
  expect(written).toEqual(['\n["first","9271ee57"]\n', '\n["a","e8b7be43"]\n\n["b","71beeff9"]\n'])
  await feed.announce('a')
  expect(written).toHaveLength(3)
  expect(await named(feed, cursor)).toEqual({ names: ['a', 'b'], reset: false })
})

test('announcements at once, by several processes, are all there', async () => {
  const reader = await open()
  const cursor = await cursorOf(reader)
  const writers = [await open(), await open(), await open()]
  const names = Array.from({ length: 60 }, (_, n) => `name ${n}`)
  await Promise.all(names.map((name, n) => writers[n % 3]?.announce(name)))
  expect(await named(reader, cursor)).toEqual({ names: names.sort(), reset: false })
})

test.each(['', 'garbage', Buffer.from('null').toString('base64url'), Buffer.from('{"epoch":1,"files":{}}').toString('base64url')])(
  'a cursor that is none (%j) is answered with a reset, and a cursor that can be used',
  async (cursor) => {
    const feed = await open()
    const answer = await feed.changes(cursor)
    expect(answer).toMatchObject(reset)
    await feed.announce('a')
    expect(await named(feed, answer.cursor)).toEqual({ names: ['a'], reset: false })
  },
)

describe('an epoch', () => {
  test('is one name, kept by every process of one boot', async () => {
    await open()
    const before = await epochs()
    await open()
    expect(before).toHaveLength(1)
    expect(await epochs()).toEqual(before)
  })

  test('begins when the machine has started anew: an old cursor may have missed something', async () => {
    const before = await open(booted('boot-1'))
    const cursor = await cursorOf(before)
    const after = await open(booted('boot-2'))
    expect(await named(after, cursor)).toEqual(reset)
    expect(await epochs()).toEqual([expect.stringMatching(/^epoch\.boot-2\./)])
    expect(await named(after, await cursorOf(after))).toEqual(nothing)
  })

  test.each([
    ['is full', writing(full)],
    ['takes a part of the line', writing((file, bytes) => file.writeSync(bytes.subarray(0, 5)))],
    [
      'takes no new file',
      {
        ...nodeDisk,
        open: (path, mode) =>
          mode === 'read' || path.includes('epoch.') ? nodeDisk.open(path, mode) : Promise.reject(new Error('EMFILE')),
      } as Disk,
    ],
  ])('begins when a writer cannot announce because its disk %s', async (_, disk) => {
    const [reader, writer] = [await open(), await open(disk)]
    const cursor = await cursorOf(reader)
    const before = await epochs()
    await writer.announce('a')
    expect(await named(reader, cursor)).toEqual(reset)
    expect(await epochs()).toHaveLength(1)
    expect(await epochs()).not.toEqual(before)
  })

  test('that cannot begin either is an error, and whether others will notice is unknown', async () => {
    const disk = { ...writing(full), rename: () => Promise.reject(Object.assign(new Error('broken'), { code: 'EIO' })) }
    const writer = await open(disk)
    await expect(writer.announce('a')).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' })
  })

  test('that two processes begin at once leaves no cursor that both epochs would accept', async () => {
    const [reader, one, other] = [await open(), await open(writing(full)), await open(writing(full))]
    const cursor = await cursorOf(reader)
    await Promise.all([one.announce('a'), other.announce('b')])
    expect(await named(reader, cursor)).toEqual(reset)
    const next = await cursorOf(reader)
    await one.announce('c')
    expect(await named(reader, next)).toEqual(reset)
    expect(await epochs()).toHaveLength(1)
  })
})

describe('where no epoch can begin', () => {
  const refused = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }))
  /** Nothing can be made, as on a mount that may only be read or a disk without room for a name. */
  const unwritable = (code: string): Disk => ({
    ...booted('boot-2'),
    makeDirectory: refused(code),
    rename: refused(code),
    remove: refused(code),
    open: (path, mode) => (mode === 'read' ? nodeDisk.open(path, mode) : refused(code)()),
  })

  test.each(['EROFS', 'ENOSPC', 'EIO'])('(%s) a feed opens, and every answer is a reset', async (code) => {
    const before = await open(booted('boot-1'))
    await before.announce('a')
    const feed = await open(unwritable(code))
    expect(await named(feed, await cursorOf(before))).toEqual(reset)
    expect(await named(feed, await cursorOf(feed))).toEqual(reset)
    expect(await named(feed, await cursorOf(feed))).toEqual(reset)
  })

  test('a feed opens where there is none at all, and can be watched', async () => {
    const feed = await open(unwritable('EROFS'))
    expect(await named(feed, await cursorOf(feed))).toEqual(reset)
    feed.watch(() => undefined)()
  })

  test('nothing is announced, and whoever wants that is told', async () => {
    for (const [code, told] of [
      ['EROFS', 'UNAVAILABLE'],
      ['ENOSPC', 'NO_SPACE'],
    ] as const) {
      const feed = await open(unwritable(code))
      await expect(feed.announce('a')).rejects.toMatchObject({ code: told, outcome: 'unknown' })
    }
  })

  test('one begins as soon as it can', async () => {
    let code: string | undefined = 'ENOSPC'
    const broken = unwritable('ENOSPC')
    const disk: Disk = {
      ...booted('boot-2'),
      makeDirectory: (path) => (code === undefined ? nodeDisk : broken).makeDirectory(path),
      rename: (from, to) => (code === undefined ? nodeDisk : broken).rename(from, to),
      open: (path, mode) => (code === undefined ? nodeDisk : broken).open(path, mode),
    }
    const feed = await open(disk)
    const cursor = await cursorOf(feed)
    code = undefined
    const answer = await feed.changes(cursor)
    expect(answer).toMatchObject(reset)
    await feed.announce('a')
    expect(await named(feed, answer.cursor)).toEqual({ names: ['a'], reset: false })
  })
})

describe('a torn line', () => {
  test('at the end is a reset, once: it may be a whole one whose newline rotted', async () => {
    const feed = await open()
    await feed.announce('a')
    const cursor = await cursorOf(feed)
    const [file] = await feedFiles()
    await appendFile(join(directory, file as string), '\n["hal')
    const { cursor: next, ...answer } = await feed.changes(cursor)
    expect(answer).toEqual(reset)
    expect(await named(feed, next)).toEqual(nothing)
    await appendFile(join(directory, file as string), 'f"]\n')
    expect(await named(feed, next)).toEqual(reset)
  })

  test('that was ended by the next writer is a reset: nobody knows what it said', async () => {
    const feed = await open()
    await feed.announce('a')
    const cursor = await cursorOf(feed)
    const [file] = await feedFiles()
    await appendFile(join(directory, file as string), '\n["hal')
    await feed.announce('b')
    expect(await named(feed, cursor)).toEqual(reset)
    const next = await cursorOf(feed)
    await feed.announce('c')
    expect(await named(feed, next)).toEqual({ names: ['c'], reset: false })
  })

  test.each(['{}', '7', '[7]', '[]', 'null', '\0\0\0', '["no/name"]'])('or one that says something else (%j) is a reset', async (text) => {
    const feed = await open()
    await feed.announce('a')
    const cursor = await cursorOf(feed)
    const [file] = await feedFiles()
    await appendFile(join(directory, file as string), `\n${text}\n`)
    expect(await named(feed, cursor)).toEqual(reset)
  })

  test('whose file is shorter than a cursor knows is a reset', async () => {
    const feed = await open()
    await feed.announce('a')
    const cursor = await cursorOf(feed)
    const [file] = await feedFiles()
    await truncate(join(directory, file as string), 3)
    expect(await named(feed, cursor)).toEqual(reset)
  })

  test('whose file was cut and has grown beyond a cursor is a reset', async () => {
    const feed = await open()
    await feed.announce('a')
    const cursor = await cursorOf(feed)
    const [file] = await feedFiles()
    await truncate(join(directory, file as string), 0)
    for (const name of ['b', 'c', 'd']) await feed.announce(name)
    expect(await named(feed, cursor)).toEqual(reset)
  })

  test('whose file was cut before it was read is a reset with the next line of a process that wrote to it', async () => {
    const feed = await open()
    await feed.announce('a')
    const [file] = await feedFiles()
    await truncate(join(directory, file as string), 0)
    const cursor = await cursorOf(feed)
    await feed.announce('b')
    await truncate(join(directory, file as string), 0)
    await feed.announce('c')
    expect(await named(feed, cursor)).toEqual(reset)
    const next = await cursorOf(feed)
    await feed.announce('d')
    expect(await named(feed, next)).toEqual({ names: ['d'], reset: false })
  })

  test('or a directory in the place of its file is a reset', async () => {
    const feed = await open()
    await feed.announce('a')
    const cursor = await cursorOf(feed)
    const [file] = await feedFiles()
    await rm(join(directory, file as string))
    await mkdir(join(directory, file as string))
    expect(await named(feed, cursor)).toEqual(reset)
    await feed.announce('b')
    expect((await feed.changes(cursor)).reset).toBe(true)
  })
})

describe('rotation', () => {
  const small = { fileBytes: 100, files: 3 }

  test('begins a new file when one is full, and a cursor goes on across them', async () => {
    const feed = await open(nodeDisk, small)
    await feed.announce('before')
    const cursor = await cursorOf(feed)
    const names = Array.from({ length: 12 }, (_, n) => `name ${String(n).padStart(2, '0')}`)
    for (const name of names) await feed.announce(name)
    expect((await feedFiles()).length).toBeGreaterThan(1)
    expect(await named(feed, cursor)).toEqual({ names, reset: false })
  })

  test('keeps so many files, trims the oldest, and a cursor into those is a reset', async () => {
    const feed = await open(nodeDisk, small)
    await feed.announce('before')
    const cursor = await cursorOf(feed)
    for (let n = 0; n < 60; n++) await feed.announce(`name ${n}`)
    const files = await feedFiles()
    expect(files).toHaveLength(small.files)
    expect(Number(files[0]?.slice(0, 8))).toBeGreaterThan(0)
    for (const file of files) expect((await stat(join(directory, file))).size).toBeLessThan(small.fileBytes + 30)
    expect(await named(feed, cursor)).toEqual(reset)
    expect(await named(feed, await cursorOf(feed))).toEqual(nothing)
  })

  test('is noticed by a writer that still has a trimmed file open: it writes again where others read', async () => {
    // The late one does not take its file for full, so nothing but the missing name can tell it.
    const [late, busy] = [await open(), await open(nodeDisk, small)]
    await late.announce('a')
    const [first] = await feedFiles()
    for (let n = 0; n < 60; n++) await busy.announce(`name ${n}`)
    expect(await feedFiles()).not.toContain(first)
    const cursor = await cursorOf(busy)
    await late.announce('late')
    expect(await named(busy, cursor)).toEqual({ names: ['late'], reset: false })
  })
})

test('a feed that cannot be read is told, and not taken for a quiet one', async () => {
  const broken = (code: string): Promise<never> => Promise.reject(Object.assign(new Error(code), { code }))
  const writer = await open()
  await writer.announce('a')
  const cursor = await cursorOf(writer)
  const blind = await open({ ...nodeDisk, open: (path, mode) => (mode === 'read' ? broken('EIO') : nodeDisk.open(path, mode)) })
  await expect(blind.changes(cursor)).rejects.toMatchObject({ code: 'UNREADABLE' })
  let listed = 0
  const deaf = await open({ ...nodeDisk, list: (path) => (listed++ === 0 ? nodeDisk.list(path) : broken('EACCES')) })
  await expect(deaf.changes(cursor)).rejects.toMatchObject({ code: 'UNREADABLE' })
})

test('a bit that rots in the feed hides nothing: what it told is told all the same, or everybody looks everywhere', async () => {
  const [writer, reader] = [await open(), await open()]
  const cursor = await cursorOf(reader)
  await writer.announce('a')
  const file = join(directory, (await feedFiles())[0] as string)
  await writer.announce('b')
  const whole = await readFile(file)
  const end = whole.indexOf('["b"')
  for (let bit = 0; bit < end * 8; bit++) {
    const rotten = Buffer.from(whole)
    rotten[bit >> 3] = (rotten[bit >> 3] as number) ^ (1 << (bit & 7))
    await writeFile(file, rotten)
    const told = await named(reader, cursor)
    expect(told.reset || told.names.join() === 'a,b', `bit ${bit}: ${JSON.stringify(told)}`).toBe(true)
  }
})

test('what software has announced that wrote no checksums is told', async () => {
  const feed = await open()
  await feed.announce('first')
  const cursor = await cursorOf(feed)
  await appendFile(join(directory, (await feedFiles())[0] as string), '\n["old"]\n')
  expect(await named(feed, cursor)).toEqual({ names: ['old'], reset: false })
})
