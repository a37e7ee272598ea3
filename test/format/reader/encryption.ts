/** Encrypted lines, data keys and the master key: section "Encryption" of docs/format.md. */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync } from 'node:crypto'
import type { JournalLine } from './line.ts'

/** What the session of the keys holds for one journal. */
export interface WrappedKey {
  readonly journal: string
  readonly master: string
  readonly wrapped: string
}

export class MasterKey {
  readonly id: string
  readonly #bytes: Buffer

  constructor(text: string) {
    this.#bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64')
    this.id = createHmac('sha256', this.#bytes).update('holdfast master key').digest('hex').slice(0, 16)
  }

  unwrap(id: string, { journal, master, wrapped }: WrappedKey): DataKey {
    if (master !== this.id) throw new Error('UNREADABLE: another master key wrapped this data key')
    const secret = decrypted(this.#bytes, Buffer.from(wrapped, 'base64'), id)
    if (secret === undefined) throw new Error('UNREADABLE: the master key does not unwrap this data key')
    return new DataKey(id, journal, secret)
  }
}

export function dataKeyId(journal: string): string {
  return createHash('sha256').update(`key of ${journal}`).digest('hex').slice(0, 32)
}

export class DataKey {
  readonly id: string
  readonly #journal: string
  readonly #secret: Buffer

  constructor(id: string, journal: string, secret: Buffer) {
    this.id = id
    this.#journal = journal
    this.#secret = secret
  }

  /** The line with its payload; undefined if it was not encrypted for this place. */
  open(line: JournalLine, journal: string): JournalLine | undefined {
    if (journal !== this.#journal || line.sealed !== this.id) return undefined
    const { sealed: _, keys: _keys, data, messages, ...clear } = line
    if (line.type === 'checkpoint') {
      const state = this.#text('states', `${line.id}\0checkpoint\0${line.base}`, line.state)
      return state === undefined ? undefined : { ...clear, ...head(line), state: JSON.parse(state) }
    }
    const part = (name: string | number, text: unknown) => this.#text('records', `${line.id}\0${line.type}\0${name}`, text)
    const text = part('data', data)
    if (text === undefined) return undefined
    const payload = JSON.parse(text) as object
    if (!Array.isArray(messages)) return { ...clear, ...head(line), ...payload }
    const texts = messages.map((message, index) => (typeof message === 'object' ? JSON.stringify(message) : part(index, message)))
    if (texts.some((one, i) => one === undefined || (typeof messages[i] === 'object' && one !== '{}'))) return undefined
    return { ...clear, ...head(line), messages: texts.map((one) => JSON.parse(one as string)), ...payload }
  }

  /** A digest as encrypted lines and id files have it. */
  blinded(keyHash: string, digest: string): string {
    const block = Buffer.from(digest, 'hex').map((byte, i) => byte ^ (Buffer.from(keyHash, 'hex')[i] as number))
    const cipher = createCipheriv('aes-256-ecb', this.#derived('digests'), null).setAutoPadding(false)
    return cipher.update(block).toString('hex')
  }

  /** The nonce that the state of a checkpoint must have. */
  stateNonce({ id, base }: Pick<JournalLine, 'id' | 'base'>, stateText: string): Buffer {
    const text = `${this.#journal}\0${id}\0checkpoint\0${base}\0${stateText}`
    return createHmac('sha256', this.#derived('nonces')).update(text).digest().subarray(0, 12)
  }

  #text(purpose: string, about: string, text: unknown): string | undefined {
    if (typeof text !== 'string') return undefined
    return decrypted(this.#derived(purpose), Buffer.from(text, 'base64'), `${this.#journal}\0${about}`)?.toString('utf8')
  }

  #derived(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', `holdfast ${purpose}`, 32))
  }
}

/** Spread of a rest is not typed as a line. */
function head({ v, id, at, type, prev }: JournalLine): Pick<JournalLine, 'v' | 'id' | 'at' | 'type' | 'prev'> {
  return { v, id, at, type, prev }
}

/** AES-256-GCM over nonce (12 bytes), ciphertext and tag (16 bytes); undefined if the tag does not fit. */
function decrypted(key: Buffer, bytes: Buffer, additional: string): Buffer | undefined {
  if (bytes.length < 28) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(additional)).setAuthTag(bytes.subarray(-16))
  const plain = decipher.update(bytes.subarray(12, -16))
  try {
    decipher.final()
  } catch {
    return undefined
  }
  return plain
}
