/** Lines and checksums: sections "The line" and "Damage" of docs/format.md. */
import { crc32 } from 'node:zlib'

/** An intact line, decoded. What a field means depends on the type of the record. */
export interface JournalLine {
  readonly v: number
  readonly id: string
  readonly at: string
  readonly type: string
  readonly prev: string
  readonly pos?: number
  readonly base?: number
  readonly sealed?: string
  readonly parent?: readonly [number, number]
  readonly [field: string]: unknown
}

export type Judged =
  | { readonly kind: 'blank' }
  | { readonly kind: 'damage'; readonly as: 'torn' | 'zeros' | 'rotten' }
  | { readonly kind: 'line'; readonly line: JournalLine; readonly crc: string }

export interface RawLine {
  /** The position of the first byte. */
  readonly at: number
  /** Without the newline. */
  readonly bytes: Buffer
}

const SUFFIX_BYTES = ',"crc":"00000000"}'.length
const NEWEST_VERSION = 2

/** Whole lines. Bytes after the last newline do not count yet. */
export function linesIn(bytes: Buffer, first: number): RawLine[] {
  const lines: RawLine[] = []
  for (let begin = 0, end = bytes.indexOf(10); end !== -1; begin = end + 1, end = bytes.indexOf(10, begin))
    lines.push({ at: first + begin, bytes: bytes.subarray(begin, end) })
  return lines
}

/** The checksum of an intact line; undefined if it is not intact. */
export function checksumOf(bytes: Buffer): string | undefined {
  const split = bytes.length - SUFFIX_BYTES
  if (split < 1 || bytes[0] !== 0x7b) return undefined
  const crc = crc32(bytes.subarray(0, split)).toString(16).padStart(8, '0')
  return bytes.toString('latin1', split) === `,"crc":"${crc}"}` ? crc : undefined
}

export function judge(bytes: Buffer): Judged {
  if (bytes.length === 0 || bytes.equals(Buffer.from(' '))) return { kind: 'blank' }
  const crc = checksumOf(bytes)
  const line = crc === undefined ? undefined : parsed(bytes)
  return crc === undefined || line === undefined ? { kind: 'damage', as: lookOf(bytes) } : { kind: 'line', line, crc }
}

function parsed(bytes: Buffer): JournalLine | undefined {
  let line: JournalLine
  try {
    line = JSON.parse(bytes.toString('utf8')) as JournalLine
  } catch {
    return undefined
  }
  if (!Number.isSafeInteger(line.v) || line.v < 1) return undefined
  if (line.v > NEWEST_VERSION) throw new Error(`UNSUPPORTED_VERSION: a line of format ${line.v}`)
  const place = line.type === 'checkpoint' ? line.base : line.pos
  const isRecord = [line.id, line.at, line.type].every((field) => typeof field === 'string') && Number.isSafeInteger(place)
  return isRecord ? line : undefined
}

function lookOf(bytes: Buffer): 'torn' | 'zeros' | 'rotten' {
  const [first, last] = [bytes.indexOf(0), bytes.lastIndexOf(0)]
  if (first !== -1 && (first === 0 || first !== last || last === bytes.length - 1)) return 'zeros'
  if (bytes.at(-1) === 0x20) return checksumOf(bytes.subarray(0, -2)) === undefined ? 'torn' : 'rotten'
  const isRestOfCheckpoint = !bytes.toString('latin1', 0, 5).startsWith('{"v":') && /"prev":"[0-9a-f]{8}","crc":"[0-9a-f]{8}"\}$/
  return isRestOfCheckpoint !== false && isRestOfCheckpoint.test(bytes.toString('latin1').slice(-40)) ? 'torn' : 'rotten'
}

/** Written once, in format 2; every other type is written twice. */
const ONCE = ['messages.appended', 'message.replaced', 'entry.put', 'commit.leased', 'segment.sealed', 'checkpoint']
/** Written twice, in format 1; every other type is written once. */
const TWICE_IN_1 = [
  'session.created',
  'session.deleted',
  'session.restored',
  'share.revoked',
  'message.erased',
  'memories.retracted',
  'commit.requested',
]

export function isWrittenTwice({ v, type }: JournalLine): boolean {
  return v === 1 ? TWICE_IN_1.includes(type) : !ONCE.includes(type)
}

/** Where the first copy of a record begins whose second copy is this line. */
export function firstCopyAt({ at, bytes }: RawLine): number | undefined {
  for (let digits = 1; digits <= String(at).length; digits++) {
    const first = at - 3 - (bytes.length - String(at).length + digits)
    if (first >= 0 && String(first).length === digits) return first
  }
  return undefined
}
