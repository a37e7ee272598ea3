/**
 * An id file: the keys of a range of sealed segments, sorted, so that a look-up reads one block. Derived: any of them may be deleted or
 * rot, and is then made again from the segments. Numbers are big-endian.
 *
 *     block × n    4096 bytes: up to 85 entries of 48 bytes, sorted by key; the last 4 bytes are the CRC-32 of the rest
 *     footer       the first 8 bytes of each block's first key · a Bloom filter of all keys, ten bits a key
 *     trailer      64 bytes: "HFIDS001" · first position u64 · end position u64 · entries u32 · bytes of the filter u32 · CRC of the footer u32 ·
 *                  zeros · CRC of the trailer u32
 *
 *     entry        key 16 · position u48 · index u16 · length u32 · crc u32 · digest 16
 */
import { crc32 } from 'node:zlib'
import type { KeyEntry, KeyHash } from '../../record/keys.ts'
import type { DiskFile } from './disk.ts'

export const BLOCK_BYTES = 4096
const ENTRY_BYTES = 48
const ENTRIES_PER_BLOCK = Math.floor((BLOCK_BYTES - 4) / ENTRY_BYTES)
const TRAILER_BYTES = 64
const MAGIC = Buffer.from('HFIDS001')
const FILTER_PROBES = 6

/** What of an id file is kept in memory. */
export interface IdFile {
  readonly file: DiskFile
  /** The range of positions whose segments it covers. */
  readonly first: number
  readonly end: number
  readonly count: number
  readonly fences: Buffer
  readonly filter: Buffer
}

/** Opens an id file, or undefined if it is not whole. */
export async function readIdFile(file: DiskFile): Promise<IdFile | undefined> {
  const { size } = file.stat()
  if (size < TRAILER_BYTES) return undefined
  const trailer = await file.read(size - TRAILER_BYTES, TRAILER_BYTES)
  if (trailer.compare(MAGIC, 0, 8, 0, 8) !== 0 || trailer.readUInt32BE(60) !== crc32(trailer.subarray(0, 60))) return undefined
  const count = trailer.readUInt32BE(24)
  const filterBytes = trailer.readUInt32BE(28)
  const blocks = Math.ceil(count / ENTRIES_PER_BLOCK)
  const footerBytes = blocks * 8 + filterBytes
  if (size !== blocks * BLOCK_BYTES + footerBytes + TRAILER_BYTES) return undefined
  const footer = await file.read(blocks * BLOCK_BYTES, footerBytes)
  if (crc32(footer) !== trailer.readUInt32BE(32)) return undefined
  return {
    file,
    first: Number(trailer.readBigUInt64BE(8)),
    end: Number(trailer.readBigUInt64BE(16)),
    count,
    fences: footer.subarray(0, blocks * 8),
    filter: footer.subarray(blocks * 8),
  }
}

/** Thrown when a block does not fit its checksum: the file has to be made again. */
export class RottenIdFile extends Error {}

/** Entries of one key; more than one only if incarnations of a session used the same id. */
export function findKey(ids: IdFile, key: KeyHash): KeyEntry[] {
  const wanted = Buffer.from(key, 'hex')
  if (!mayContain(ids.filter, wanted)) return []
  const found: KeyEntry[] = []
  for (let block = firstBlock(ids.fences, wanted); block < ids.fences.length / 8; block++) {
    const bytes = ids.file.readSync(block * BLOCK_BYTES, BLOCK_BYTES)
    let beyond = false
    for (const entry of blockEntries(bytes, entriesIn(ids.count, block))) {
      const order = entry.compare(wanted, 0, 16, 0, 16)
      if (order === 0) found.push(decodeEntry(entry))
      beyond ||= order > 0
    }
    if (beyond) break
  }
  return found
}

/** All encoded entries in order, read in large pieces so that a merge never holds a whole file. */
export async function* allEntries(ids: IdFile): AsyncGenerator<Buffer> {
  const blocks = ids.fences.length / 8
  const step = 64
  for (let block = 0; block < blocks; block += step) {
    const bytes = await ids.file.read(block * BLOCK_BYTES, Math.min(step, blocks - block) * BLOCK_BYTES)
    for (let i = 0; i * BLOCK_BYTES < bytes.length; i++) {
      yield* blockEntries(bytes.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES), entriesIn(ids.count, block + i))
    }
  }
}

/** Writes an id file from encoded entries that come sorted. The file must be empty. */
export async function writeIdFile(
  file: DiskFile,
  range: { readonly first: number; readonly end: number; readonly count: number },
  entries: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  const blocks = Math.ceil(range.count / ENTRIES_PER_BLOCK)
  const fences = Buffer.alloc(blocks * 8)
  const filter = Buffer.alloc(Math.max(8, Math.ceil((range.count * 10) / 8)))
  let block = Buffer.alloc(BLOCK_BYTES)
  let inBlock = 0
  let written = 0
  const flush = async (): Promise<void> => {
    block.copy(fences, written * 8, 0, 8)
    block.writeUInt32BE(crc32(block.subarray(0, BLOCK_BYTES - 4)), BLOCK_BYTES - 4)
    await writeAll(file, block)
    written++
    inBlock = 0
    block = Buffer.alloc(BLOCK_BYTES)
  }
  for await (const entry of entries) {
    entry.copy(block, inBlock * ENTRY_BYTES)
    addTo(filter, entry)
    inBlock++
    if (inBlock === ENTRIES_PER_BLOCK) await flush()
  }
  if (inBlock > 0) await flush()
  const footer = Buffer.concat([fences, filter])
  const trailer = Buffer.alloc(TRAILER_BYTES)
  MAGIC.copy(trailer)
  trailer.writeBigUInt64BE(BigInt(range.first), 8)
  trailer.writeBigUInt64BE(BigInt(range.end), 16)
  trailer.writeUInt32BE(range.count, 24)
  trailer.writeUInt32BE(filter.length, 28)
  trailer.writeUInt32BE(crc32(footer), 32)
  trailer.writeUInt32BE(crc32(trailer.subarray(0, 60)), 60)
  await writeAll(file, Buffer.concat([footer, trailer]))
}

export function encodeEntry(entry: KeyEntry): Buffer {
  const bytes = Buffer.alloc(ENTRY_BYTES)
  bytes.write(entry.key, 0, 'hex')
  bytes.writeUIntBE(entry.at, 16, 6)
  bytes.writeUInt16BE(entry.index, 22)
  bytes.writeUInt32BE(entry.length, 24)
  bytes.write(entry.crc, 28, 'hex')
  bytes.write(entry.digest, 32, 'hex')
  return bytes
}

function decodeEntry(bytes: Buffer): KeyEntry {
  return {
    key: bytes.toString('hex', 0, 16),
    at: bytes.readUIntBE(16, 6),
    index: bytes.readUInt16BE(22),
    length: bytes.readUInt32BE(24),
    crc: bytes.toString('hex', 28, 32),
    digest: bytes.toString('hex', 32, 48),
  }
}

function entriesIn(count: number, block: number): number {
  return Math.min(ENTRIES_PER_BLOCK, count - block * ENTRIES_PER_BLOCK)
}

function* blockEntries(block: Buffer, count: number): Generator<Buffer> {
  if (block.length !== BLOCK_BYTES || block.readUInt32BE(BLOCK_BYTES - 4) !== crc32(block.subarray(0, BLOCK_BYTES - 4)))
    throw new RottenIdFile()
  for (let i = 0; i < count; i++) yield block.subarray(i * ENTRY_BYTES, (i + 1) * ENTRY_BYTES)
}

/** The last block whose first key is below the wanted one, since equal prefixes may begin in the block before. */
function firstBlock(fences: Buffer, wanted: Buffer): number {
  let low = 0
  let high = fences.length / 8
  while (low < high) {
    const middle = (low + high) >>> 1
    if (fences.compare(wanted, 0, 8, middle * 8, middle * 8 + 8) < 0) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/** Keys are hashes, so their own bits serve as independent probes. */
function* probes(filter: Buffer, key: Buffer): Generator<number> {
  const bits = filter.length * 8
  const step = key.readUInt32BE(8) | 1
  let probe = key.readUInt32BE(4)
  for (let i = 0; i < FILTER_PROBES; i++) {
    yield probe % bits
    probe = (probe + step) >>> 0
  }
}

function addTo(filter: Buffer, key: Buffer): void {
  for (const bit of probes(filter, key)) filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7))
}

function mayContain(filter: Buffer, key: Buffer): boolean {
  for (const bit of probes(filter, key)) if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false
  return true
}

async function writeAll(file: DiskFile, bytes: Buffer): Promise<void> {
  if ((await file.write(bytes)) !== bytes.length) throw Object.assign(new Error('short write'), { code: 'ENOSPC' })
}
