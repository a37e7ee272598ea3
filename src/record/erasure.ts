/**
 * Taking values out of a line that stands: each is written over by another one, of any length up to its own, and spaces behind it, which JSON
 * does not see. So the line keeps its length and its place, everything else in it stays as it was, and only its checksum is another.
 *
 * What is written over is told by bytes, `from` and `to` inside of the line: a line that was torn while it was written over can be put right
 * by writing the same bytes again, because outside of them nothing had changed.
 */
import { crc32 } from 'node:zlib'

/** Where a value stands in the JSON of a line: names of fields, and indexes. */
export type Path = readonly (string | number)[]

/** A value to be written over, and the JSON that takes its place. */
export interface Part {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Bytes of that line, the JSON that takes their place, and which value of the record they are: a copy of it may have it elsewhere. */
export interface ErasedPart extends Part {
  readonly path: Path
}

/** A record of this journal whose line is written over. */
export interface ErasedLine {
  readonly at: number
  /** Its id. */
  readonly record: string
  /** Its checksum before, and since. */
  readonly old: string
  readonly new: string
  readonly parts: readonly ErasedPart[]
}

const [SPACE, QUOTE, COMMA, OPEN_BRACKET, BACKSLASH, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [
  0x20, 0x22, 0x2c, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
]

/** `,"crc":"` + 8 digits + `"}` */
const CRC_DIGITS_BYTES = 8
const CRC_TAIL_BYTES = 2
const SUFFIX_BYTES = ',"crc":"'.length + CRC_DIGITS_BYTES + CRC_TAIL_BYTES

/** The bytes of a value; undefined if there is none. The line must be JSON. */
export function rangeOf(line: Uint8Array, path: Path): { from: number; to: number } | undefined {
  let at = skipSpaces(line, 0)
  for (const step of path) {
    const found = typeof step === 'number' ? itemAt(line, at, step) : fieldAt(line, at, step)
    if (found === undefined) return undefined
    at = found
  }
  return { from: at, to: endOfValue(line, at) }
}

/** A line with values written over, and its new checksum. What does not fit becomes the empty value of its kind. */
export function overwritten(line: Uint8Array, parts: readonly Part[]): { bytes: Buffer; crc: string } {
  const bytes = Buffer.from(line)
  for (const { from, to, text } of parts) {
    bytes.fill(SPACE, from, to)
    bytes.write(text, from)
  }
  const crc = crc32(bytes.subarray(0, bytes.length - SUFFIX_BYTES))
    .toString(16)
    .padStart(CRC_DIGITS_BYTES, '0')
  bytes.write(crc, bytes.length - CRC_TAIL_BYTES - CRC_DIGITS_BYTES, 'latin1')
  return { bytes, crc }
}

/** The part for a value: the wanted JSON if it fits, else the other one, which must be as short as a value of its kind can be. */
export function partOf(line: Uint8Array, path: Path, wanted: string, shortest: string): Part | undefined {
  const range = rangeOf(line, path)
  if (range === undefined) return undefined
  return { ...range, text: Buffer.byteLength(wanted) <= range.to - range.from ? wanted : shortest }
}

function fieldAt(line: Uint8Array, object: number, name: string): number | undefined {
  if (line[object] !== OPEN_BRACE) return undefined
  const wanted = Buffer.from(JSON.stringify(name))
  for (let at = skipSpaces(line, object + 1); line[at] === QUOTE; ) {
    const end = endOfValue(line, at)
    const value = skipSpaces(line, skipSpaces(line, end) + 1)
    if (wanted.equals(line.subarray(at, end))) return value
    at = skipSpaces(line, endOfValue(line, value))
    if (line[at] === COMMA) at = skipSpaces(line, at + 1)
  }
  return undefined
}

function itemAt(line: Uint8Array, list: number, index: number): number | undefined {
  if (line[list] !== OPEN_BRACKET) return undefined
  let at = skipSpaces(line, list + 1)
  for (let left = index; left > 0 && at < line.length; left--) {
    at = skipSpaces(line, endOfValue(line, at))
    if (line[at] === COMMA) at = skipSpaces(line, at + 1)
  }
  return at < line.length && line[at] !== CLOSE_BRACKET ? at : undefined
}

function skipSpaces(line: Uint8Array, from: number): number {
  let at = from
  while (line[at] === SPACE) at++
  return at
}

/** Behind the value that begins here. */
function endOfValue(line: Uint8Array, begin: number): number {
  if (line[begin] === QUOTE) return endOfString(line, begin) + 1
  const isNested = line[begin] === OPEN_BRACE || line[begin] === OPEN_BRACKET
  let depth = 0
  for (let at = begin; at < line.length; at++) {
    const byte = line[at]
    if (byte === QUOTE) at = endOfString(line, at)
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (isNested && --depth === 0) return at + 1
      if (!isNested) return at
    } else if (!isNested && (byte === COMMA || byte === SPACE)) return at
  }
  return line.length
}

/** The quote that ends a text. */
function endOfString(line: Uint8Array, begin: number): number {
  for (let at = begin + 1; at < line.length; at++) {
    if (line[at] === BACKSLASH) at++
    else if (line[at] === QUOTE) return at
  }
  return line.length
}
