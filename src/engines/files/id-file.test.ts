import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KeyEntry } from '../../record/keys.ts'
import type { DiskFile } from './disk.ts'
import { allEntries, BLOCK_BYTES, encodeEntry, findKey, RottenIdFile, readIdFile, writeIdFile } from './id-file.ts'
import { nodeDisk } from './node-disk.ts'

const PER_BLOCK = 85

function entry(n: number): KeyEntry {
  const hex = createHash('sha256').update(`key ${n}`).digest('hex')
  return { key: hex.slice(0, 32), at: 1_000 + n * 100, index: n % 10_000, length: 100, crc: hex.slice(32, 40), digest: hex.slice(32, 64) }
}

function sorted(count: number, from = 0): KeyEntry[] {
  return Array.from({ length: count }, (_, n) => entry(from + n)).sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** A file in memory: what is read from it is what was put there. */
function fileOf(content: Buffer): DiskFile {
  let bytes = content
  const read = (offset: number, length: number): Buffer => bytes.subarray(offset, offset + length)
  const write = (more: Uint8Array): number => {
    bytes = Buffer.concat([bytes, more])
    return more.length
  }
  return {
    stat: () => ({ size: bytes.length, links: 1 }),
    readSync: read,
    read: async (offset, length) => read(offset, length),
    writeSync: write,
    write: async (more) => write(more),
    sync: async () => undefined,
    close: async () => undefined,
  }
}

async function encode(entries: readonly KeyEntry[], range = { first: 0, end: 2 ** 40 }): Promise<Buffer> {
  const file = fileOf(Buffer.alloc(0))
  await writeIdFile(file, { ...range, count: entries.length }, entries.map(encodeEntry))
  return file.readSync(0, file.stat().size)
}

async function open(bytes: Buffer) {
  const ids = await readIdFile(fileOf(bytes))
  if (ids === undefined) throw new Error('The id file is not whole.')
  return ids
}

describe('an id file', () => {
  test.each([0, 1, 2, PER_BLOCK - 1, PER_BLOCK, PER_BLOCK + 1, 3 * PER_BLOCK, 1_000])(
    'of %i entries gives each of them back, and no other',
    async (count) => {
      const entries = sorted(count)
      const ids = await open(await encode(entries, { first: 4_096, end: 8_192 }))
      expect(ids).toMatchObject({ first: 4_096, end: 8_192, count })
      expect(entries.flatMap(({ key }) => findKey(ids, key))).toEqual(entries)
      expect(Array.from({ length: 500 }, (_, n) => findKey(ids, entry(-1 - n).key)).flat()).toEqual([])
      const all: Buffer[] = []
      for await (const encoded of allEntries(ids)) all.push(Buffer.from(encoded))
      expect(all).toEqual(entries.map(encodeEntry))
    },
  )

  test('has the size that its head says', async () => {
    // One block; one fence of 8 bytes; a filter of ten bits a key; the trailer.
    expect((await encode(sorted(80))).length).toBe(BLOCK_BYTES + 8 + 100 + 64)
    expect((await encode([])).length).toBe(8 + 64)
  })

  test('gives back the largest numbers that an entry can hold', async () => {
    const largest: KeyEntry = { ...entry(1), at: 2 ** 48 - 1, index: 65_535, length: 2 ** 32 - 1, crc: 'ffffffff' }
    expect(findKey(await open(await encode([largest])), largest.key)).toEqual([largest])
  })

  test('finds every entry of a key that stands in it often, also across blocks', async () => {
    const { key } = entry(7)
    const many = Array.from({ length: 3 * PER_BLOCK }, (_, n) => ({ ...entry(n), key }))
    const entries = [...sorted(400), ...many].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    const found = findKey(await open(await encode(entries)), key)
    expect(found).toHaveLength(many.length + 1)
    expect(new Set(found.map(({ at }) => at))).toEqual(new Set([...many, entry(7)].map(({ at }) => at)))
  })

  test('tells keys apart that begin alike, where the fences cannot', async () => {
    const alike = Array.from({ length: 300 }, (_, n) => ({ ...entry(n), key: `00000000deadbeef${String(n).padStart(16, '0')}` }))
    const ids = await open(await encode(alike))
    expect(alike.flatMap(({ key }) => findKey(ids, key))).toEqual(alike)
    expect(findKey(ids, `00000000deadbeef${'f'.repeat(16)}`)).toEqual([])
  })

  test('is small to keep: fences and filter take a few bytes a key', async () => {
    const ids = await open(await encode(sorted(5_000)))
    expect(ids.fences.length + ids.filter.length).toBeLessThan(5_000 * 2)
  })

  test('answers nearly all questions about unknown keys without reading a block', async () => {
    const bytes = await encode(sorted(1_000))
    let reads = 0
    const file = fileOf(bytes)
    const counting: DiskFile = {
      ...file,
      readSync: (offset, length) => {
        reads++
        return file.readSync(offset, length)
      },
    }
    const ids = await readIdFile(counting)
    if (ids === undefined) throw new Error('The id file is not whole.')
    for (let n = 0; n < 10_000; n++) findKey(ids, entry(-1 - n).key)
    expect(reads).toBeLessThan(500)
  })

  test('can be written to a real disk and read there', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
    try {
      const file = await nodeDisk.open(join(directory, 'ids'), 'create')
      const entries = sorted(200)
      await writeIdFile(file, { first: 0, end: 9, count: 200 }, entries.map(encodeEntry))
      const ids = await readIdFile(file)
      expect(ids === undefined ? [] : findKey(ids, entries[150]?.key ?? '')).toEqual([entries[150]])
      await file.close()
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  test('that a full disk cut short is an error to its writer', async () => {
    const file = fileOf(Buffer.alloc(0))
    const short: DiskFile = { ...file, write: async (bytes) => file.writeSync(bytes.subarray(0, 100)) }
    await expect(writeIdFile(short, { first: 0, end: 1, count: 1 }, [encodeEntry(entry(1))])).rejects.toMatchObject({ code: 'ENOSPC' })
  })
})

describe('a damaged id file', () => {
  const entries = sorted(100)
  let bytes: Buffer
  beforeAll(async () => {
    bytes = await encode(entries)
  })

  test('that was cut at any length is not whole', async () => {
    const whole: number[] = []
    for (let length = 0; length <= bytes.length; length++) if (await readIdFile(fileOf(bytes.subarray(0, length)))) whole.push(length)
    expect(whole).toEqual([bytes.length])
  })

  test('that has something behind it is not whole', async () => {
    for (const more of [1, 64, BLOCK_BYTES]) expect(await readIdFile(fileOf(Buffer.concat([bytes, Buffer.alloc(more)])))).toBeUndefined()
    expect(await readIdFile(fileOf(Buffer.concat([bytes, bytes])))).toBeUndefined()
  })

  test('that has zeros where a page did not reach the disk is noticed, wherever that is', async () => {
    for (let at = 0; at < bytes.length; at += 512) {
      const holed = Buffer.from(bytes)
      holed.fill(0, at, Math.min(at + 512, bytes.length))
      // The last entries of the last block, and its rest, may be zeros already.
      if (holed.equals(bytes)) continue
      const ids = await readIdFile(fileOf(holed))
      const look = () => entries.map(({ key }) => (ids === undefined ? [] : findKey(ids, key)))
      if (ids !== undefined) expect(look, `zeros at ${at}`).toThrow(RottenIdFile)
    }
  })

  test('whose block is rotten is noticed when that block is read, by a look-up and by a merge', async () => {
    const rotten = Buffer.from(bytes)
    rotten[BLOCK_BYTES + 5] = (rotten[BLOCK_BYTES + 5] as number) ^ 1
    const ids = await open(rotten)
    expect(() => findKey(ids, entries[99]?.key ?? '')).toThrow(RottenIdFile)
    expect(findKey(ids, entries[0]?.key ?? '')).toEqual([entries[0]])
    const drain = async (): Promise<void> => {
      for await (const _ of allEntries(ids));
    }
    await expect(drain()).rejects.toThrow(RottenIdFile)
  })
})

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
})
afterAll(() => rm(directory, { recursive: true }))

test('a file of another kind is no id file', async () => {
  const path = join(directory, 'other')
  for (const content of ['', 'short', '{"v":1}\n'.repeat(1_000), 'HFIDS001'.repeat(20)]) {
    await writeFile(path, content)
    const file = await nodeDisk.open(path, 'read')
    expect(await readIdFile(file)).toBeUndefined()
    await file.close()
    expect(await readFile(path, 'utf8')).toBe(content)
  }
})
