/**
 * One file of watermarks. It opens with a line of JSON that says which file it is, so that a copy is not taken for the original:
 *
 *     {"watermarks":2,"store":"…","nonce":"…","inode":…,"born":…,"device":…,"boot":"…","crc":"…"}\n
 *
 * Entries follow in any order, appended by any process. Each ends with a CRC-32 that starts from the file's nonce, so an entry of another
 * file, half an entry and a rotten one are all passed over. Numbers are little-endian.
 *
 *     watermark  16 hash of the name · 8 start · 4 length · 4 hash of the record's id · 4 checked · 4 crc             40 bytes
 *     name       16 hash of the name · 16 hash of the space · 1 + 24 slug · 4 marker · 4 crc                           65 bytes
 *
 * `checked` is the offset in this file up to which the writer had verified every watermark of that journal before it acknowledged the line. An
 * entry before that offset is therefore covered by this one.
 */
import { crc32 } from 'node:zlib'
import { encodeWithCrc, intactCrc } from '../../record/line.ts'
import type { Watermark } from '../../record/watermark.ts'
import type { DiskFile, FileStat } from './disk.ts'

/** What a file must say to be trusted, beside its own inode and birth time. */
export interface Origin {
  readonly store: string
  readonly boot: string
}

interface Header extends Origin {
  readonly nonce: string
  readonly inode: number
  readonly born: number
  readonly device: number
}

/** A watermark as it lies in a file. */
export interface Entry extends Watermark {
  readonly offset: number
  readonly checked: number
}

/** What a file says of one journal. */
interface Journalled {
  readonly entries: Entry[]
  name?: string
}

/** In version 1, journals of two spaces could share their watermarks. */
const VERSION = 2
const HASH_BYTES = 16
const MARK_BYTES = 40
const NAME_BYTES = 65
const SLUG_BYTES = 24
const MARKER = 0xffffffff
/** A header that is longer than this was not written here. */
const HEADER_BYTES = 1024
const NEWLINE = 0x0a
/** How many bytes before the end are compared: those of a checksum. */
const END_BYTES = 4

/**
 * A name is `<hash of the space>/<2 hex>/<slug>-<hash of the journal>`. Journals of two spaces can have the same hash, so both hashes
 * count. Combined like this, either of them follows from the result and the other.
 */
export function hashOfName(name: string): Buffer {
  return combined(Buffer.from(name.slice(0, 2 * HASH_BYTES), 'hex'), Buffer.from(name.slice(-2 * HASH_BYTES), 'hex'))
}

function combined(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(one.map((byte, i) => byte ^ (other[i] as number)))
}

export function encodeHeader({ store, boot }: Origin, nonce: string, { inode, createdMs, device }: FileStat): Buffer {
  return encodeWithCrc(JSON.stringify({ watermarks: VERSION, store, nonce, inode, born: createdMs, device, boot }))
}

/** What was read of one file. */
export class WatermarkFile {
  readonly path: string
  /** As it was opened. */
  readonly stat: FileStat
  readonly #seed: number
  readonly #bytes: Buffer
  /** A file that was cut and has grown again ends with other bytes. */
  readonly #end: Buffer
  readonly #file: DiskFile
  #closed = false

  private constructor(path: string, stat: FileStat, seed: number, bytes: Buffer, file: DiskFile) {
    this.path = path
    this.stat = stat
    this.#seed = seed
    this.#bytes = bytes
    this.#end = bytes.subarray(-END_BYTES)
    this.#file = file
  }

  /**
   * Reads a file; undefined if it cannot be trusted: it is a copy, belongs to another store, or its header is not whole. It stays open until this is closed.
   */
  static async read(path: string, file: DiskFile, origin: Origin): Promise<WatermarkFile | undefined> {
    const stat = file.stat()
    const bytes = await file.read(0, stat.size)
    const header = decodeHeader(bytes)
    if (header === undefined || !isTrusted(header, stat, origin)) return undefined
    return new WatermarkFile(path, stat, crc32(header.nonce), bytes, file)
  }

  /** How much of it was read. */
  get length(): number {
    return this.#bytes.length
  }

  /** Whether nothing was added to it since. Where its path names another file by now, something was: who takes a file away adds to it first. */
  get isCurrent(): boolean {
    return !this.#closed && this.#file.endsSync(this.length, this.#end)
  }

  /** What was read stays known. A failure to close says nothing about it. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#file.close().catch(() => undefined)
  }

  /** The same with what was added since, of another opening of the file; undefined if it was cut and has grown again. */
  async more(file: DiskFile): Promise<WatermarkFile | undefined> {
    const from = this.length - this.#end.length
    const read = await file.read(from, file.stat().size - from)
    if (!read.subarray(0, this.#end.length).equals(this.#end)) return undefined
    const bytes = Buffer.concat([this.#bytes, read.subarray(this.#end.length)])
    return new WatermarkFile(this.path, this.stat, this.#seed, bytes, file)
  }

  /** Every watermark of one journal. */
  entriesOf(journal: Buffer): Entry[] {
    const entries: Entry[] = []
    for (let at = this.#bytes.indexOf(journal); at !== -1; at = this.#bytes.indexOf(journal, at + 1)) {
      const entry = this.#markAt(at)
      if (entry !== undefined) entries.push(entry)
    }
    return entries
  }

  /** Whether the file says what a journal is called. */
  names(journal: Buffer): boolean {
    for (let at = this.#bytes.indexOf(journal); at !== -1; at = this.#bytes.indexOf(journal, at + 1)) {
      if (this.#nameAt(at) !== undefined) return true
    }
    return false
  }

  /** Every journal that has an entry from an offset on, with its watermarks and, where an entry says it, its name. */
  all(from = 0): Map<string, Journalled> {
    const all = new Map<string, Journalled>()
    for (let at = Math.max(from, this.#bytes.indexOf(NEWLINE) + 1); at + MARK_BYTES <= this.#bytes.length; ) {
      const entry = this.#markAt(at)
      const name = entry === undefined ? this.#nameAt(at) : undefined
      const journal = this.#bytes.toString('hex', at, at + HASH_BYTES)
      const known = all.get(journal) ?? { entries: [] }
      if (entry !== undefined) known.entries.push(entry)
      if (name !== undefined) known.name = name
      if (entry !== undefined || name !== undefined) all.set(journal, known)
      // Behind half an entry, the next one starts anywhere.
      at += entry !== undefined ? MARK_BYTES : name !== undefined ? NAME_BYTES : 1
    }
    return all
  }

  encodeMark(journal: Buffer, { start, end, idHash }: Watermark, checked: number): Buffer {
    const bytes = Buffer.alloc(MARK_BYTES)
    journal.copy(bytes)
    bytes.writeDoubleLE(start, HASH_BYTES)
    bytes.writeUInt32LE(end - start, 24)
    bytes.writeUInt32LE(idHash, 28)
    bytes.writeUInt32LE(checked, 32)
    return this.#signed(bytes)
  }

  encodeName(name: string): Buffer {
    const bytes = Buffer.alloc(NAME_BYTES)
    hashOfName(name).copy(bytes)
    bytes.write(name.slice(0, 2 * HASH_BYTES), HASH_BYTES, 'hex')
    const slug = name.slice(name.lastIndexOf('/') + 1, -2 * HASH_BYTES - 1)
    bytes.writeUInt8(slug.length, 2 * HASH_BYTES)
    bytes.write(slug, 2 * HASH_BYTES + 1, SLUG_BYTES, 'latin1')
    bytes.writeUInt32LE(MARKER, NAME_BYTES - 8)
    return this.#signed(bytes)
  }

  #markAt(at: number): Entry | undefined {
    if (!this.#isSigned(at, MARK_BYTES)) return undefined
    const start = this.#bytes.readDoubleLE(at + HASH_BYTES)
    const end = start + this.#bytes.readUInt32LE(at + 24)
    const checked = this.#bytes.readUInt32LE(at + 32)
    // An offset that lies ahead is of a file that was cut since.
    return { start, end, idHash: this.#bytes.readUInt32LE(at + 28), checked: checked <= at ? checked : 0, offset: at }
  }

  #nameAt(at: number): string | undefined {
    if (!this.#isSigned(at, NAME_BYTES) || this.#bytes.readUInt32LE(at + NAME_BYTES - 8) !== MARKER) return undefined
    const space = this.#bytes.subarray(at + HASH_BYTES, at + 2 * HASH_BYTES)
    const hash = combined(space, this.#bytes.subarray(at, at + HASH_BYTES)).toString('hex')
    const from = at + 2 * HASH_BYTES + 1
    const slug = this.#bytes.toString('latin1', from, from + this.#bytes.readUInt8(from - 1))
    return `${space.toString('hex')}/${hash.slice(0, 2)}/${slug}-${hash}`
  }

  #signed(bytes: Buffer): Buffer {
    bytes.writeUInt32LE(crc32(bytes.subarray(0, -4), this.#seed), bytes.length - 4)
    return bytes
  }

  #isSigned(at: number, length: number): boolean {
    const end = at + length
    if (end > this.#bytes.length) return false
    return this.#bytes.readUInt32LE(end - 4) === crc32(this.#bytes.subarray(at, end - 4), this.#seed)
  }
}

/** Those watermarks that no later one covers: of a journal that one process writes to, the last one. */
export function uncovered(entries: readonly Entry[]): Entry[] {
  const last = entries.reduce<Entry | undefined>((most, entry) => (most !== undefined && most.end > entry.end ? most : entry), undefined)
  const left = entries.filter((entry) => last === undefined || !covers(last, entry))
  return left.filter((entry) => !left.some((later) => covers(later, entry)))
}

function covers(later: Entry, entry: Entry): boolean {
  return later.end >= entry.end && later.checked > entry.offset
}

function decodeHeader(bytes: Buffer): Header | undefined {
  const end = bytes.subarray(0, HEADER_BYTES).indexOf(NEWLINE)
  if (end === -1 || intactCrc(bytes.subarray(0, end)) === undefined) return undefined
  try {
    const value = JSON.parse(bytes.toString('utf8', 0, end)) as Partial<Header> & { watermarks?: number }
    return value.watermarks === VERSION && typeof value.nonce === 'string' ? (value as Header) : undefined
  } catch {
    return undefined
  }
}

/** Inodes come back, birth times do not. Where the file system records none, only a file of this very boot can be known. */
function isTrusted(header: Header, { inode, createdMs, device }: FileStat, { store, boot }: Origin): boolean {
  if (header.store !== store || header.inode !== inode || header.born !== createdMs) return false
  return createdMs > 0 || (header.boot === boot && header.device === device)
}
