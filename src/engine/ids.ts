import { randomBytes } from 'node:crypto'

/** Randomness, injected so that tests own it. */
export interface Ids {
  /** A new id that sorts by time: a version 7 UUID. */
  next(now: number): string
  /** A number in [0, 1), for jitter. */
  random(): number
  /** Random hex digits. */
  hex(digits: number): string
}

export const systemIds: Ids = {
  next: (now) => uuid7(now, randomBytes(10)),
  random: Math.random,
  hex: (digits) =>
    randomBytes(Math.ceil(digits / 2))
      .toString('hex')
      .slice(0, digits),
}

/** Formats 48 bits of time and 74 random bits as a version 7 UUID. */
export function uuid7(now: number, random: Uint8Array): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(now, 0, 6)
  bytes.set(random.subarray(0, 10), 6)
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  const text = bytes.toString('hex')
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`
}
