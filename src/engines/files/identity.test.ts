import { appendFile, mkdir, mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HoldfastError } from '../../errors.ts'
import type { Disk } from './disk.ts'
import { identify } from './identity.ts'
import { nodeDisk } from './node-disk.ts'

const MADE = '2026-11-15T09:30:00.000Z'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdfast-'))
})
afterEach(() => rm(root, { recursive: true }))

const open = async (store = 'store-1', disk: Disk = nodeDisk): Promise<string[]> => (await identify(disk, root, store, MADE)).warnings
const lines = async (): Promise<string[]> => (await readFile(join(root, 'holdfast.json'), 'utf8')).split('\n').filter((line) => line !== '')

/** As another program would write it. */
function line(json: string): string {
  const covered = json.slice(0, -1)
  return `${covered},"crc":"${crc32(covered).toString(16).padStart(8, '0')}"}\n`
}

test('a new store says what it is, once, and without a warning', async () => {
  expect(await open()).toEqual([])
  await mkdir(join(root, 'sessions'))
  expect(await open('store-2')).toEqual([])
  expect(await lines()).toEqual([`{"holdfast":2,"store":"store-1","made":"${MADE}","crc":"debf50f1"}`])
})

test('before there are sessions, each process writes the same line again and syncs it: the disk may have dropped the first one', async () => {
  await open()
  let syncs = 0
  const disk: Disk = {
    ...nodeDisk,
    open: async (path, mode) => {
      const file = await nodeDisk.open(path, mode)
      const sync = file.sync.bind(file)
      return Object.assign(file, {
        sync: () => {
          syncs++
          return sync()
        },
      })
    },
  }
  for (let i = 0; i < 40; i++) expect(await open('store-2', disk)).toEqual([])
  expect(syncs).toBe(40)
  const written = await lines()
  expect([...new Set(written)]).toEqual([`{"holdfast":2,"store":"store-1","made":"${MADE}","crc":"debf50f1"}`])
  // Its size is bounded.
  expect(written.length).toBeGreaterThan(1)
  expect(written.length).toBeLessThan(20)
})

test('two processes that make a store at once agree: the first line counts', async () => {
  // Both look before either writes: the second one comes while the first waits for its write.
  let other: Promise<string[]> | undefined
  const disk: Disk = {
    ...nodeDisk,
    open: async (path, mode) => {
      other ??= mode === 'create' ? open('store-2') : undefined
      if (mode === 'create') await other
      return nodeDisk.open(path, mode)
    },
  }
  expect(await open('store-1', disk)).toEqual([])
  expect(await other).toEqual([])
  expect((await lines()).map((line) => JSON.parse(line).store)).toEqual(['store-2', 'store-1'])
  await mkdir(join(root, 'sessions'))
  expect(await open('store-3')).toEqual([])
  expect(await lines()).toHaveLength(2)
})

describe('a missing or unreadable identity', () => {
  test('beside sessions is a warning, and the store is usable', async () => {
    await mkdir(join(root, 'sessions'))
    expect(await open()).toEqual([expect.stringMatching(/^holdfast\.json is missing beside existing sessions.*doctor/)])
    expect(await open()).toEqual([])
    expect(await lines()).toHaveLength(1)
  })

  test.each([
    ['empty', ''],
    ['torn', '{"holdfast":1,"sto'],
    ['whole but for its newline', line('{"holdfast":1,"store":"old"}').trimEnd()],
    ['without a checksum', '{"holdfast":1,"store":"old"}\n'],
    ['one of a newer format, if it were not rotten', line('{"holdfast":1,"store":"old"}').replace('1', '3')],
    ['zeros', '\0'.repeat(60)],
    ['something else', `null\n[]\n7\n${line('{"holdfast":"1","store":"x"}')}${line('{"store":"x"}')}`],
  ])('that is %s is refused beside sessions, and completed in a new store', async (_, content) => {
    await mkdir(join(root, 'sessions'))
    await writeFile(join(root, 'holdfast.json'), content)
    await expect(open()).rejects.toMatchObject({ code: 'DAMAGED', message: expect.stringContaining(join(root, 'holdfast.json')) })
    expect(await readFile(join(root, 'holdfast.json'), 'utf8')).toBe(content)
    await rmdir(join(root, 'sessions'))
    expect(await open()).toEqual([])
    const made = line(`{"holdfast":2,"store":"store-1","made":"${MADE}"}`)
    expect(await readFile(join(root, 'holdfast.json'), 'utf8')).toBe(`${content}${content === '' ? '' : '\n'}${made}`)
    expect(await open('store-2')).toEqual([])
  })

  test.each(['EIO', 'EACCES'])('that cannot be read (%s) is no reason to write another', async (code) => {
    await open()
    const disk: Disk = { ...nodeDisk, open: () => Promise.reject(Object.assign(new Error(code), { code })) }
    await expect(open('store-2', disk)).rejects.toMatchObject({ code: 'UNREADABLE' })
    const blind: Disk = { ...nodeDisk, list: () => Promise.reject(Object.assign(new Error(code), { code })) }
    await expect(open('store-2', blind)).rejects.toMatchObject({ code: 'UNREADABLE' })
    expect(await lines()).toHaveLength(1)
  })
})

test('a store of a newer format is refused, and not touched', async () => {
  const newer = line('{"holdfast":3,"store":"later"}')
  await writeFile(join(root, 'holdfast.json'), newer)
  const refusal: unknown = await open().catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(HoldfastError)
  expect(refusal).toMatchObject({ code: 'UNSUPPORTED_VERSION', details: { found: 3, supported: 2 } })
  expect(await readFile(join(root, 'holdfast.json'), 'utf8')).toBe(newer)
})

test('a store of format 1 opens without a warning, and its identity stays as it is', async () => {
  const older = line('{"holdfast":1,"store":"old"}')
  await mkdir(join(root, 'sessions'))
  await writeFile(join(root, 'holdfast.json'), older)
  expect(await open()).toEqual([])
  expect(await readFile(join(root, 'holdfast.json'), 'utf8')).toBe(older)
})

test('a newer process that was second does not take the store away from those that were first', async () => {
  await open()
  await appendFile(join(root, 'holdfast.json'), line('{"holdfast":3,"store":"later"}'))
  expect(await open()).toEqual([])
})

const failing = (code: string): Disk => ({
  ...nodeDisk,
  open: async (path, mode) => {
    if (mode === 'create') throw Object.assign(new Error(code), { code })
    return nodeDisk.open(path, mode)
  },
})

test.each(['ENOSPC', 'EROFS'])('a damaged store that cannot be written (%s) can still be read', async (code) => {
  await mkdir(join(root, 'sessions'))
  expect(await open('s', failing(code))).toEqual([expect.stringContaining('could not be written')])
  await expect(open('s', failing('EIO'))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

test('a full disk says so, and a disk that may only be read says that', async () => {
  await expect(open('s', failing('ENOSPC'))).rejects.toMatchObject({ code: 'NO_SPACE' })
  await expect(open('s', failing('EROFS'))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
