/**
 * A watermark: how far a journal is known to reach. It names the last line of a group that one process placed whole, synced and is about to
 * acknowledge: where the line starts and ends, and a hash of its record's id. Bytes that a watermark covers must still be there; if they are
 * not, they vanished. File sizes, what others wrote, and what was never synced make no watermark.
 *
 * Positions continue in a later epoch once a loss was accepted, so a watermark of an earlier epoch says nothing about the journal any more.
 */
import { crc32 } from 'node:zlib'
import { checksumOfDamaged } from './damaged-line.ts'
import { intactCrc } from './line.ts'

export interface Watermark {
  /** Where the line starts and ends, newline included. */
  readonly start: number
  readonly end: number
  /** Of the id of its record: an erasure changes everything else of a line. */
  readonly idHash: number
}

/** Positions of one epoch. A journal that lost bytes continues at the next multiple. */
const EPOCH_BYTES = 2 ** 32

export function epochOf(position: number): number {
  return Math.floor(position / EPOCH_BYTES)
}

/** The first position of the epoch after that of both. */
export function nextEpoch(a: number, b: number): number {
  return (Math.max(epochOf(a), epochOf(b)) + 1) * EPOCH_BYTES
}

const NEWLINE = 0x0a
const ID_KEY = Buffer.from(',"id":"')
const QUOTE = 0x22

/** The watermark of a group of whole lines that was placed at a position. */
export function watermarkOf(group: Uint8Array, at: number): Watermark | undefined {
  const bytes = bufferOf(group)
  const begin = bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1
  const idHash = hashOfId(bytes.subarray(begin))
  return idHash === undefined ? undefined : { start: at + begin, end: at + bytes.length, idHash }
}

/**
 * How a watermark's line looks by now. `around` holds the bytes from one before its start (or from its start, where a segment begins there)
 * up to its end; fewer if the file ends earlier.
 *
 * `intact`: the record is there. `rotten`: the line is whole but its checksum fails; nothing vanished. `gone`: something else is there, or nothing.
 */
export function lookOf(mark: Watermark, around: Uint8Array): 'intact' | 'rotten' | 'gone' {
  const length = mark.end - mark.start
  const lead = around.length - length
  if (lead < 0) return 'gone'
  const line = bufferOf(around).subarray(lead)
  if (intactCrc(line.subarray(0, -1)) !== undefined && line[length - 1] === NEWLINE)
    return hashOfId(line) === mark.idHash ? 'intact' : 'gone'
  // Another record's bytes almost never start and end at the same two places.
  const bounded = (lead === 0 || around[lead - 1] === NEWLINE) && line.indexOf(NEWLINE) === length - 1
  // If the line no longer shows that it was a record, no reader would report it once others follow it.
  return bounded && checksumOfDamaged({ at: mark.start, bytes: line.subarray(0, -1) }) !== undefined ? 'rotten' : 'gone'
}

/** Every line starts with its version and its id. */
function hashOfId(line: Buffer): number | undefined {
  const key = line.subarray(0, 32).indexOf(ID_KEY)
  if (key === -1) return undefined
  const begin = key + ID_KEY.length
  const end = line.indexOf(QUOTE, begin)
  return end === -1 ? undefined : crc32(line.subarray(begin, end))
}

function bufferOf(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
