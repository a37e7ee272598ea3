import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { diskWith } from '../../../test/damage/disk-with.ts'
import { nodeDisk } from './node-disk.ts'
import { Reserve } from './reserve.ts'

let root: string
const clock = { ms: 0, monotonicMs: () => clock.ms }
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdfast-'))
})
afterEach(() => rm(root, { recursive: true }))

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

test('the reserve holds real bytes, and filling it again adds none', async () => {
  const reserve = new Reserve(nodeDisk, clock, root, 5_000)
  expect(await reserve.fill()).toBe(true)
  expect(await reserve.fill()).toBe(true)
  const { size, blocks } = await stat(join(root, 'reserve'))
  expect(size).toBe(5_000)
  // A file with holes would reserve nothing.
  if (process.platform === 'linux') expect(blocks * 512).toBeGreaterThanOrEqual(5_000)
})

test('half a reserve is filled up', async () => {
  await writeFile(join(root, 'reserve'), Buffer.alloc(1_234, 1))
  expect(await new Reserve(nodeDisk, clock, root, 5_000).fill()).toBe(true)
  expect((await readFile(join(root, 'reserve'))).length).toBe(5_000)
})

test('it can be released once, and filled again', async () => {
  const reserve = new Reserve(nodeDisk, clock, root, 100)
  expect(await reserve.release()).toBe(false)
  await reserve.fill()
  expect(await reserve.release()).toBe(true)
  expect(await exists(join(root, 'reserve'))).toBe(false)
  expect(await reserve.release()).toBe(false)
  expect(await reserve.fill()).toBe(true)
})

test.each([
  ['takes a part', diskWith({}, (_, file) => ({ write: (bytes) => file.write(bytes.subarray(0, 10)) }))],
  ['takes nothing', diskWith({}, () => ({ write: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) }))],
  ['cannot keep it', diskWith({}, () => ({ sync: () => Promise.reject(Object.assign(new Error('broken'), { code: 'EIO' })) }))],
])('a disk that %s has no reserve, and no half of one takes room', async (_, full) => {
  expect(await new Reserve(full, clock, root, 100).fill()).toBe(false)
  expect(await exists(join(root, 'reserve'))).toBe(false)
})

test('a reserve of zeros, which takes no room where the file system compresses, is replaced by random bytes', async () => {
  await writeFile(join(root, 'reserve'), Buffer.alloc(5_000))
  expect(await new Reserve(nodeDisk, clock, root, 5_000).fill()).toBe(true)
  const bytes = await readFile(join(root, 'reserve'))
  expect(bytes.length).toBe(5_000)
  expect(gzipSync(bytes).length).toBeGreaterThan(4_900)
})

test('it is due ten seconds after it was released or could not be made, until it is filled', async () => {
  const reserve = new Reserve(nodeDisk, clock, root, 100)
  await reserve.fill()
  expect(reserve.isDue).toBe(false)
  await reserve.release()
  expect(reserve.isDue).toBe(false)
  clock.ms += 10_000
  expect(reserve.isDue).toBe(true)
  await reserve.fill()
  expect(reserve.isDue).toBe(false)
  const full = diskWith({}, () => ({ write: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) }))
  const other = new Reserve(full, clock, root, 200)
  expect(await other.fill()).toBe(false)
  clock.ms += 10_000
  expect(other.isDue).toBe(true)
})
