/** Cursors of the whole store, encrypted: one space must not learn how far the store has come. */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Only the same secret decrypts it. */
export function encryptedCursor(secret: string, cursor: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(ALGORITHM, keyOf(secret), iv)
  const text = Buffer.concat([cipher.update(cursor, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
}

/** Undefined if this server did not make it, or encrypted it with another secret. */
export function decryptedCursor(secret: string, given: string): string | undefined {
  const bytes = Buffer.from(given, 'base64url')
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined
  try {
    const decipher = createDecipheriv(ALGORITHM, keyOf(secret), bytes.subarray(0, IV_BYTES))
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

function keyOf(secret: string): Buffer {
  return hash('sha256', `cursors ${secret}`, 'buffer')
}
