/** What adapters need of a store: a directory opened in this process and a store at a server both have it. */

import { createHash } from 'node:crypto'
import { type ErrorCode, type ErrorReason, HoldfastError } from '../errors.ts'
import { shellWord } from '../journal/command-words.ts'
import type { Message } from '../message/shapes.ts'
import type { Description } from '../session/records.ts'
import type { SessionApi } from '../store/api/session-api.ts'
import type { CreateOptions, StoreApi } from '../store/api/store-api.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { StoredEntry } from '../store/messages/entries.ts'
import type { StoredMessage } from '../store/messages/stored-message.ts'
import type { Page, PageOptions } from '../store/messages/transcript.ts'
import { damageText, distinctPlaces, placesInHeader } from '../wire/damage.ts'

export type AdapterSession<M extends object = Message> = Pick<
  SessionApi<M>,
  | 'id'
  | 'append'
  | 'replaceTail'
  | 'replace'
  | 'messages'
  | 'message'
  | 'revert'
  | 'putEntries'
  | 'entry'
  | 'entries'
  | 'describe'
  | 'info'
  | 'version'
  | 'delete'
  | 'follow'
>

export interface AdapterStore extends Pick<StoreApi, 'list'> {
  session<M extends object = Message>(id: string): AdapterSession<M>
  create<M extends object = Message>(options: CreateOptions): Promise<AdapterSession<M>>
}

/** Called when a read lacks messages or entries that were written. */
export type OnDamage = (damage: readonly DamagedPlace[], session: string) => void

export interface DamageOptions {
  /**
   * Called when a read of messages or entries lacks some that were written; the read still returns the others. Defaults to a warning of the process
   * with the code `HOLDFAST_DAMAGE`, once for each place.
   */
  readonly onDamage?: OnDamage | undefined
}

const warned = new Set<string>()
/** Beyond this many places, warnings add nothing. */
const MOST_WARNINGS = 1000

const warn: OnDamage = (damage, session) => {
  const news = damage.filter(({ position, reason, session: of = session }) => {
    const place = JSON.stringify([of, position, reason])
    if (warned.has(place) || warned.size >= MOST_WARNINGS) return false
    warned.add(place)
    return true
  })
  if (news.length === 0) return
  const text = `Session "${session}": ${damageText(news)}. Run \`holdfast doctor ${shellWord(session)}\` to see what to do.`
  process.emitWarning(text, { type: 'HoldfastWarning', code: 'HOLDFAST_DAMAGE' })
}

export function reportDamage(session: string, damage: readonly DamagedPlace[], onDamage: OnDamage = warn): void {
  if (damage.length > 0) onDamage(damage, session)
}

/** The last value of an entry. One that cannot be read is as good as none here, and is reported. */
export async function entryIn(
  session: Pick<AdapterSession, 'id' | 'entry'>,
  channel: string,
  key: string,
  onDamage?: OnDamage,
): Promise<StoredEntry | undefined> {
  const entry = await session.entry(channel, key).catch((error: unknown) => reportUnknown(session.id, error, onDamage))
  reportDamage(session.id, entry?.damage ?? [], onDamage)
  return entry
}

/** The entries of a channel, the newest first. What cannot be read of them is reported. */
export async function* entriesIn(
  session: Pick<AdapterSession, 'id' | 'entries'>,
  channel: string,
  onDamage?: OnDamage,
): AsyncGenerator<StoredEntry> {
  try {
    for await (const entry of session.entries(channel)) {
      reportDamage(session.id, entry.damage ?? [], onDamage)
      yield entry
    }
  } catch (error) {
    reportUnknown(session.id, error, onDamage)
  }
}

/** Nothing was found in a damaged session, and what cannot be read may have held it. Throws every other error again. */
function reportUnknown(session: string, error: unknown, onDamage?: OnDamage): undefined {
  if (!hasCode(error, 'DAMAGED') || (error as HoldfastError).details.places === undefined) throw error
  reportDamage(session, placesInHeader(String((error as HoldfastError).details.places)), onDamage)
}

const PAGE = 1000

/** The newest messages of a branch, oldest first, those in archives too; all of them unless a limit is told. None if there is no session. */
export async function newestMessages<M extends object>(
  session: Pick<AdapterSession<M>, 'id' | 'messages'>,
  { limit = Number.POSITIVE_INFINITY, branch, onDamage }: { readonly limit?: number; readonly branch?: string } & DamageOptions = {},
): Promise<StoredMessage<M>[]> {
  const pages: (readonly StoredMessage<M>[])[] = []
  const damage: DamagedPlace[] = []
  let count = 0
  let options: PageOptions = { archived: true, ...(branch === undefined ? {} : { branch }) }
  while (count < limit) {
    const page = await ifThere(() => session.messages({ ...options, limit: Math.min(PAGE, limit - count) }))
    damage.push(...(page?.damage ?? []))
    const [oldest] = page?.messages ?? []
    if (oldest === undefined) break
    pages.push((page as Page<M>).messages)
    count += (page as Page<M>).messages.length
    if (!(page as Page<M>).more) break
    // What is appended meanwhile does not move this.
    options = { ...options, before: oldest.id }
  }
  reportDamage(session.id, distinctPlaces(damage), onDamage)
  return pages.reverse().flat()
}

/** Undefined of a session that nobody has written to yet. One that was deleted is an error: it is not empty, it is gone. */
export async function ifThere<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (hasReason(error, 'absent')) return undefined
    throw error
  }
}

/** Where a framework has no word for it, a session that was deleted is as good as one that never was. */
export async function ifKept<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ifThere(read)
  } catch (error) {
    if (hasReason(error, 'deleted') || hasReason(error, 'purged')) return undefined
    throw error
  }
}

/** The version of a session, which is made if there is none; one that was deleted begins anew. */
export async function begun(
  store: AdapterStore,
  session: Pick<AdapterSession, 'id' | 'info' | 'version'>,
  description: Description,
): Promise<string> {
  const version = await ifKept(async () => (await session.info()).version)
  if (version !== undefined) return version
  try {
    await store.create({ id: session.id, ...description })
  } catch (error) {
    // Another process was first.
    if (!hasCode(error, 'ALREADY_EXISTS')) throw error
  }
  return session.version()
}

/** Names of frameworks may be longer than keys and ids. */
export function shortened(name: string): string {
  return Buffer.byteLength(name) <= 400 ? name : createHash('sha256').update(name).digest('hex')
}

export function hasReason(error: unknown, reason: ErrorReason): boolean {
  return error instanceof HoldfastError && error.details.reason === reason
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof HoldfastError && error.code === code
}
