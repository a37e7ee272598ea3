/**
 * The master key: what wraps the keys of sessions. It never leaves whoever holds it: here, 32 bytes that a caller handed in, or a function of
 * the caller's, behind which a service may keep it.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { type ErrorReason, HoldfastError } from '../errors.ts'

/** Wraps and unwraps the keys of sessions. `about` is the id of the key, to be bound to what is wrapped. May wait for somebody else. */
export interface MasterKey {
  /** Tells master keys apart; not secret. */
  readonly id: string
  wrap(key: Uint8Array, about: string): Promise<Uint8Array> | Uint8Array
  /** Throws if this is not what it has wrapped. */
  unwrap(wrapped: Uint8Array, about: string): Promise<Uint8Array> | Uint8Array
}

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A master key of 32 bytes, or of text: 64 hex digits, or the same in base64. */
export function masterKeyOf(given: string | Uint8Array | MasterKey): MasterKey {
  if (typeof given === 'object' && 'wrap' in given) return given
  const bytes = typeof given === 'string' ? bytesOf(given.trim()) : Buffer.from(given)
  if (bytes.length !== KEY_BYTES)
    throw new TypeError(
      `A master key has 32 bytes, as 64 hex digits or in base64; this one has ${bytes.length}. Make one with \`holdfast encryption new-key\`.`,
    )
  const id = createHmac('sha256', bytes).update('holdfast master key').digest('hex').slice(0, 16)
  return {
    id,
    wrap: (key, about) => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', bytes, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(about))
      const body = cipher.update(key)
      cipher.final()
      return Buffer.concat([nonce, body, cipher.getAuthTag()])
    },
    unwrap: (wrapped, about) => {
      const decipher = createDecipheriv('aes-256-gcm', bytes, wrapped.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(about)).setAuthTag(wrapped.subarray(wrapped.length - TAG_BYTES))
      const key = decipher.update(wrapped.subarray(NONCE_BYTES, wrapped.length - TAG_BYTES))
      decipher.final()
      return key
    },
  }
}

/**
 * Creates a master key. Keep it outside of the store: without it, nothing can be decrypted.
 *
 * @returns The key as text.
 * @example
 * const encryption = { masterKey: newMasterKey() }
 */
export function newMasterKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

function bytesOf(text: string): Buffer {
  return /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64')
}

/** Why something that is encrypted cannot be read. Never damage: the bytes are what a writer wrote. */
export function keyMissing(why: 'locked' | 'wrong' | 'gone'): HoldfastError {
  const told = {
    locked:
      'This store is encrypted, and was opened without its master key. Open it with the key: `encryption` in the library, --master-key-file or HOLDFAST_MASTER_KEY on the command line.',
    wrong: 'This is not the master key that the keys of this store were wrapped with. Open it with that one. Nothing was changed.',
    gone: 'The key of this session is not in this store: it was destroyed, or a backup was restored without its keys. Without it nobody can read the session.',
  }
  return new HoldfastError('UNREADABLE', told[why], { details: { reason: REASONS[why], retryable: false } })
}

export function isKeyMissing({ details }: HoldfastError): boolean {
  return Object.values(REASONS).some((reason) => details.reason === reason)
}

/** It was destroyed, or lies elsewhere; another master key would not help. */
export function isKeyGone({ details }: HoldfastError): boolean {
  return details.reason === REASONS.gone
}

const REASONS = { locked: 'no master key', wrong: 'wrong master key', gone: 'no session key' } as const satisfies Record<
  string,
  ErrorReason
>
