/**
 * The key of one session: it encrypts and decrypts its records. From 256 random bits, four keys are derived, one for each purpose:
 *
 *   records   AES-256-GCM with a random nonce. The additional data is the journal's name, which stands for space and session, the record's id and
 *             type, and which part of it this is: so an encrypted text is good for its own place in its own record and nowhere else.
 *   states    AES-256-GCM for checkpoints. All who help with one must make the same bytes, so its nonce is made from what it encrypts, with
 *   nonces    HMAC-SHA-256: the same nonce comes again only with the same text, which tells nobody anything.
 *   digests   AES-256 on single blocks, for what id files hold of what callers had sent.
 *
 * A nonce is random for each encryption: neither a crash, nor a fork, nor a restored backup can bring one back, because nothing counts.
 */
import {
  type Cipher,
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type Decipher,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import type { CheckpointDraft, Draft, JournalRecord, Json, JsonObject, RecordType } from '../record/record.ts'
import { JsonText } from '../session/json-text.ts'
import { keysOf, NO_DIGEST, type RecordKeys } from '../session/record-keys.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** What stays readable without a key: whose journal this is, what was written over, and which damage was taken note of. */
const IN_THE_OPEN: Partial<Record<string, readonly string[]>> = {
  'session.created': ['space', 'session'],
  'message.erased': ['lines'],
  'damage.noticed': ['gaps'],
  'damage.acknowledged': ['findings', 'gaps', 'space', 'session'],
} satisfies Partial<Record<RecordType, readonly string[]>>

export class DataKey {
  readonly id: string
  /** The name of the journal that it is for. */
  readonly journal: string
  readonly #records: KeyObject
  readonly #states: KeyObject
  readonly #nonces: KeyObject
  /** Made for the next record. */
  #next: Ready | undefined
  readonly #journalName: Uint8Array
  readonly #blinding: Cipher
  readonly #unblinding: Decipher

  constructor(id: string, journal: string, secret: Uint8Array) {
    this.id = id
    this.journal = journal
    this.#journalName = Buffer.from(journal)
    // As an object of the library's own: bytes would be taken in anew for each record.
    const derived = (purpose: string): KeyObject => createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `holdfast ${purpose}`, 32)))
    this.#records = derived('records')
    this.#states = derived('states')
    this.#nonces = derived('nonces')
    const blocks = derived('digests')
    // Without padding each block comes out as it goes in, so that one of each serves for ever.
    this.#blinding = createCipheriv('aes-256-ecb', blocks, null).setAutoPadding(false)
    this.#unblinding = createDecipheriv('aes-256-ecb', blocks, null).setAutoPadding(false)
  }

  /** The fields of a record, as JSON without brackets, in place of its payload, whose JSON is `text`. */
  encryptPayload(draft: Draft, text: string): string {
    const { type, payload } = draft
    const head = hasMadeIdsOnly(draft) ? `"sealed":"${this.id}"` : `"sealed":"${this.id}","keys":${JSON.stringify(this.#keysOf(draft))}`
    const messages = type === 'messages.appended' ? (payload.messages as readonly Json[]) : []
    if (messages.length > 1) {
      const encrypted = messages.map((message, index) => `"${this.#encrypt(draft, index, textOf(message))}"`)
      return `${head},"messages":[${encrypted}],"data":"${this.encryptData(draft, without(payload, ['messages']))}"`
    }
    const open = (IN_THE_OPEN[type] ?? []).filter((field) => payload[field] !== undefined)
    if (open.length === 0) return `${head},"data":"${this.#encrypt(draft, 'data', text)}"`
    const shown = JSON.stringify(Object.fromEntries(open.map((field) => [field, payload[field]])))
    return `${head},${shown.slice(1, -1)},"data":"${this.encryptData(draft, without(payload, open))}"`
  }

  /** What `data` of a record is, for a payload. */
  encryptData(record: Identity, payload: JsonObject): string {
    return this.#encrypt(record, 'data', JSON.stringify(payload))
  }

  /** One message of a record that has several. */
  encryptMessage(record: Identity, index: number, message: JsonObject): string {
    return this.#encrypt(record, index, JSON.stringify(message))
  }

  /** A record with its payload; undefined if this is not what was encrypted for it. */
  decrypt(record: JournalRecord): JournalRecord | undefined {
    const { sealed: _sealed, keys: _keys, data, messages, ...shown } = record
    if (record.type === 'checkpoint') {
      const state = this.#decrypt(this.#states, checkpointIdentity(this.journal, record as unknown as CheckpointDraft), record.state)
      return state === undefined ? undefined : { ...shown, state: JSON.parse(state) }
    }
    const text = this.#decrypt(this.#records, this.#identity(record, 'data'), data)
    if (text === undefined) return undefined
    const payload = JSON.parse(text) as JsonObject
    if (!Array.isArray(messages)) return { ...shown, ...payload }
    const opened: Json[] = []
    for (const [index, message] of messages.entries()) {
      const one = isErased(message) ? '{}' : this.#decrypt(this.#records, this.#identity(record, index), message)
      if (one === undefined) return undefined
      opened.push(JSON.parse(one))
    }
    return { ...shown, messages: opened, ...payload }
  }

  encryptState(draft: CheckpointDraft): string {
    const text = JSON.stringify(draft.state)
    const identity = checkpointIdentity(this.journal, draft)
    const nonce = createHmac('sha256', this.#nonces).update(identity).update('\0').update(text).digest().subarray(0, NONCE_BYTES)
    return encrypted(readyWith(this.#states, nonce), identity, text)
  }

  /** An entry as id files have it, and back. */
  blindEntry(entry: KeyEntry): KeyEntry {
    const { key, digest } = entry
    return digest === NO_DIGEST ? entry : { ...entry, digest: this.#block(this.#blinding, mixed(digest, key)) }
  }

  unblindEntry(entry: KeyEntry): KeyEntry {
    const { key, digest } = entry
    return digest === NO_DIGEST ? entry : { ...entry, digest: mixed(this.#block(this.#unblinding, digest), key) }
  }

  #block(cipher: Cipher | Decipher, digits: string): string {
    return cipher.update(Buffer.from(digits, 'hex')).toString('hex')
  }

  #keysOf({ id, type, payload }: Draft): RecordKeys {
    const entries = keysOf({ kind: 'counted', carried: false, record: { ...payload, id, type } as JournalRecord, at: 0, end: 0, crc: '' })
    return entries.map((entry) => {
      const { key, index, digest } = this.blindEntry(entry)
      return [key, index, digest === NO_DIGEST ? '' : digest]
    })
  }

  #encrypt(record: Identity, part: string | number, text: string): string {
    return encrypted(this.#ready(), identityIn(record, part), text)
  }

  /** Making a cipher takes as long as using it. */
  prepare(): void {
    this.#next ??= this.#begun()
  }

  #ready(): Ready {
    const ready = this.#next ?? this.#begun()
    this.#next = undefined
    return ready
  }

  /** A cipher that has taken in as much of the next record's identity as is known before there is one. */
  #begun(): Ready {
    const ready = readyWith(this.#records, freshNonce())
    ready.cipher.setAAD(this.#journalName)
    return ready
  }

  #decrypt(key: KeyObject, identity: string, text: unknown): string | undefined {
    if (typeof text !== 'string') return undefined
    const bytes = Buffer.from(text, 'base64')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(identity)).setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
    const plain = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES))
    try {
      decipher.final()
    } catch {
      return undefined
    }
    return plain.toString('utf8')
  }

  #identity(record: Identity, part: string | number): string {
    return `${this.journal}${identityIn(record, part)}`
  }
}

/** What was written over is in the open, and says nothing. Anything else in the open was put there by somebody who has no key. */
function isErased(message: Json): boolean {
  return typeof message === 'object' && JSON.stringify(message) === '{}'
}

type Identity = Pick<JournalRecord, 'id' | 'type'>

/** Of a part of a record, behind the name of its journal. */
function identityIn({ id, type }: Identity, part: string | number): string {
  return `\0${id}\0${type}\0${part}`
}

function checkpointIdentity(journal: string, { id, base }: Pick<CheckpointDraft, 'id' | 'base'>): string {
  return `${journal}\0${id}\0checkpoint\0${base}`
}

/** A cipher that was used for nothing yet, with its nonce. */
interface Ready {
  readonly cipher: CipherGCM
  readonly nonce: Uint8Array
}

function readyWith(key: KeyObject, nonce: Uint8Array): Ready {
  return { cipher: createCipheriv('aes-256-gcm', key, nonce), nonce }
}

function encrypted({ cipher, nonce }: Ready, identity: string, text: string): string {
  cipher.setAAD(bytesOf(identity))
  const body = cipher.update(text, 'utf8')
  cipher.final()
  const length = NONCE_BYTES + body.length + TAG_BYTES
  if (length > scratch.length) return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64')
  scratch.set(nonce)
  scratch.set(body, NONCE_BYTES)
  scratch.set(cipher.getAuthTag(), NONCE_BYTES + body.length)
  return scratch.toString('base64', 0, length)
}

/** The bytes of a short text, until the next one is asked for: most are as long as the one before. */
function bytesOf(text: string): Buffer {
  const length = scratch.write(text)
  if (shown.length !== length) shown = scratch.subarray(0, length)
  return shown
}

/** For what is put together and done with before anybody else comes to it. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024)
let shown = scratch.subarray(0, 0)

/** From the system and not from what a test may inject: nothing else may decide a nonce. */
function freshNonce(): Uint8Array {
  if (used + NONCE_BYTES > pool.length) {
    pool = randomBytes(4096)
    used = 0
  }
  used += NONCE_BYTES
  return pool.subarray(used - NONCE_BYTES, used)
}

let pool: Uint8Array = new Uint8Array(0)
let used = 0

/** Whether a record has no keys but those of messages whose ids are made from its own, as most have. */
function hasMadeIdsOnly({ type, payload }: Draft): boolean {
  return type === 'messages.appended' && payload.ids === undefined && payload.key === undefined && payload.entries === undefined
}

function textOf(message: Json): string {
  const value: unknown = message
  return value instanceof JsonText ? value.text : JSON.stringify(message)
}

function without(payload: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(payload).filter(([field]) => !fields.includes(field)))
}

/** A digest is mixed with the key that it belongs to: of two messages with the same content, nobody sees that it is the same. */
function mixed(digest: string, key: KeyHash): string {
  const bytes = Buffer.from(digest, 'hex')
  const other = Buffer.from(key, 'hex')
  for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] as number) ^ (other[i] as number)
  return bytes.toString('hex')
}
