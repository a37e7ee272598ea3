/**
 * The line codec. It works on bytes: the checksum is compared before anything is decoded, and each line is decoded alone, so one
 * bad byte costs one line. Encoding is split in two, because a lost race changes only the end of a line: `encodeBody` makes the
 * text that stays, a `Group` adds what the place in the journal decides.
 */
import { crc32 } from 'node:zlib'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from './limits.ts'
import { isEncrypted, type LineCipher, type Open } from './line-cipher.ts'
import {
  type CheckpointDraft,
  type Draft,
  FORMAT_VERSION,
  isWrittenTwice,
  type JournalRecord,
  type JsonObject,
  type RecordType,
  type TextAround,
} from './record.ts'

/**
 * Every line begins behind one. It ends whatever a dead writer left behind the last newline, and the space spoils it: a torn or refused
 * line can never become a valid one because a later writer supplied its newline. Inside a group it keeps a rotten newline from
 * gluing two lines together, so that one bit costs one line.
 */
export const LEAD_IN = Buffer.from(' \n')

const NEWLINE = 0x0a
const SPACE = 0x20
const OPEN_BRACE = 0x7b
export const CRC_KEY = ',"crc":"'
/** `,"crc":"` + 8 digits + `"}` */
export const SUFFIX_LENGTH = CRC_KEY.length + 8 + 2

/** More than the stamps of both copies of a record and a seal behind it can take: a large record fills its segment, and its group ends it. */
const STAMP_BYTES = 500

const RESERVED: ReadonlySet<string> = new Set(['v', 'id', 'at', 'type', 'order', 'sealed', 'parent', 'prev', 'pos', 'base', 'crc'])

/** The part of a line that no race can change. */
export interface Body {
  /** With the closing brace, which the stamp replaces. */
  readonly text: string | TextAround
  /** As UTF-8. */
  readonly length: number
  /** With the payload as it will be read. */
  readonly draft: Draft
}

/** Where one record of a placed group stands: its first copy, which is the one that counts. */
export interface LinePlace {
  readonly at: number
  readonly end: number
  readonly crc: string
}

export function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}

/** Encodes what a race cannot change. Throws PAYLOAD_TOO_LARGE for a record that could not be written. `cipher` must be ready. */
export function encodeBody(draft: Draft, cipher?: LineCipher): Body {
  for (const field in draft.payload) {
    if (RESERVED.has(field)) throw new TypeError(`A payload must not have the field "${field}": it belongs to the record line.`)
  }
  // Not as one object: putting the fields of both into a third takes longer than writing them. Ids, times and types need no escapes.
  const order = draft.order === undefined ? '' : `,"order":"${draft.order}"`
  const head = `{"v":${FORMAT_VERSION},"id":"${draft.id}","at":"${draft.at}","type":"${draft.type}"${order}`
  // What a seal says of its segment is for everybody who reads it.
  const encrypts = cipher !== undefined && draft.type !== 'segment.sealed'
  if (typeof draft.text === 'object' && !encrypts) return within(bodyAround(draft, head, draft.text))
  const json = typeof draft.text === 'object' ? wholeText(draft.text) : (draft.text ?? JSON.stringify(draft.payload))
  const clean = wellFormed(json)
  const written = clean === json ? draft : { ...draft, payload: JSON.parse(clean) as JsonObject }
  const text = encrypts ? `${head},${cipher.payload(written, clean)}}` : clean === '{}' ? `${head}}` : `${head},${clean.slice(1)}`
  return within({ text, length: Buffer.byteLength(text), draft: written })
}

function wholeText([before, bytes, behind]: TextAround): string {
  return `${before}${textOf(bytes)}${behind}`
}

function textOf(bytes: Uint8Array): string {
  return (bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString('utf8')
}

/** Bytes need no encoding: they are copied once, into the group. */
function bodyAround(draft: Draft, head: string, [before, bytes, behind]: TextAround): Body {
  const text = [`${head},${before.slice(1)}`, bytes, behind] as const
  return { text, length: Buffer.byteLength(text[0]) + bytes.length + Buffer.byteLength(behind), draft }
}

function within(body: Body): Body {
  const size = sizeOf(body)
  if (size > LIMITS.recordBytes) {
    throw new HoldfastError(
      'PAYLOAD_TOO_LARGE',
      `A record of ${size} bytes is over the limit of ${LIMITS.recordBytes}. Split it into smaller ones.`,
      {
        details: { bytes: size, limit: LIMITS.recordBytes },
      },
    )
  }
  return body
}

/**
 * The bytes to append at one place of a journal: lines, each behind a lead-in, stamped with its own position and chained to the one
 * before. If the group turns out to belong elsewhere, a new one is built from the same bodies.
 */
export class Group {
  readonly at: number
  #end: number
  #prev: string
  #bytes = Buffer.alloc(0)
  #last: LinePlace | undefined

  /** `prev` is the crc of the last record that counted before this place. */
  constructor(at: number, prev: string) {
    this.at = at
    this.#end = at
    this.#prev = prev
  }

  get prev(): string {
    return this.#prev
  }

  get length(): number {
    return this.#end - this.at
  }

  /** The last line: the second copy, if the last record is written twice. */
  get last(): LinePlace | undefined {
    return this.#last
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.length)
  }

  fits(body: Body): boolean {
    return this.length + sizeOf(body) <= LIMITS.groupBytes
  }

  add(body: Body): LinePlace {
    this.#makeRoom(this.length + sizeOf(body))
    const prev = this.#prev
    const first = this.#line(body, prev)
    for (let copy = 1; copy < copiesOf(body); copy++) this.#line(body, prev)
    this.#prev = first.crc
    return first
  }

  #line(body: Body, prev: string): LinePlace {
    const bytes = this.#bytes
    const begin = this.length + LEAD_IN.length
    const at = this.at + begin
    const parent = body.draft.parent === undefined ? '' : `,"parent":[${body.draft.parent[0]},${body.draft.parent[1]}]`
    bytes.set(LEAD_IN, this.length)
    let end = begin + write(bytes, body.text, begin) - 1
    end += bytes.write(`${parent},"prev":"${prev}","pos":${at}`, end, 'latin1')
    const crc = hex(crc32(bytes.subarray(begin, end)))
    end += bytes.write(`${CRC_KEY}${crc}"}\n`, end, 'latin1')
    this.#end = this.at + end
    this.#last = { at, end: this.#end, crc }
    return this.#last
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return
    // What is large is mostly followed by more of the kind: a group is closed soon behind its target, and need not be copied on the way there.
    const least = length > LIMITS.groupTargetBytes / 4 ? (3 / 2) * LIMITS.groupTargetBytes : 0
    const grown = Buffer.allocUnsafe(Math.max(length, least, 2 * this.#bytes.length))
    this.#bytes.copy(grown, 0, 0, this.length)
    this.#bytes = grown
  }
}

function write(bytes: Buffer, text: Body['text'], at: number): number {
  if (typeof text === 'string') return bytes.write(text, at)
  const begin = at + bytes.write(text[0], at)
  bytes.set(text[1], begin)
  const end = begin + text[1].length
  return end + bytes.write(text[2], end) - at
}

/** The most that a record can take in a group. */
function sizeOf(body: Body): number {
  return LEAD_IN.length + body.length * copiesOf(body) + STAMP_BYTES
}

function copiesOf({ draft: { type } }: Body): number {
  return isWrittenTwice({ v: FORMAT_VERSION, type }) ? 2 : 1
}

/** One checkpoint line, with its newline. `cipher` must be ready. */
export function encodeCheckpoint(draft: CheckpointDraft, cipher?: LineCipher): Buffer {
  const { base, id, at, prev, carries, unrooted = false } = draft
  const flag = unrooted ? { unrooted } : {}
  const { sealed, state } = cipher === undefined ? { sealed: undefined, state: draft.state } : cipher.state(draft)
  const checkpoint = { v: FORMAT_VERSION, id, at, type: 'checkpoint', sealed, base, carries, ...flag, state, prev }
  return encodeWithCrc(wellFormed(JSON.stringify(checkpoint)))
}

/** A line of its own, with its newline: a JSON object that has at least one field, closed by the checksum of all before it. */
export function encodeWithCrc(json: string): Buffer {
  const bytes = Buffer.from(json.slice(0, -1))
  return Buffer.concat([bytes, Buffer.from(`${CRC_KEY}${hex(crc32(bytes))}"}\n`, 'latin1')])
}

export function isBlank(line: Uint8Array): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === SPACE)
}

/** The crc of an intact line, or undefined: the one test of whether bytes are what somebody wrote. */
export function intactCrc(line: Uint8Array): string | undefined {
  const split = line.length - SUFFIX_LENGTH
  if (split < 1 || line[0] !== OPEN_BRACE) return undefined
  const crc = hex(crc32(line.subarray(0, split)))
  // Byte by byte: to make a text of them first takes longer than all of this.
  const suffix = `${CRC_KEY}${crc}"}`
  for (let i = 0; i < SUFFIX_LENGTH; i++) if (line[split + i] !== suffix.charCodeAt(i)) return undefined
  return crc
}

/** Ids and times are always as long as these. */
const TYPE_AT = `{"v":${FORMAT_VERSION},"id":"00000000-0000-7000-8000-000000000000","at":"2026-11-15T09:30:00.123Z"`.length
const TYPE_KEY = ',"type":"'
/** Only a checkpoint has no position at its end. */
export const CHECKPOINT_END = /"prev":"[0-9a-f]{8}","crc":"[0-9a-f]{8}"\}$/

/** Whether a line tells, without being read, that it is a record of another type. */
export function isOfOtherType(line: Uint8Array, type: RecordType): boolean {
  const text = textOf(line.subarray(TYPE_AT, TYPE_AT + TYPE_KEY.length + type.length + 1))
  return text.startsWith(TYPE_KEY) && text !== `${TYPE_KEY}${type}"`
}

/**
 * How a line that is not intact looks. `torn`: a fragment that the next writer's lead-in ended, or the rest of a checkpoint that two processes wrote at
 * once. `zeros`: a page that never reached the disk.
 */
export type DamageKind = 'torn' | 'zeros' | 'rotten'

export type Decoded =
  | { readonly kind: 'blank' }
  | { readonly kind: 'damage'; readonly as: DamageKind }
  | { readonly kind: 'record'; readonly record: JournalRecord; readonly crc: string }

/** Decodes one line (without its newline). Throws UNSUPPORTED_VERSION for an intact line of a newer format. */
export function decodeLine(line: Uint8Array): Decoded {
  if (isBlank(line)) return { kind: 'blank' }
  const crc = intactCrc(line)
  if (crc === undefined) return { kind: 'damage', as: damageKind(line) }
  const record = parseRecord(line)
  return record === undefined ? { kind: 'damage', as: 'rotten' } : { kind: 'record', record, crc }
}

/** The same of a line of a journal, decrypted if it is encrypted. */
export function readLine(line: Line): Decoded {
  const decoded = decodeLine(line.bytes)
  if (decoded.kind !== 'record') return decoded
  const record = openRecord(decoded.record, line)
  return record === undefined ? { kind: 'damage', as: 'rotten' } : { ...decoded, record }
}

/** Of a line that is not intact. */
export function damageKind(line: Uint8Array): DamageKind {
  // One zero byte inside of a line may be a flipped bit. A page that was not written has many, or only the first or last byte of the line.
  const [first, last] = [line.indexOf(0), line.lastIndexOf(0)]
  if (first !== -1 && (first === 0 || first < last || last === line.length - 1)) return 'zeros'
  if (crcBeforeRottenNewline(line) !== undefined) return 'rotten'
  return line[line.length - 1] === SPACE || isRestOfCheckpoint(line) ? 'torn' : 'rotten'
}

/** The checksum of an intact line whose newline rotted, so that it ends with the space of the next lead-in. A writer that died writes no byte in its place. */
export function crcBeforeRottenNewline(line: Uint8Array): string | undefined {
  return line[line.length - 1] === SPACE ? intactCrc(line.subarray(0, -LEAD_IN.length)) : undefined
}

/** Every line starts with its version. */
function isRestOfCheckpoint(line: Uint8Array): boolean {
  return textOf(line.subarray(0, 5)) !== '{"v":' && CHECKPOINT_END.test(textOf(line.subarray(-40)))
}

/** A line whose checksum fits was written by somebody; if it is still no record, it was not written by Holdfast. */
function parseRecord(line: Uint8Array): JournalRecord | undefined {
  let value: unknown
  try {
    value = JSON.parse(textOf(line))
  } catch {
    return undefined
  }
  const record = value as Partial<JournalRecord>
  if (!Number.isSafeInteger(record.v) || (record.v as number) < 1) return undefined
  if ((record.v as number) > FORMAT_VERSION) {
    throw new HoldfastError(
      'UNSUPPORTED_VERSION',
      `This journal has records of format ${record.v}; this software reads up to ${FORMAT_VERSION}. Use a newer Holdfast.`,
      {
        details: { found: record.v, supported: FORMAT_VERSION },
      },
    )
  }
  if (typeof record.id !== 'string' || typeof record.type !== 'string' || typeof record.at !== 'string') return undefined
  if (record.type === 'checkpoint' ? !Number.isSafeInteger(record.base) : !Number.isSafeInteger(record.pos)) return undefined
  return record as JournalRecord
}

/** Splits bytes into whole lines; what stands behind the last newline is not there yet. */
export function splitLines(bytes: Uint8Array, at: number): { lines: Line[]; next: number } {
  const lines: Line[] = []
  let begin = 0
  for (;;) {
    const newline = bytes.indexOf(NEWLINE, begin)
    if (newline === -1) break
    lines.push({ at: at + begin, bytes: bytes.subarray(begin, newline) })
    begin = newline + 1
  }
  return { lines, next: at + begin }
}

/** A line as it stands in a journal: the position of its first byte, and its bytes without the newline. */
export interface Line {
  readonly at: number
  readonly bytes: Uint8Array
  /** Decrypts it, if it is encrypted and the reader has the key. */
  readonly open?: Open
}

/** A record as its line has it, decrypted if possible; undefined if it was encrypted as something else. */
export function openRecord(record: JournalRecord, { open }: Line): JournalRecord | undefined {
  return open === undefined || !isEncrypted(record) ? record : open(record)
}

/**
 * `JSON.stringify` writes a lone surrogate as an escape and a pair as itself, so such an escape betrays text that is not
 * well-formed. Many readers of JSON refuse it; it becomes U+FFFD on the way in.
 */
function wellFormed(json: string): string {
  if (!json.includes('\\ud')) return json
  return JSON.stringify(mapStrings(JSON.parse(json)))
}

function mapStrings(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mapStrings)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), mapStrings(item)]))
}
