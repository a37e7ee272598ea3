/** Files beside the journals: sections "Id files", "Watermarks" and "The feed" of docs/format.md. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Counted } from './journal.ts'
import { checksumOf, linesIn } from './line.ts'
import { messageId } from './messages.ts'

/** A key of a record: what makes a call that is sent twice happen once. */
export interface Key {
  readonly key: string
  readonly index: number
  readonly digest: string
}

const NO_DIGEST = '0'.repeat(32)

function hashed(kind: 'message' | 'operation' | 'replacement' | 'entry', text: string): string {
  return sha256(`${kind} ${text}`)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** The keys that a decrypted record holds. */
export function keysOf(counted: Counted): Key[] {
  const { record } = counted
  const keys: Key[] = []
  if (typeof record.key === 'string') keys.push({ key: hashed('operation', record.key), index: 0, digest: record.digest as string })
  if (record.type === 'messages.appended') {
    const { messages, ids } = record as unknown as { messages: unknown[]; ids?: (string | null)[] }
    messages.forEach((message, index) => {
      const isGiven = typeof ids?.[index] === 'string'
      const digest = isGiven ? sha256(JSON.stringify(message)) : NO_DIGEST
      keys.push({ key: hashed('message', messageId(counted, index, ids)), index, digest })
    })
  }
  if (record.type === 'message.replaced' || record.type === 'message.erased')
    keys.push({ key: hashed('replacement', record.target as string), index: 0, digest: NO_DIGEST })
  const entries = (record.entries ?? []) as { channel: string; key: string }[]
  const last = new Map(entries.map(({ channel, key }, index) => [hashed('entry', JSON.stringify([channel, key])), index]))
  return [...keys, ...[...last].map(([key, index]) => ({ key, index, digest: NO_DIGEST }))]
}

export interface IdEntry extends Key {
  readonly at: number
  readonly length: number
  readonly crc: string
}

export interface IdFile {
  readonly first: number
  readonly end: number
  readonly entries: readonly IdEntry[]
  /** Whether the filter may hold a key. */
  readonly mayHold: (key: string) => boolean
}

/** Undefined if the file is not whole: then a reader ignores it. */
export function readIdFile(bytes: Buffer): IdFile | undefined {
  const trailer = bytes.subarray(-64)
  if (trailer.toString('latin1', 0, 8) !== 'HFIDS003' || trailer.readUInt32BE(60) !== crc32(trailer.subarray(0, 60))) return undefined
  const [count, filterBytes] = [trailer.readUInt32BE(24), trailer.readUInt32BE(28)]
  const blocks = Math.ceil(count / 85)
  if (bytes.length !== blocks * 4096 + blocks * 8 + filterBytes + 64) return undefined
  const footer = bytes.subarray(blocks * 4096, -64)
  if (crc32(footer) !== trailer.readUInt32BE(32)) return undefined
  const entries: IdEntry[] = []
  for (let i = 0; i < count; i++) {
    const block = bytes.subarray(Math.floor(i / 85) * 4096).subarray(0, 4096)
    if (block.readUInt32BE(4092) !== crc32(block.subarray(0, 4092))) return undefined
    const entry = block.subarray((i % 85) * 48, (i % 85) * 48 + 48)
    if (i % 85 === 0 && !footer.subarray((i / 85) * 8, (i / 85) * 8 + 8).equals(entry.subarray(0, 8))) return undefined
    entries.push({
      key: entry.toString('hex', 0, 16),
      at: entry.readUIntBE(16, 6),
      index: entry.readUInt16BE(22),
      length: entry.readUInt32BE(24),
      crc: entry.toString('hex', 28, 32),
      digest: entry.toString('hex', 32, 48),
    })
  }
  const filter = footer.subarray(blocks * 8)
  const [first, end] = [Number(trailer.readBigUInt64BE(8)), Number(trailer.readBigUInt64BE(16))]
  return { first, end, entries, mayHold: (key) => isInFilter(filter, Buffer.from(key, 'hex')) }
}

function isInFilter(filter: Buffer, key: Buffer): boolean {
  const step = (key.readUInt32BE(8) | 1) >>> 0
  return Array.from({ length: 10 }, (_, i) => ((key.readUInt32BE(4) + i * step) % 2 ** 32) % (filter.length * 8)).every(
    (bit) => ((filter[bit >>> 3] as number) & (1 << (bit & 7))) !== 0,
  )
}

interface WatermarkEntry {
  readonly start: number
  readonly end: number
  readonly idHash: number
  readonly checked: number
}

export interface WatermarkFile {
  readonly header: { readonly watermarks: number; readonly store: string; readonly inode: number; readonly born: number }
  /** By the name of the journal. */
  readonly marks: ReadonlyMap<string, readonly WatermarkEntry[]>
}

export function readWatermarks(bytes: Buffer): WatermarkFile {
  const end = bytes.indexOf(10)
  const line = bytes.subarray(0, end)
  if (checksumOf(line) === undefined) throw new Error('The header of the watermarks is not intact')
  const header = JSON.parse(line.toString('utf8')) as WatermarkFile['header'] & { nonce: string }
  const names = new Map<string, string>()
  const found = new Map<string, WatermarkEntry[]>()
  const isSigned = (at: number, length: number) =>
    at + length <= bytes.length && bytes.readUInt32LE(at + length - 4) === crc32(bytes.subarray(at, at + length - 4), crc32(header.nonce))
  for (let at = end + 1; at + 40 <= bytes.length; ) {
    const hash = bytes.toString('hex', at, at + 16)
    if (isSigned(at, 40)) {
      const start = bytes.readDoubleLE(at + 16)
      const mark = {
        start,
        end: start + bytes.readUInt32LE(at + 24),
        idHash: bytes.readUInt32LE(at + 28),
        checked: bytes.readUInt32LE(at + 32),
      }
      found.set(hash, [...(found.get(hash) ?? []), mark])
      at += 40
    } else if (isSigned(at, 65) && bytes.readUInt32LE(at + 57) === 0xffffffff) {
      names.set(hash, nameIn(bytes.subarray(at, at + 65)))
      at += 65
    } else at++
  }
  return { header, marks: new Map([...found].map(([hash, marks]) => [names.get(hash) ?? hash, marks])) }
}

function nameIn(entry: Buffer): string {
  const [mixed, space] = [entry.subarray(0, 16), entry.subarray(16, 32)]
  const digest = Buffer.from(mixed.map((byte, i) => byte ^ (space[i] as number))).toString('hex')
  const slug = entry.toString('latin1', 33, 33 + (entry[32] as number))
  return `${space.toString('hex')}/${digest.slice(0, 2)}/${slug}-${digest}`
}

/** The journals that a file of the feed names; undefined in the place of a line that cannot be trusted. */
export function readFeed(bytes: Buffer): (string | undefined)[] {
  const lines = linesIn(bytes, 0).filter((line) => line.bytes.length > 0)
  return lines.map((line) => {
    const [name, checksum] = JSON.parse(line.bytes.toString('utf8')) as [string, string]
    return checksum === crc32(name).toString(16).padStart(8, '0') ? name : undefined
  })
}
