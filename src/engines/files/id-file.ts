/**
 * An id file: the keys of a range of sealed segments, sorted, so that a look-up reads one block. Derived: any of them may be deleted or
 * rot, and is then made again from the segments. Numbers are big-endian.
 *
 *     block × n    4096 bytes: up to 85 entries of 48 bytes; the last 4 bytes are the CRC-32 of the rest
 *     footer       the first 8 bytes of each block's first key · a Bloom filter of all keys, fourteen bits a key
 *     trailer      64 bytes: "HFIDS003" · first position u64 · end position u64 · entries u32 · bytes of the filter u32 · CRC of the footer u32 ·
 *                  zeros · CRC of the trailer u32
 *
 *     entry        key 16 · position u48 · index u16 · length u32 · crc u32 · digest 16
 *                  in order of their keys; those of one key by position and index, the highest first
 */
import { crc32 } from 'node:zlib'
import type { KeyEntry, KeyHash } from '../../record/key-hash.ts'
import type { DiskFile } from './disk.ts'

export const BLOCK_BYTES = 4096
export const KEY_BYTES = 16
export const ENTRY_BYTES = 48
const ENTRIES_PER_BLOCK = Math.floor((BLOCK_BYTES - 4) / ENTRY_BYTES)
const BLOCK_ENTRIES_BYTES = ENTRIES_PER_BLOCK * ENTRY_BYTES
/** A quarter of a MiB is read or written at once. */
const BLOCKS_AT_ONCE = 64
export const PIECE_BYTES = BLOCKS_AT_ONCE * BLOCK_ENTRIES_BYTES
const TRAILER_BYTES = 64
const MAGIC = Buffer.from('HFIDS003')
/** One key in eight hundred that is not there is looked for all the same: most of those that are asked for are not. */
const FILTER_BITS = 14
const FILTER_PROBES = 10

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

/** Where the bits of keys are looked for in a filter: the first place, and the step from there to the next. */
export function probesOf(keys: Buffer): Uint32Array {
  const probes = new Uint32Array((2 * keys.length) / KEY_BYTES)
  for (let i = 0; i < probes.length; i += 2) {
    const at = (i / 2) * KEY_BYTES
    probes[i] = keys.readUInt32BE(at + 4)
    probes[i + 1] = keys.readUInt32BE(at + 8) | 1
  }
  return probes
}

/** Whether a key may be among those of a filter, by its number among those that are looked for. Mostly it is not, and nothing is read. */
export function mayHave(filter: Buffer, probes: Uint32Array, index: number): boolean {
  const step = probes[2 * index + 1] as number
  let probe = probes[2 * index] as number
  const bits = filter.length * 8
  for (let i = 0; i < FILTER_PROBES; i++, probe = (probe + step) >>> 0) {
    const bit = probe % bits
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false
  }
  return true
}

/**
 * The entry of a key with the highest position from `from` on and before `before`. Entries of one key stand in descending order, so the
 * first one in that range answers: a key may have very many.
 */
export function findKey(ids: IdFile, wanted: Buffer, from: number, before: number): KeyEntry | undefined {
  if (!mayHave(ids.filter, probesOf(wanted), 0)) return undefined
  for (let block = firstBlock(ids.fences, wanted); block < ids.fences.length / 8; block++) {
    const bytes = ids.file.readSync(block * BLOCK_BYTES, BLOCK_BYTES)
    checkBlock(bytes)
    const end = entriesIn(ids.count, block) * ENTRY_BYTES
    for (let at = firstEntry(bytes, end, wanted); at < end; at += ENTRY_BYTES) {
      const position = bytes.readUIntBE(at + KEY_BYTES, 6)
      if (position < from || bytes.compare(wanted, 0, KEY_BYTES, at, at + KEY_BYTES) !== 0) return undefined
      if (position < before) return decodeEntry(bytes.subarray(at, at + ENTRY_BYTES))
    }
  }
  return undefined
}

/** The blocks of an id file in which the entries of some records tell other digests and checksums than these, with these, and where they stand. */
export function correctedBlocks(ids: IdFile, entries: readonly KeyEntry[]): { offset: number; was: Buffer; bytes: Buffer }[] {
  const blocks = new Map<number, { readonly was: Buffer; readonly bytes: Buffer }>()
  for (const entry of entries) {
    const wanted = encodeEntries([entry])
    for (let block = firstBlock(ids.fences, wanted); block < ids.fences.length / 8; block++) {
      const was = blocks.get(block)?.was ?? ids.file.readSync(block * BLOCK_BYTES, BLOCK_BYTES)
      const bytes = blocks.get(block)?.bytes ?? Buffer.from(was)
      checkBlock(was)
      const end = entriesIn(ids.count, block) * ENTRY_BYTES
      let at = firstEntry(bytes, end, wanted.subarray(0, KEY_BYTES))
      while (at < end && compareEntries(bytes, at, wanted, 0) < 0) at += ENTRY_BYTES
      if (at === end) continue
      const isIt = compareEntries(bytes, at, wanted, 0) === 0
      if (!isIt || bytes.compare(wanted, 0, ENTRY_BYTES, at, at + ENTRY_BYTES) === 0) break
      wanted.copy(bytes, at)
      bytes.writeUInt32BE(crc32(bytes.subarray(0, BLOCK_BYTES - 4)), BLOCK_BYTES - 4)
      blocks.set(block, { was, bytes })
      break
    }
  }
  return [...blocks].map(([block, changed]) => ({ offset: block * BLOCK_BYTES, ...changed }))
}

/** Encoded entries in order, one behind the other, in large pieces so that a merge never holds a whole file. */
export async function* piecesOf(ids: IdFile): AsyncGenerator<Buffer> {
  const blocks = ids.fences.length / 8
  for (let block = 0; block < blocks; block += BLOCKS_AT_ONCE) {
    const count = Math.min(BLOCKS_AT_ONCE, blocks - block)
    const bytes = await ids.file.read(block * BLOCK_BYTES, count * BLOCK_BYTES)
    const piece = Buffer.allocUnsafe(count * BLOCK_ENTRIES_BYTES)
    let length = 0
    for (let i = 0; i < count; i++) {
      const one = bytes.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES)
      checkBlock(one)
      length += one.copy(piece, length, 0, entriesIn(ids.count, block + i) * ENTRY_BYTES)
    }
    yield piece.subarray(0, length)
  }
}

/** Writes an id file from encoded entries that come in order, in pieces of which each but the last fills whole blocks. The file must be empty. */
export async function writeIdFile(
  file: DiskFile,
  range: { readonly first: number; readonly end: number; readonly count: number },
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<IdFile> {
  const fences = Buffer.alloc(Math.ceil(range.count / ENTRIES_PER_BLOCK) * 8)
  const filter = emptyFilter(range.count)
  let block = 0
  for await (const piece of pieces) {
    const bytes = Buffer.alloc(Math.ceil(piece.length / BLOCK_ENTRIES_BYTES) * BLOCK_BYTES)
    for (let from = 0, to = 0; to < bytes.length; from += BLOCK_ENTRIES_BYTES, to += BLOCK_BYTES) {
      piece.copy(fences, block++ * 8, from, from + 8)
      piece.copy(bytes, to, from, from + BLOCK_ENTRIES_BYTES)
      bytes.writeUInt32BE(crc32(bytes.subarray(to, to + BLOCK_BYTES - 4)), to + BLOCK_BYTES - 4)
    }
    for (let at = 0; at < piece.length; at += ENTRY_BYTES) addTo(filter, piece, at)
    await writeAll(file, bytes)
  }
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
  return { file, ...range, fences, filter }
}

/** Places that fit behind the first digits of a key in one exact number. */
const ORDERED_MOST = 2 ** 21

/** By the first digits of their keys, as numbers, with their places behind them: to compare texts takes several times as long. */
function roughlySorted(entries: readonly KeyEntry[]): KeyEntry[] {
  const order = new Float64Array(entries.length)
  for (const [place, { key }] of entries.entries()) order[place] = Number.parseInt(key.slice(0, 8), 16) * ORDERED_MOST + place
  return Array.from(order.sort(), (number) => entries[number % ORDERED_MOST] as KeyEntry)
}

/** Entries one behind the other, in the order of an id file. */
export function encodeEntries(entries: readonly KeyEntry[]): Buffer {
  const sorted = entries.length > ORDERED_MOST ? [...entries] : roughlySorted(entries)
  // Hardly any begin alike.
  if (sorted.some((entry, place) => place > 0 && inOrder(sorted[place - 1] as KeyEntry, entry) > 0)) sorted.sort(inOrder)
  // All of them are turned from hex at once: a call for each field would take most of the time.
  let text = ''
  for (const { key, at, index, length, crc, digest } of sorted) {
    text += key + hex(at, 12) + hex(index, 4) + hex(length, 8) + crc + digest
  }
  return Buffer.from(text, 'hex')
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

function inOrder(a: KeyEntry, b: KeyEntry): number {
  if (a.key < b.key) return -1
  if (a.key > b.key) return 1
  return b.at - a.at || b.index - a.index
}

/** The same order, of encoded entries. */
export function compareEntries(a: Buffer, i: number, b: Buffer, j: number): number {
  return a.compare(b, j, j + KEY_BYTES, i, i + KEY_BYTES) || b.compare(a, i + KEY_BYTES, i + 24, j + KEY_BYTES, j + 24)
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

function checkBlock(block: Buffer): void {
  if (block.length !== BLOCK_BYTES || block.readUInt32BE(BLOCK_BYTES - 4) !== crc32(block.subarray(0, BLOCK_BYTES - 4)))
    throw new RottenIdFile()
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

/** Where in a block the first entry stands whose key is not below the wanted one. */
function firstEntry(block: Buffer, end: number, wanted: Buffer): number {
  let low = 0
  let high = end / ENTRY_BYTES
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = middle * ENTRY_BYTES
    if (block.compare(wanted, 0, KEY_BYTES, at, at + KEY_BYTES) < 0) low = middle + 1
    else high = middle
  }
  return low * ENTRY_BYTES
}

/** A filter of keys that stand in no file. */
export function filterOf(keys: ReadonlyMap<KeyHash, unknown>): Buffer {
  const filter = emptyFilter(keys.size)
  const bytes = Buffer.from([...keys.keys()].join(''), 'hex')
  for (let at = 0; at < bytes.length; at += KEY_BYTES) addTo(filter, bytes, at)
  return filter
}

function emptyFilter(count: number): Buffer {
  return Buffer.alloc(Math.max(8, Math.ceil((count * FILTER_BITS) / 8)))
}

/** Keys are hashes, so their own bits serve as independent probes. */
function addTo(filter: Buffer, bytes: Buffer, at: number): void {
  const step = bytes.readUInt32BE(at + 8) | 1
  let probe = bytes.readUInt32BE(at + 4)
  for (let i = 0; i < FILTER_PROBES; i++, probe = (probe + step) >>> 0) {
    const bit = probe % (filter.length * 8)
    filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7))
  }
}

async function writeAll(file: DiskFile, bytes: Buffer): Promise<void> {
  if ((await file.write(bytes)) !== bytes.length) throw Object.assign(new Error('short write'), { code: 'ENOSPC' })
}
