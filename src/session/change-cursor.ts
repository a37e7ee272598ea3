/** Cursors of changes: where a follower of one session continues. */
import { HoldfastError } from '../errors.ts'

export interface ChangeCursor {
  /** Of the last record that was seen. */
  readonly position: number
  /** Its checksum; empty where there is none to compare. */
  readonly crc: string
}

export function parseCursor(text: string): ChangeCursor {
  const match = /^(\d{1,15})-([0-9a-f]{8}|reset)$/.exec(text)
  if (match === null)
    throw new HoldfastError('INVALID_ARGUMENT', 'This is no cursor of a change. Use one that a change came with.', {
      details: { reason: 'cursor' },
    })
  return match[2] === 'reset' ? { position: Number(match[1]) - 1, crc: '' } : { position: Number(match[1]), crc: match[2] as string }
}
