/**
 * Keys, and what they open. A key is `hf_`, its id, 256 random bits and a checksum, all in hex; the store keeps a digest of it, as an
 * entry of the session `keys` in its own space, beside what the key may. Any process that serves the store, and the command line, read
 * and write the same entries: a key that one revokes is refused by the others within a second.
 *
 * Tokens are made from keys, for browsers and the like: they carry what they open, signed with what the store knows of their key, live for
 * minutes, and die with the key.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { STORE_SPACE } from '../engine/names.ts'
import { HoldfastError } from '../errors.ts'
import type { JsonObject } from '../record/record.ts'
import { checkId, invalid } from '../session/check.ts'
import { Handle } from '../store/handle.ts'
import { readEntries } from '../store/messages/entries.ts'
import type { Session } from '../store/session.ts'
import type { Store } from '../store/store.ts'
import { checkSpace, includes, type Scope } from './principal.ts'

/** What is kept of a key. */
export interface KeyRecord {
  readonly id: string
  readonly digest: string
  readonly space: string
  readonly scope: Scope
  readonly owner: string | null
  readonly name: string | null
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  /** A digest of what was asked for, of one that was made by a call that may be repeated. */
  readonly asked?: string
}

export interface NewKey {
  readonly space: string
  readonly scope?: Scope
  /** It sees and makes only sessions of this owner. */
  readonly owner?: string
  readonly name?: string
  readonly expiresAt?: Date
  /** Takes the place of this key, which goes on being good for so long. */
  readonly replaces?: string
  readonly overlapMs?: number
  /**
   * So that the call can be repeated: 64 hex digits that nobody can guess, instead of those that are made, and a digest of all that was asked
   * for. Asked for with the same secret and something else, CONFLICT.
   */
  readonly repeatable?: { readonly secret: string; readonly asked: string }
}

/** What a token opens. */
export interface Claims {
  readonly id: string
  readonly key: string
  readonly space: string
  readonly scope: Scope
  readonly owner: string | null
  readonly session: string | null
  /** In milliseconds since 1970. */
  readonly expires: number
}

const SESSION = 'keys'
const KEYS = 'keys'
const REVOKED_TOKENS = 'revoked-tokens'
const REFRESH_MS = 500
const KEY = /^hf_([0-9a-f]{16})_([0-9a-f]{64})([0-9a-f]{8})$/
const TOKEN = /^hft_([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/

/** Whether a text is a key that nothing has changed, of this store or another one. */
export function isIntactKey(key: string): boolean {
  const [, id, secret, sum] = KEY.exec(key) ?? []
  return sum !== undefined && checksum(`hf_${id}_${secret}`) === sum
}

export class ApiKeys {
  readonly #store: Store
  #keys = new Map<string, KeyRecord>()
  #byDigest = new Map<string, KeyRecord>()
  #revokedTokens = new Set<string>()
  #version: string | undefined
  #refreshing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store) {
    this.#store = store.in(STORE_SPACE)
  }

  /** Learns what there is, and goes on learning until it is closed. */
  async open(): Promise<void> {
    await this.refresh()
    // A store that cannot be read just now keeps what was known of it.
    this.#timer = setInterval(() => void this.refresh().catch(() => undefined), REFRESH_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Makes a key, and tells it this once. */
  async create(wanted: NewKey): Promise<{ key: string; record: KeyRecord }> {
    const { ids, clock } = this.#store.parts
    const { scope = 'write', owner, name, expiresAt, replaces, overlapMs = 0, repeatable } = wanted
    const space = checkSpace(wanted.space)
    if (owner !== undefined && scope === 'admin') throw invalid('A key that is bound to an owner cannot have the scope "admin".')
    const secret = repeatable?.secret ?? ids.hex(64)
    const id = repeatable === undefined ? ids.hex(16) : hash('sha256', `id of ${secret}`, 'hex').slice(0, 16)
    const head = `hf_${id}_${secret}`
    const key = `${head}${checksum(head)}`
    const first = repeatable === undefined ? undefined : await this.#madeBefore(id, repeatable.asked)
    if (first !== undefined) return { key, record: first }
    const record: KeyRecord = {
      id,
      digest: hash('sha256', key, 'hex'),
      space,
      scope,
      owner: owner === undefined ? null : checkId('The owner', owner),
      name: name === undefined ? null : checkId('The name of a key', name),
      createdAt: new Date(clock.now()).toISOString(),
      expiresAt: expiresAt?.toISOString() ?? null,
      revokedAt: null,
      ...(repeatable === undefined ? {} : { asked: repeatable.asked }),
    }
    const before = replaces === undefined ? undefined : await this.#known(replaces, space)
    const entries = [record, ...(before === undefined ? [] : [{ ...before, expiresAt: this.#ends(before, overlapMs) }])]
    await this.#put(entries)
    return { key, record }
  }

  /** The key that this call has made already. */
  async #madeBefore(id: string, asked: string): Promise<KeyRecord | undefined> {
    await this.refresh()
    const record = this.#keys.get(id)
    if (record !== undefined && record.asked !== asked) {
      throw new HoldfastError('CONFLICT', 'This Idempotency-Key was used before, for another key than this. Use a new one.', {
        details: { reason: 'key', key_id: id },
      })
    }
    return record
  }

  /** From now on the key is good for nothing, nor are its tokens. */
  async revoke(id: string, space?: string): Promise<KeyRecord> {
    const record = await this.#known(id, space)
    if (record.revokedAt !== null) return record
    const revoked = { ...record, revokedAt: new Date(this.#store.parts.clock.now()).toISOString() }
    await this.#put([revoked])
    return revoked
  }

  /** Those of a space, or all; the newest first. */
  async list(space?: string): Promise<KeyRecord[]> {
    await this.refresh()
    const found = [...this.#keys.values()].filter((record) => space === undefined || record.space === space)
    return found.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  }

  /** What a key opens; undefined if it opens nothing. */
  async find(key: string): Promise<KeyRecord | undefined> {
    const known = this.known(key)
    if (known !== undefined) return known
    const [, id] = KEY.exec(key) ?? []
    if (id === undefined || !isIntactKey(key)) return undefined
    await this.#missed(id)
    return this.known(key)
  }

  /** The same, as far as this process knows already. */
  known(key: string): KeyRecord | undefined {
    // By its digest, which nobody can come closer to by trying: how long this takes tells nothing.
    const record = this.#byDigest.get(hash('sha256', key, 'hex'))
    return record !== undefined && this.isGood(record) ? record : undefined
  }

  isGood({ revokedAt, expiresAt }: KeyRecord): boolean {
    return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > this.#store.parts.clock.now())
  }

  /** A token for what the key opens, or less. */
  issue({ digest }: Pick<KeyRecord, 'digest'>, claims: Omit<Claims, 'id'>): { token: string; claims: Claims } {
    const whole: Claims = { id: this.#store.parts.ids.hex(16), ...claims }
    const body = Buffer.from(JSON.stringify(whole)).toString('base64url')
    return { token: `hft_${body}.${signature(digest, body)}`, claims: whole }
  }

  /** What a token opens, and its key; undefined if it opens nothing. */
  async verify(token: string): Promise<{ claims: Claims; record: KeyRecord } | undefined> {
    const [, body, signed] = TOKEN.exec(token) ?? []
    const claims = body === undefined ? undefined : parsed(body)
    if (body === undefined || signed === undefined || claims === undefined) return undefined
    const record = this.#keys.get(claims.key) ?? (await this.#missed(claims.key))
    if (record === undefined) return undefined
    const right = Buffer.from(signature(record.digest, body))
    const given = Buffer.from(signed)
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
    const isOver = claims.expires <= this.#store.parts.clock.now() || this.#revokedTokens.has(claims.id)
    return isOver || !this.isGood(record) || !includes(record.scope, claims.scope) ? undefined : { claims, record }
  }

  async revokeToken(id: string): Promise<void> {
    await this.#session().putEntries([{ channel: REVOKED_TOKENS, key: checkId('The id of a token', id), value: true }])
    await this.#load()
  }

  /** Learns what has changed. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#load().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #load(): Promise<void> {
    const session = this.#session()
    const version = await session.version()
    if (version === this.#version) return
    const keys = new Map<string, KeyRecord>()
    const revoked = new Set<string>()
    if (!isAbsent(version)) {
      // What cannot be read of them the doctor reports: a server answers with the keys that are left.
      const handle = new Handle(this.#store.parts, SESSION)
      for await (const { key, value } of readEntries(handle, KEYS)) keys.set(key, value as unknown as KeyRecord)
      for await (const { key } of readEntries(handle, REVOKED_TOKENS)) revoked.add(key)
    }
    this.#keys = keys
    this.#byDigest = new Map([...keys.values()].map((record) => [record.digest, record]))
    this.#revokedTokens = revoked
    this.#version = version
  }

  /** It may have been made a moment ago, by another process. Whoever tries keys is slowed down before he comes here. */
  async #missed(id: string): Promise<KeyRecord | undefined> {
    await this.#load()
    return this.#keys.get(id)
  }

  async #known(id: string, space: string | undefined): Promise<KeyRecord> {
    await this.refresh()
    const record = this.#keys.get(id)
    if (record === undefined || (space !== undefined && record.space !== space)) {
      throw new HoldfastError('NOT_FOUND', `There is no key "${id}".`, { details: { reason: 'no API key', key_id: id } })
    }
    return record
  }

  #ends({ expiresAt }: KeyRecord, overlapMs: number): string {
    const ends = new Date(this.#store.parts.clock.now() + overlapMs).toISOString()
    return expiresAt !== null && expiresAt < ends ? expiresAt : ends
  }

  async #put(records: readonly KeyRecord[]): Promise<void> {
    const entries = records.map((record) => ({ channel: KEYS, key: record.id, value: record as unknown as JsonObject }))
    await this.#session().putEntries(entries)
    await this.#load()
  }

  #session(): Session {
    return this.#store.session(SESSION)
  }
}

function isAbsent(version: string): boolean {
  return version.startsWith('0-')
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}

function signature(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('base64url')
}

function parsed(body: string): Claims | undefined {
  try {
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Claims | null
    return typeof claims?.key === 'string' ? claims : undefined
  } catch {
    // Whatever it is, it is no token of ours.
    return undefined
  }
}

/** A secret for a call that may be repeated: nobody who does not hold the key can compute it. */
export function derivedSecret(secret: string, ...of: readonly string[]): string {
  return createHmac('sha256', secret).update(JSON.stringify(of)).digest('hex')
}
