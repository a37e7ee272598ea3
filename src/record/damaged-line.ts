/** What a damaged line still shows of the record that it was. */
import { crc32 } from 'node:zlib'
import { CHECKPOINT_END, CRC_KEY, crcBeforeRottenNewline, damageKind, hex, intactCrc, type Line, SUFFIX_LENGTH } from './line.ts'

const HEAD = '{"v":'
const VERSION = '"v":'
const CHECKPOINT = '"type":"checkpoint"'
/** Longer than what every line has before its payload, and after it. */
const HEAD_BYTES = 160
const TAIL_BYTES = 64
/** What is after the checksum. */
const CRC_TAIL = '"}'

/** The position that the end of a line states, and the checksum after it. */
export function endOf({ bytes }: Line): { readonly position: number; readonly crc: string } | undefined {
  const [, position, crc] = /"pos":(\d+),"crc":"([0-9a-f]{8})"\}$/.exec(Buffer.from(bytes.subarray(-TAIL_BYTES)).toString('latin1')) ?? []
  return position === undefined || crc === undefined ? undefined : { position: Number(position), crc }
}

/** Whether a line is the rest of one. Each line starts with its version. */
export function isRest({ bytes }: Line): boolean {
  return !bytes.includes(0) && !Buffer.from(bytes.subarray(0, 8)).includes(VERSION)
}

/**
 * The checksum of the record that was written at this place; undefined if this may never have been one: a checkpoint, a page that never reached the
 * disk, or a piece of a line. The next record must name this checksum as the one before it. Otherwise the chain of records would say that nothing
 * was lost here. A record shows at both ends that it is one, so one of them may be spoiled.
 *
 * `isAfterTorn`: a line was torn before this one, because another process wrote in the middle of it. Its rest may follow the start of a third line.
 */
export function checksumOfDamaged(line: Line, isAfterTorn = false): string | undefined {
  const { at, bytes } = line
  const end = endOf(line)
  // Only the bytes between two lines are spoiled, so that they look like one.
  if (end !== undefined && end.position > at && intactCrc(bytes.subarray(end.position - at)) === end.crc) return end.crc
  const whole = crcBeforeRottenNewline(bytes)
  if (whole !== undefined) return whole
  if (damageKind(bytes) !== 'rotten') return undefined
  if (end !== undefined) return end.position === at ? end.crc : undefined
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1')
  if (!head.startsWith(HEAD) || head.includes(CHECKPOINT) || (isAfterTorn && !hasOwnEnd(bytes))) return undefined
  // If only the end is spoiled, this is the checksum that was in it.
  return hex(crc32(bytes.subarray(0, -SUFFIX_LENGTH)))
}

/** Whether at most one byte around the checksum at the end of a record is spoiled. The rest of another line is hardly ever so short that it ends alike. */
function hasOwnEnd(bytes: Uint8Array): boolean {
  const end = Buffer.from(bytes.subarray(-TAIL_BYTES)).toString('latin1')
  const [key, rest] = [end.slice(-SUFFIX_LENGTH, CRC_KEY.length - SUFFIX_LENGTH), end.slice(-CRC_TAIL.length)]
  const spoiled = [...CRC_KEY].filter((byte, i) => byte !== key[i]).length + [...CRC_TAIL].filter((byte, i) => byte !== rest[i]).length
  return spoiled <= 1 && !CHECKPOINT_END.test(end)
}
