/**
 * Lines of foreign files, read with tolerance. Bytes come first: they are split at newlines only, each line is decoded alone, and what does
 * not parse is looked through for whole records (salvage.ts). Nothing stops the reader, and nothing is passed over in silence: what is
 * left of a line is told with its place and its bytes.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { LIMITS } from '../record/limits.ts'
import type { Json, JsonObject } from '../record/record.ts'
import { hasFewBrackets } from '../session/check.ts'
import type { DamageItem, SourceFile } from './item.ts'
import { DocumentSalvage, type IsRecord, isTooDeep, parsed, type Span, salvage } from './salvage.ts'
import { asObject, asObjects } from './values.ts'

/** What stands at one place: a record, or damage. */
export type Read = ReadRecord | DamageItem

export interface ReadRecord {
  readonly record: JsonObject
  readonly recovered: boolean
  readonly line: number
  readonly offset: number
  /** The line as it stands, if it is whole and nothing is around it. */
  readonly raw?: Raw
}

/** A line that is one record. The bytes hold until the next bunch is asked for. */
export interface Raw {
  readonly text: string
  readonly bytes: Uint8Array
  /** Whether any part of it that is JSON can be kept in the bytes that it has: a byte for each character, no half of a surrogate pair, and not nested deeply. */
  readonly isPlain: boolean
}

const NEWLINE = 0x0a
/** So many records go together: few enough to be garbage before anybody collects it. */
const BUNCH = 32
/** A line, or a document, that is longer is not read into memory. */
const LINE_BYTES = 64 * 1024 * 1024
const DOCUMENT_BYTES = 400 * 1024 * 1024
/** So much of a damaged stretch is kept for the quarantine. */
const KEPT_BYTES = 1024 * 1024
const TOO_DEEP = 'Nested too deeply to be kept.'

interface RawLine {
  readonly number: number
  readonly offset: number
  readonly bytes: Buffer
  /** More than `bytes` has, if the line is too long. */
  readonly length: number
}

/** The records of a file with one JSON object a line, in bunches: to wait for each of them alone would take longer than to read it. */
export async function* readRecords(file: SourceFile, isRecord: IsRecord): AsyncGenerator<Read[]> {
  for await (const lines of readLines(file.read())) {
    let found: Read[] = []
    for (const line of lines) {
      // Before anything is parsed: a refusal takes a hundred times as long as a look.
      if (line.length === 0) continue
      const plain = plainRecord(line, isRecord)
      if (plain !== undefined) found.push(plain)
      else found.push(...recordsIn(file.path, line, isRecord))
      if (found.length < BUNCH) continue
      yield found
      found = []
    }
    if (found.length > 0) yield found
  }
}

/** The record of a line with which nothing is wrong. */
function plainRecord({ number, offset, bytes, length }: RawLine, isRecord: IsRecord): Read | undefined {
  const isPlainText = isAscii(bytes)
  if (number === 1 || length > bytes.length || !(isPlainText || isUtf8(bytes))) return undefined
  // A byte for each character: then there is nothing to decode.
  const text = bytes.toString(isPlainText ? 'latin1' : 'utf8')
  const isShallow = hasFewBrackets(text, LIMITS.jsonDepth)
  const record = asObject(parsed(text, isShallow))
  if (record === undefined || !isRecord(record)) return undefined
  const isPlain = isShallow && isPlainText && !text.includes('\\ud')
  return { record, recovered: false, line: number, offset, raw: { text, bytes, isPlain } }
}

function* recordsIn(path: string, { number, offset, bytes, length }: RawLine, isRecord: IsRecord): Generator<Read> {
  const damage = (reason: string, { from, to }: Span): DamageItem => ({
    kind: 'damage',
    session: null,
    place: { file: path, line: number, offset: offset + from, length: to - from },
    reason,
    bytes: Buffer.from(bytes.subarray(from, Math.min(to, from + KEPT_BYTES))),
  })
  if (length > bytes.length) {
    yield damage('The line is too long.', { from: 0, to: length })
    return
  }
  const intact = isUtf8(bytes)
  let text = bytes.toString('utf8')
  if (number === 1 && text.startsWith('\ufeff')) text = text.slice(1)
  const record = asObject(parsed(text))
  if (record !== undefined && isRecord(record)) {
    if (!intact) yield damage('Bytes that are not UTF-8; the record was read without them.', { from: 0, to: length })
    yield { record, recovered: !intact, line: number, offset }
    return
  }
  // A line of nothing, or of the zeros of a page that never reached the disk.
  if (/^[\s\0]*$/.test(text)) {
    if (text.includes('\0')) yield damage('Zeros, as after a power loss.', { from: 0, to: length })
    return
  }
  if (record !== undefined) {
    yield damage('An object that this format does not have.', { from: 0, to: length })
    return
  }
  if (isTooDeep(text)) {
    yield damage(TOO_DEEP, { from: 0, to: length })
    return
  }
  const { values, lost } = salvage(text, isRecord)
  for (const value of values) yield { record: value, recovered: true, line: number, offset }
  for (const span of lost) yield damage('Not JSON: torn, glued or overwritten.', inBytes(text, span, length))
}

/** A span of characters as one of bytes. Where characters stand for spoiled bytes, it is only about right. */
function inBytes(text: string, { from, to }: Span, length: number): Span {
  const begin = Buffer.byteLength(text.slice(0, from))
  return { from: Math.min(begin, length), to: Math.min(begin + Buffer.byteLength(text.slice(from, to)), length) }
}

/** Lines as they lie in the bytes, in bunches: as many as one chunk ends. The last one counts even without its newline. */
async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RawLine[]> {
  let [number, offset] = [1, 0]
  let parts: Buffer[] = []
  let [kept, length] = [0, 0]
  const grow = (part: Buffer): void => {
    length += part.length
    if (kept + part.length > LINE_BYTES) return
    kept += part.length
    parts.push(part)
  }
  const end = (): RawLine => {
    const bytes = trimmed(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts))
    const line = { number, offset, bytes, length: length > kept ? length : bytes.length }
    number++
    offset += length + 1
    parts = []
    kept = 0
    length = 0
    return line
  }
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const lines: RawLine[] = []
    let from = 0
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
      grow(bytes.subarray(from, at))
      lines.push(end())
      from = at + 1
    }
    // Copied: whoever reads may use its memory for the next chunk.
    if (from < bytes.length) grow(Buffer.from(bytes.subarray(from)))
    yield lines
  }
  if (length > 0) yield [end()]
}

function trimmed(bytes: Buffer): Buffer {
  return bytes[bytes.length - 1] === 0x0d ? bytes.subarray(0, -1) : bytes
}

interface ReadText {
  readonly text: string
  /** Of the file, in bytes. */
  readonly length: number
  readonly damage: readonly DamageItem[]
}

/** All bytes of a file as text; damage if it is too long. */
export async function readText(file: SourceFile): Promise<ReadText> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of file.read()) {
    length += chunk.length
    if (length > DOCUMENT_BYTES) {
      const place = { file: file.path, line: null, offset: 0, length }
      return {
        text: '',
        length,
        damage: [{ kind: 'damage', session: null, place, reason: 'The document is too long.', bytes: new Uint8Array() }],
      }
    }
    parts.push(Buffer.from(chunk))
  }
  const bytes = Buffer.concat(parts)
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  if (isUtf8(bytes)) return { text, length, damage: [] }
  const place = { file: file.path, line: null, offset: 0, length: bytes.length }
  const reason = 'Bytes that are not UTF-8; the document was read without them.'
  return { text, length, damage: [{ kind: 'damage', session: null, place, reason, bytes: bytes.subarray(0, KEPT_BYTES) }] }
}

export interface ReadDocument {
  /** Undefined if nothing of it can be read. */
  readonly value: JsonObject | readonly JsonObject[] | undefined
  readonly damage: readonly DamageItem[]
  readonly recovered: boolean
}

/** A file that is one JSON document; as far as it goes, if it is damaged. `arrays`: the fields that hold its records. */
export async function readDocument(file: SourceFile, arrays: readonly string[], isRecord: IsRecord): Promise<ReadDocument> {
  const { text, length, damage } = await readText(file)
  const whole = documentOf(parsed(text))
  if (whole !== undefined) return { value: whole, damage, recovered: damage.length > 0 }
  const reader = new DocumentSalvage(text, arrays, isRecord)
  const value = documentOf(reader.read())
  const spans = value === undefined || reader.lost.length === 0 ? [{ from: 0, to: text.length }] : reader.lost
  const reason = isTooDeep(text) ? TOO_DEEP : value === undefined ? 'Not JSON.' : 'Not JSON: cut off or overwritten.'
  const lost = spans.map((span): DamageItem => {
    const { from, to } = inBytes(text, span, length)
    const bytes = Buffer.from(text.slice(span.from, Math.min(span.to, span.from + KEPT_BYTES)))
    return { kind: 'damage', session: null, place: { file: file.path, line: null, offset: from, length: to - from }, reason, bytes }
  })
  // Closed early, with nothing else lost: what is open at its end is the damage, and takes no bytes.
  const cut = value !== undefined && reader.lost.length === 0 ? [cutShort(file.path, length)] : lost
  return { value, damage: [...damage, ...cut], recovered: true }
}

function cutShort(file: string, length: number): DamageItem {
  const place = { file, line: null, offset: length, length: 0 }
  return { kind: 'damage', session: null, place, reason: 'Cut off: the document does not end.', bytes: new Uint8Array() }
}

function documentOf(value: unknown): JsonObject | readonly JsonObject[] | undefined {
  return Array.isArray(value) ? asObjects(value as Json) : asObject(value as Json)
}
