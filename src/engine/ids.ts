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
  next: (now) => uuid7(now, pooled(10)),
  random: Math.random,
  hex: (digits) =>
    randomBytes(Math.ceil(digits / 2))
      .toString('hex')
      .slice(0, digits),
}

const scratch = Buffer.alloc(16)

/** Formats 48 bits of time and 74 of ten random bytes as a version 7 UUID. */
export function uuid7(now: number, random: Uint8Array): string {
  scratch.writeUIntBE(now, 0, 6)
  scratch.set(random, 6)
  scratch[6] = 0x70 | ((scratch[6] as number) & 0x0f)
  scratch[8] = 0x80 | ((scratch[8] as number) & 0x3f)
  const text = scratch.toString('hex')
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`
}

const POOL_BYTES = 4096
let pool: Uint8Array = new Uint8Array(0)
let used = 0

/** Random bytes, each handed out once. Asking the system for ten of them takes half as long as asking for thousands. */
function pooled(bytes: number): Uint8Array {
  if (used + bytes > pool.length) {
    pool = randomBytes(POOL_BYTES)
    used = 0
  }
  used += bytes
  return pool.subarray(used - bytes, used)
}
