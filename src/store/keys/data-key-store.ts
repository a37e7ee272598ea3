/**
 * The wrapped keys of a store's sessions, as messages of a session in a space of their own. They lie beside the journals that they open and
 * not inside of them, for two reasons: a key that is destroyed here opens no copy of the journal either, be it in a backup; and all
 * keys can be wrapped anew without touching a session.
 *
 * One rotten line must not cost a session, so each key is there twice, as two messages in two records.
 *
 * The session of the keys has a number. Wrapping anew copies all keys into the next one and then destroys the one before; the lowest
 * that is live has all keys, at every moment. Its name is `sessions.<number>`.
 */
import { hash, randomBytes } from 'node:crypto'
import { DataKey } from '../../encryption/data-key.ts'
import type { DataKeys } from '../../encryption/data-keys.ts'
import { keyMissing, type MasterKey } from '../../encryption/master-key.ts'
import { KEY_SPACE, keySession } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { Records } from '../../journal/records.ts'
import { LIMITS } from '../../record/limits.ts'
import type { MessageErased } from '../../session/records.ts'
import { Handle } from '../handle.ts'
import { purgeNow } from '../lifecycle/purge.ts'
import type { StoreParts } from '../parts.ts'
import { Session } from '../session.ts'

/** What the ring holds of one key. */
export interface WrappedKey {
  /** The journal that it is for. */
  readonly journal: string
  /** The id of the master key. */
  readonly master: string
  readonly wrapped: string
}

/** A process that has used a key forgets it after so long, so that one that was destroyed elsewhere is gone here too. */
const KEPT_MS = 60_000
const KEPT_KEYS = 10_000

interface Kept {
  readonly key: Promise<DataKey>
  readonly untilMs: number
}

export class DataKeyStore implements DataKeys {
  readonly #masters: readonly MasterKey[]
  readonly #kept = new Map<string, Kept>()
  /** Of each journal the key that it is written with. */
  readonly #current = new Map<string, { readonly key: DataKey; readonly untilMs: number }>()
  readonly #own = new Set<string>()
  #parts: StoreParts | undefined
  #number = 1
  /** Up to where which ring was looked through for keys that were destroyed. */
  #looked = { number: 1, end: 0 }

  /** The first master key wraps; all of them unwrap. None: nothing can be opened or sealed. */
  constructor(masters: readonly MasterKey[]) {
    this.#masters = masters
  }

  /** Where the keys lie. */
  attach(parts: StoreParts): void {
    this.#parts = { ...parts, space: KEY_SPACE }
  }

  /** Whether a journal is one of the ring's own, which are not sealed. */
  isOwn(journal: string): boolean {
    return this.#own.has(journal)
  }

  /** Refuses a master key that did not wrap what is there: what it wraps could not be opened together with that. */
  async check(): Promise<void> {
    const session = await this.#session()
    if ((await this.#statusOf(session)) !== 'live') return
    for await (const { id, key } of keysIn(session)) {
      if (key !== undefined) return void (await this.#secret(id, key))
    }
  }

  /** The key with an id. UNREADABLE if it is not there, or cannot be unwrapped. */
  load(id: string): Promise<DataKey> {
    const now = this.#nowMs()
    const kept = this.#kept.get(id)
    if (kept !== undefined && kept.untilMs > now) return kept.key
    const key = this.#read(id).then((found) => {
      if (found === undefined || found === 'destroyed') throw this.#masters.length === 0 ? keyMissing('locked') : keyMissing('gone')
      return found
    })
    this.#keep(id, key)
    return key
  }

  /** The key that a journal is written with, if it is at hand. */
  atHand(journal: string): DataKey | undefined {
    const current = this.#current.get(journal)
    return current !== undefined && current.untilMs > this.#nowMs() ? current.key : undefined
  }

  /** The key that a journal is written with; undefined if it has none. `make`: then it is made. */
  async current(journal: string, make: boolean): Promise<DataKey | undefined> {
    const known = this.atHand(journal)
    if (known !== undefined) return known
    if (this.#masters.length === 0) {
      if (!make) return undefined
      throw keyMissing('locked')
    }
    const id = keyId(journal)
    const found = await this.#read(id)
    // A session whose key was destroyed gets no other: what is written to it could not be read together with what it was.
    if (found === 'destroyed') throw keyMissing('gone')
    if (found !== undefined && make) await this.#complete(id)
    const key = found ?? (make ? await this.#make(id, journal) : undefined)
    if (key === undefined) return undefined
    this.#current.delete(journal)
    this.#current.set(journal, { key, untilMs: this.#nowMs() + KEPT_MS })
    if (this.#current.size > KEPT_KEYS) this.#current.delete(this.#current.keys().next().value as string)
    return key
  }

  /** Destroys the key of a journal, for good and everywhere. False if there is none. One that was interrupted is brought to its end. */
  async destroy(journal: string): Promise<boolean> {
    const id = keyId(journal)
    for (;;) {
      const session = await this.#session()
      try {
        const copies = [await messageOf(session, id), await messageOf(session, copyOf(id))].filter((one) => one !== undefined)
        if (copies.length > 0) await destroyIn(session, id)
        if ((await this.#statusOf(session)) === 'deleted') continue
        this.#kept.delete(id)
        this.#current.delete(journal)
        return copies.some((one) => wrappedOf(one) !== undefined)
      } catch (error) {
        // All keys were wrapped anew meanwhile, and lie elsewhere.
        if ((await this.#statusOf(session)) !== 'deleted') throw error
      }
    }
  }

  /** Hands over which of some journals have lost their keys since the last time, and forgets what is kept of those keys. */
  async passDestroyed(journals: () => Promise<readonly string[]>, take: (keyless: readonly string[]) => Promise<void>): Promise<void> {
    const handle = new Handle(this.#required, (await this.#session()).id)
    if ((await handle.state()).status !== 'live') return
    const { journal: ring, replica } = handle.held
    const looked = { number: this.#number, end: await replica.end() }
    const from = this.#looked.number === looked.number ? this.#looked.end : 0
    const ids = new Set<string>()
    for await (const { record } of new Records(ring).forward(from, looked.end - 1)) {
      if (record.type === 'message.erased') ids.add((record as unknown as MessageErased).target)
    }
    const keyless = ids.size === 0 ? [] : (await journals()).filter((journal) => ids.has(keyId(journal)))
    for (const id of ids) this.#kept.delete(id)
    for (const journal of keyless) this.#current.delete(journal)
    if (keyless.length > 0) await take(keyless)
    this.#looked = looked
  }

  /**
   * Wraps every key anew, by the first master key. Tells how many there are. Safe to interrupt, to repeat, and to do from several processes at
   * once: all copy into the same next session, which nobody deletes while the one before it is live.
   */
  async rewrap(onProgress?: (done: number) => void): Promise<number> {
    const [master] = this.#masters
    if (master === undefined) throw keyMissing('locked')
    for (;;) {
      const from = await this.#session()
      if ((await this.#statusOf(from)) === 'absent') return 0
      const [number, to] = [this.#number, await this.#nextSession()]
      const version = await from.version()
      const done = new Set<string>()
      let isMixed = false
      try {
        for await (const { id, key } of keysIn(from)) {
          const there = await this.#rewrapOne(to, id, key, master)
          if (there === 'mixed') isMixed = true
          if (there !== 'destroyed') done.add(id)
          onProgress?.(done.size)
        }
        await from.delete({ expect: version })
      } catch (error) {
        // Somebody has made or destroyed a key meanwhile, or has wrapped them all and was first.
        if (error instanceof HoldfastError && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')) continue
        throw error
      }
      // Also what was left by one that ended between deleting and purging.
      for (let n = 1; n <= number; n++) await this.#purge(keySession(n))
      // Of an attempt by another master key, which was given up, nothing stays either: once more, into a session that nothing is in.
      if (!isMixed) return done.size
    }
  }

  /** `mixed`: the session that it is put into has it wrapped by another master key too. */
  async #rewrapOne(
    to: Session<object>,
    id: string,
    key: WrappedKey | undefined,
    master: MasterKey,
  ): Promise<'wrapped' | 'mixed' | 'destroyed'> {
    if (key === undefined) {
      await destroyIn(to, id)
      return 'destroyed'
    }
    const there = await messageOf(to, id)
    const before = there === undefined ? undefined : wrappedOf(there)
    if (before === undefined || before.master === master.id) {
      await put(to, id, before ?? (await wrap(await this.#secret(id, key), id, key.journal, master)))
      return 'wrapped'
    }
    const anew = await wrap(await this.#secret(id, key), id, key.journal, master)
    for (const one of [id, copyOf(id)]) await to.replace(one, anew).catch(ifMissing)
    return 'mixed'
  }

  /** The session behind the one that has all keys. One that was deleted is passed over, like by everybody else. */
  async #nextSession(): Promise<Session<object>> {
    for (let n = this.#number + 1; ; n++) {
      const session = this.#open(n)
      if ((await this.#statusOf(session)) !== 'deleted') return session
    }
  }

  async #purge(session: string): Promise<void> {
    await purgeNow(this.#required, this.#required.engine.name(KEY_SPACE, session))
  }

  async #statusOf(session: Session<object>): Promise<'absent' | 'live' | 'deleted'> {
    return (await new Handle(this.#required, session.id).state()).status
  }

  async #make(id: string, journal: string): Promise<DataKey> {
    const [master] = this.#masters
    if (master === undefined) throw keyMissing('locked')
    await this.check()
    const message = await wrap(randomBytes(32), id, journal, master)
    for (;;) {
      const session = await this.#session()
      await put(session, id, message)
      const found = await this.#read(id)
      if (found === 'destroyed') throw keyMissing('gone')
      if (found !== undefined) return found
    }
  }

  /** Whoever made a key may have died before it was there twice: nothing is sealed with one that a rotten line could cost. */
  async #complete(id: string): Promise<void> {
    const session = await this.#session()
    const [message, copy] = [await messageOf(session, id), await messageOf(session, copyOf(id))]
    const key = message === undefined ? undefined : wrappedOf(message)
    if (key !== undefined && copy === undefined) await put(session, id, key)
  }

  async #read(id: string): Promise<DataKey | 'destroyed' | undefined> {
    for (;;) {
      const session = await this.#session()
      const number = this.#number
      const message = await messageOf(session, id)
      if (message === undefined) {
        if ((await this.#statusOf(session)) === 'deleted') continue
        if (number === this.#number) return undefined
        continue
      }
      const key = wrappedOf(message)
      if (key === undefined) return 'destroyed'
      return this.#unwrapped(id, key)
    }
  }

  async #unwrapped(id: string, key: WrappedKey): Promise<DataKey> {
    return new DataKey(id, key.journal, await this.#secret(id, key))
  }

  async #secret(id: string, { master: by, wrapped }: WrappedKey): Promise<Uint8Array> {
    if (this.#masters.length === 0) throw keyMissing('locked')
    const master = this.#masters.find((one) => one.id === by)
    if (master === undefined) throw keyMissing('wrong')
    try {
      return await master.unwrap(Buffer.from(wrapped, 'base64'), id)
    } catch (error) {
      if (error instanceof HoldfastError) throw error
      throw new HoldfastError('UNREADABLE', 'The master key could not unwrap the key of this session. Nothing was changed; try again.', {
        details: { reason: 'wrong master key' },
        cause: error,
      })
    }
  }

  /** The session that has all keys. */
  async #session(): Promise<Session<object>> {
    for (;;) {
      const session = this.#open(this.#number)
      if ((await this.#statusOf(session)) !== 'deleted') return session
      this.#number++
    }
  }

  #open(number: number): Session<object> {
    const parts = this.#required
    this.#own.add(parts.engine.name(KEY_SPACE, keySession(number)))
    return new Session<object>(parts, keySession(number))
  }

  get #required(): StoreParts {
    if (this.#parts === undefined) throw new TypeError('The ring of keys was used before it was attached.')
    return this.#parts
  }

  #keep(id: string, key: Promise<DataKey>): void {
    this.#kept.delete(id)
    this.#kept.set(id, { key, untilMs: this.#nowMs() + KEPT_MS })
    if (this.#kept.size > KEPT_KEYS) this.#kept.delete(this.#kept.keys().next().value as string)
    // What failed is asked for again: the key may have been put there since.
    key.catch(() => this.#kept.delete(id))
  }

  #nowMs(): number {
    return this.#required.clock.monotonicMs()
  }
}

/** Made from the journal's name, so that processes that make one at the same time make one. */
function keyId(journal: string): string {
  return hash('sha256', `key of ${journal}`, 'hex').slice(0, 32)
}

async function wrap(secret: Uint8Array, id: string, journal: string, master: MasterKey): Promise<WrappedKey> {
  return { journal, master: master.id, wrapped: Buffer.from(await master.wrap(secret, id)).toString('base64') }
}

function wrappedOf(message: object): WrappedKey | undefined {
  return 'wrapped' in message ? (message as WrappedKey) : undefined
}

/** Puts a key there twice. If another process was first with it, what that one has put is what is put again. */
async function put(session: Session<object>, id: string, key: WrappedKey): Promise<void> {
  await session.append(key, { ids: [id] }).catch(ifConflict)
  const first = await messageOf(session, id)
  if (first !== undefined && wrappedOf(first) !== undefined) await session.append(first, { ids: [copyOf(id)] }).catch(ifConflict)
}

/** Another process was first, or has wrapped all keys anew: whoever reads it next finds out which. */
function ifConflict(error: unknown): void {
  if (!(error instanceof HoldfastError) || error.code !== 'CONFLICT') throw error
}

function ifMissing(error: unknown): void {
  if (!(error instanceof HoldfastError) || (error.code !== 'NOT_FOUND' && !isUnknownInDamage(error))) throw error
}

/** No key with this id can be read. The index has none either, or the error would not count places. */
function isUnknownInDamage({ code, details }: HoldfastError): boolean {
  return code === 'DAMAGED' && details.places !== undefined
}

/** Takes the place of a key that was destroyed before it was there, so that nobody who is late puts it. */
const DESTROYED = { destroyed: true }

async function destroyIn(session: Session<object>, id: string): Promise<void> {
  for (const one of [id, copyOf(id)]) {
    // Unless it is there by now, because somebody has put it between, what stands there has rotted.
    if (!(await holds(session, one))) await session.append(DESTROYED, { ids: [one] }).catch(ifConflict)
    if (await holds(session, one)) await session.erase(one)
  }
}

async function holds(session: Session<object>, id: string): Promise<boolean> {
  return (await session.message(id).catch(ifMissing)) !== undefined
}

function copyOf(id: string): string {
  return `${id}.copy`
}

async function messageOf(session: Session<object>, id: string): Promise<object | undefined> {
  try {
    return (await session.message(id))?.message ?? (await session.message(copyOf(id)))?.message
  } catch (error) {
    // There is no ring yet, or it was wrapped anew since.
    if (error instanceof HoldfastError && error.code === 'NOT_FOUND') return undefined
    if (error instanceof HoldfastError && error.code === 'DAMAGED') return (await session.message(copyOf(id)).catch(ifMissing))?.message
    throw error
  }
}

/** Every key that was ever put there; undefined in place of what was destroyed. */
async function* keysIn(session: Session<object>): AsyncGenerator<{ id: string; key: WrappedKey | undefined }> {
  for (let page = await session.messages({ from: 'start' }); ; ) {
    for (const { id, message } of page.messages) {
      // By its copy too, if that is all that can be read of it.
      yield { id: id.replace(/\.copy$/, ''), key: wrappedOf(message) }
    }
    const after = page.messages.at(-1)?.id
    if (!page.more || after === undefined) return
    page = await session.messages({ after, limit: LIMITS.pageMessages })
  }
}
