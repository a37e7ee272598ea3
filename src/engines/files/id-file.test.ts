import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryFile } from '../../../test/damage/memory-file.ts'
import type { KeyEntry } from '../../record/key-hash.ts'
import type { DiskFile } from './disk.ts'
import {
  BLOCK_BYTES,
  encodeEntries,
  findKey,
  type IdFile,
  PIECE_BYTES,
  piecesOf,
  RottenIdFile,
  readIdFile,
  writeIdFile,
} from './id-file.ts'
import { mergeIds } from './id-merge.ts'
import { nodeDisk } from './node-disk.ts'

const PER_BLOCK = 85

function entry(n: number): KeyEntry {
  const hex = createHash('sha256').update(`key ${n}`).digest('hex')
  return { key: hex.slice(0, 32), at: 1_000 + n * 100, index: n % 10_000, length: 100, crc: hex.slice(32, 40), digest: hex.slice(32, 64) }
}

function sorted(count: number, from = 0): KeyEntry[] {
  return Array.from({ length: count }, (_, n) => entry(from + n)).sort((a, b) => (a.key < b.key ? -1 : 1))
}

async function encode(entries: readonly KeyEntry[], range = { first: 0, end: 2 ** 40 }): Promise<Buffer> {
  const file = memoryFile(Buffer.alloc(0))
  await writeIdFile(file, { ...range, count: entries.length }, [encodeEntries(entries)])
  return file.readSync(0, file.stat().size)
}

async function open(bytes: Buffer, file = memoryFile(bytes)): Promise<IdFile> {
  const ids = await readIdFile(file)
  if (ids === undefined) throw new Error('The id file is not whole.')
  return ids
}

const find = (ids: IdFile, key: string, from = 0, before = 2 ** 48): KeyEntry | undefined =>
  findKey(ids, Buffer.from(key, 'hex'), from, before)

async function all(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const list: Buffer[] = []
  for await (const piece of pieces) list.push(piece)
  return Buffer.concat(list)
}

describe('an id file', () => {
  test.each([0, 1, 2, PER_BLOCK - 1, PER_BLOCK, PER_BLOCK + 1, 3 * PER_BLOCK, 1_000])(
    'of %i entries gives each of them back, and no other',
    async (count) => {
      const entries = sorted(count)
      const ids = await open(await encode(entries, { first: 4_096, end: 8_192 }))
      expect(ids).toMatchObject({ first: 4_096, end: 8_192, count })
      expect(entries.map(({ key }) => find(ids, key))).toEqual(entries)
      for (let n = 0; n < 500; n++) expect(find(ids, entry(-1 - n).key)).toBeUndefined()
      expect(await all(piecesOf(ids))).toEqual(encodeEntries(entries))
    },
  )

  test('has the size that its head says', async () => {
    // One block; one fence of 8 bytes; a filter of fourteen bits a key; the trailer.
    expect((await encode(sorted(80))).length).toBe(BLOCK_BYTES + 8 + 140 + 64)
    expect((await encode([])).length).toBe(8 + 64)
  })

  test('gives back the largest numbers that an entry can hold', async () => {
    const largest: KeyEntry = { ...entry(1), at: 2 ** 48 - 1, index: 65_535, length: 2 ** 32 - 1, crc: 'ffffffff' }
    expect(find(await open(await encode([largest])), largest.key)).toEqual(largest)
  })

  test('answers with the highest entry of a key in the range, also where it has very many, and reads two blocks at most', async () => {
    const { key } = entry(7)
    const many = Array.from({ length: 100 * PER_BLOCK }, (_, n) => ({ ...entry(n), key, at: 1_000 + n * 10, index: 0 }))
    const twice = { ...entry(7), at: 1_000 + 100 * PER_BLOCK * 10 }
    const entries = [...sorted(400, 1_000), ...many, { ...twice, index: 3 }, { ...twice, index: 4 }, { ...twice, index: 2 }]
    let reads = 0
    const bytes = await encode(entries)
    const file = memoryFile(bytes)
    const ids = await open(bytes, {
      ...file,
      readSync: (offset, length) => {
        reads++
        return file.readSync(offset, length)
      },
    })
    expect(find(ids, key, 0, 2 ** 40)).toEqual({ ...twice, index: 4 })
    expect(reads).toBeLessThanOrEqual(2)
    expect(find(ids, key, 0, twice.at)).toEqual(many.at(-1))
    expect(find(ids, key, 1_000, 1_020)).toEqual(many[1])
    expect(find(ids, key, 1_000, 1_010)).toEqual(many[0])
    expect(find(ids, key, 0, 1_000)).toBeUndefined()
    expect(find(ids, key, twice.at + 1, 2 ** 40)).toBeUndefined()
    expect(find(ids, key, 1_001, 1_010)).toBeUndefined()
  })

  test('tells keys apart that begin alike, where the fences cannot', async () => {
    const alike = Array.from({ length: 300 }, (_, n) => ({ ...entry(n), key: `00000000deadbeef${String(n).padStart(16, '0')}` }))
    const ids = await open(await encode(alike))
    expect(alike.map(({ key }) => find(ids, key))).toEqual(alike)
    expect(find(ids, `00000000deadbeef${'f'.repeat(16)}`)).toBeUndefined()
  })

  test('is small to keep: fences and filter take a few bytes a key', async () => {
    const ids = await open(await encode(sorted(5_000)))
    expect(ids.fences.length + ids.filter.length).toBeLessThan(5_000 * 2)
  })

  test('answers nearly all questions about unknown keys without reading a block', async () => {
    const bytes = await encode(sorted(1_000))
    let reads = 0
    const file = memoryFile(bytes)
    const counting: DiskFile = {
      ...file,
      readSync: (offset, length) => {
        reads++
        return file.readSync(offset, length)
      },
    }
    const ids = await readIdFile(counting)
    if (ids === undefined) throw new Error('The id file is not whole.')
    for (let n = 0; n < 10_000; n++) find(ids, entry(-1 - n).key)
    expect(reads).toBeLessThan(500)
  })

  test('can be written to a real disk and read there', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
    try {
      const file = await nodeDisk.open(join(directory, 'ids'), 'create')
      const entries = sorted(200)
      await writeIdFile(file, { first: 0, end: 9, count: 200 }, [encodeEntries(entries)])
      const ids = await readIdFile(file)
      expect(ids === undefined ? undefined : find(ids, entries[150]?.key ?? '')).toEqual(entries[150])
      await file.close()
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  test('that a full disk cut short is an error to its writer', async () => {
    const file = memoryFile(Buffer.alloc(0))
    const short: DiskFile = { ...file, write: async (bytes) => file.writeSync(bytes.subarray(0, 100)) }
    await expect(writeIdFile(short, { first: 0, end: 1, count: 1 }, [encodeEntries([entry(1)])])).rejects.toMatchObject({ code: 'ENOSPC' })
  })
})

describe('id files that are merged', () => {
  test.each([[[0]], [[3]], [[1, 0, 1]], [[100, 200, 1, 50]], [[6_000, 6_000, 10]]])(
    'of %j entries are one row in order, of whole blocks',
    async (counts) => {
      const parts = counts.map((count, n) => sorted(count, n * 100_000))
      const files = await Promise.all(parts.map(async (entries) => open(await encode(entries))))
      const pieces: Buffer[] = []
      for await (const piece of mergeIds(files)) pieces.push(piece)
      expect(Buffer.concat(pieces).equals(encodeEntries(parts.flat()))).toBe(true)
      for (const piece of pieces.slice(0, -1)) expect(piece.length).toBe(PIECE_BYTES)
    },
  )

  test('keep the entries of one key in order: the highest first', async () => {
    const { key } = entry(1)
    const at = (...positions: number[]) => positions.map((position, n) => ({ ...entry(1), key, at: position, index: n }))
    const parts = [at(10, 40, 70), at(20, 20, 80), at(30)]
    const files = await Promise.all(parts.map(async (entries) => open(await encode(entries))))
    expect(await all(mergeIds(files))).toEqual(encodeEntries(parts.flat()))
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
    for (let length = 0; length <= bytes.length; length++) if (await readIdFile(memoryFile(bytes.subarray(0, length)))) whole.push(length)
    expect(whole).toEqual([bytes.length])
  })

  test('that has something behind it is not whole', async () => {
    for (const more of [1, 64, BLOCK_BYTES])
      expect(await readIdFile(memoryFile(Buffer.concat([bytes, Buffer.alloc(more)])))).toBeUndefined()
    expect(await readIdFile(memoryFile(Buffer.concat([bytes, bytes])))).toBeUndefined()
  })

  test('that has zeros where a page did not reach the disk is noticed, wherever that is', async () => {
    for (let at = 0; at < bytes.length; at += 512) {
      const holed = Buffer.from(bytes)
      holed.fill(0, at, Math.min(at + 512, bytes.length))
      // The last entries of the last block, and its rest, may be zeros already.
      if (holed.equals(bytes)) continue
      const ids = await readIdFile(memoryFile(holed))
      const look = () => entries.map(({ key }) => (ids === undefined ? undefined : find(ids, key)))
      if (ids !== undefined) expect(look, `zeros at ${at}`).toThrow(RottenIdFile)
    }
  })

  test('whose block is rotten is noticed when that block is read, by a look-up and by a merge', async () => {
    const rotten = Buffer.from(bytes)
    rotten[BLOCK_BYTES + 5] = (rotten[BLOCK_BYTES + 5] as number) ^ 1
    const ids = await open(rotten)
    expect(() => find(ids, entries[99]?.key ?? '')).toThrow(RottenIdFile)
    expect(find(ids, entries[0]?.key ?? '')).toEqual(entries[0])
    await expect(all(mergeIds([await open(bytes), ids]))).rejects.toThrow(RottenIdFile)
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
