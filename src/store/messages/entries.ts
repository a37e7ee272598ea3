/** Entries: data of adapters beside the messages of a session, by channel and key. */
import { HoldfastError } from '../../errors.ts'
import { type Found, Records } from '../../journal/records.ts'
import { jsonBytes, PageBudget } from '../../record/json-bytes.ts'
import { LIMITS } from '../../record/limits.ts'
import type { Json } from '../../record/record.ts'
import { checkId, checkLimit, checkList, invalid, jsonText } from '../../session/check.ts'
import { type DamagedPlace, withoutRepeated } from '../../session/damaged-places.ts'
import * as decide from '../../session/decide.ts'
import { entryKey } from '../../session/record-keys.ts'
import type { Entry, EntryPut } from '../../session/records.ts'
import type { SessionState } from '../../session/state.ts'
import { BranchDamage, notReadable } from '../damage/branch-damage.ts'
import { type Handle, type WriteOptions, type Written, written } from '../handle.ts'
import { pageCursor, placeIn, staleCursor } from '../page-cursor.ts'
import type { WriterParts } from '../parts.ts'
import { admit, admitAmount } from './admission.ts'
import { Journals } from './journals.ts'

/** An entry, with the time at which it was put. */
export interface StoredEntry {
  readonly channel: string
  readonly key: string
  readonly value: Json
  readonly at: string
  /**
   * What cannot be read and may have changed this entry. In a list: what cannot be read between this entry and the one before it, which may
   * have put others. Left out if there is nothing, and after the damage was accepted.
   */
  readonly damage?: readonly DamagedPlace[]
}

/** Entries as they are to be written: as the opener admits them, and as JSON has them. */
export function entriesToPut({ parts, id }: Pick<Handle<WriterParts>, 'parts' | 'id'>, entries: readonly Entry[]): Entry[] {
  checkList('entries', entries)
  if (entries.length === 0 || entries.length > LIMITS.messagesPerRecord) {
    throw invalid(`One call puts 1 to ${LIMITS.messagesPerRecord} entries; got ${entries.length}.`)
  }
  const wrong = entries.findIndex((entry) => typeof entry !== 'object' || entry === null)
  if (wrong !== -1) throw invalid(`An entry must be an object with \`channel\`, \`key\` and \`value\`; number ${wrong + 1} is not.`)
  const admitted = entries.map((entry) => ({ ...entry, value: admit(parts, id, 'entry', entry).value }))
  return admitted.map(({ channel, key, value }) => ({
    channel: checkId('A channel', channel),
    key: checkId('The key of an entry', key),
    ...(value === undefined ? {} : { value: jsonText('The value of an entry', value).value }),
  }))
}

export async function putEntries(handle: Handle<WriterParts>, entries: readonly Entry[], options: WriteOptions): Promise<Written> {
  const copies = entriesToPut(handle, entries)
  if (handle.parts.quotas !== undefined) await admitAmount(handle, { bytes: JSON.stringify(copies).length })
  const terms = handle.terms('putEntries', copies, options)
  return written(await handle.submitCreating(terms, (full) => decide.putEntries(full, copies)))
}

/** The last value of an entry that can be read: for the store's own settings. Callers get `entryOf`. */
export async function readEntry(handle: Handle, channel: string, key: string): Promise<StoredEntry | undefined> {
  await handle.liveState()
  return (await lastPut(handle, channel, key)).entry
}

/**
 * The last value of an entry, with what cannot be read and may have changed it. Throws DAMAGED if there is none, and a record that cannot be
 * read may have put it.
 */
export async function entryOf(handle: Handle, channel: string, key: string): Promise<StoredEntry | undefined> {
  const state = await handle.liveState()
  const { entry, at } = await lastPut(handle, channel, key)
  const losses = lossesOf(handle, state)
  const damage = await losses.openLosses([{ session: handle.id, after: at ?? state.born - 1, before: Number.POSITIVE_INFINITY }])
  if (entry !== undefined) return withDamage(entry, damage)
  // A checkpoint has the names of all channels, so only a record after it can have put the first entry of one.
  const isKnown = state.channels.some(({ name }) => name === channel)
  const places = at === undefined && isKnown ? await losses.openPlaces() : damage.length
  if (places > 0) throw notReadable(`The entry "${key}" of channel "${channel}"`, 'entries', { channel, key, places })
  return undefined
}

/** The last record that put an entry. Without a value, it removed it. */
async function lastPut(handle: Handle, channel: string, key: string): Promise<{ entry?: StoredEntry; at?: number }> {
  const { replica, journal } = handle.held
  const [known] = await replica.find([entryKey(checkId('A channel', channel), checkId('The key of an entry', key))])
  if (known === undefined) return {}
  const found = await new Records(journal).at(known.at)
  const entry = found === undefined ? undefined : putIn(found).entries[known.index]
  if (found === undefined || entry === undefined) {
    throw new HoldfastError('DAMAGED', 'The entry was written, but its record cannot be read. Run `holdfast doctor`.', {
      details: { channel, key, position: known.at },
    })
  }
  const { value } = entry
  return { at: known.at, ...(value === undefined ? {} : { entry: { ...entry, value, at: found.record.at } }) }
}

/** The entries of a channel with their last values that can be read, the newest first: for the store's own settings. Callers get `entriesOf`. */
export async function* readEntries(handle: Handle, channel: string): AsyncGenerator<StoredEntry> {
  for await (const { entry } of entriesIn(handle, await handle.liveState(), channel)) yield entry
}

/** The same. Each entry has what cannot be read between it and the one before it; the last one also what cannot be read after it. */
export async function* entriesOf(handle: Handle, channel: string): AsyncGenerator<StoredEntry> {
  for await (const { entry } of placedEntries(handle, channel)) yield entry
}

export interface EntryPageOptions {
  /** The largest number of entries, up to 1000. Defaults to 1000. A page has fewer where they are large: it holds about 4 MiB, or one entry. */
  readonly limit?: number
  /** The cursor of the page before. Null begins at the first page. */
  readonly cursor?: string | null | undefined
}

export interface EntryPage {
  /** The newest first. */
  readonly entries: readonly StoredEntry[]
  /** The cursor of the next page, or null on the last one. */
  readonly cursor: string | null
}

/** A page of the same. An entry that is put again between two pages may come twice. */
export async function entryPage(
  handle: Handle,
  channel: string,
  { limit = LIMITS.pageMessages, cursor }: EntryPageOptions,
): Promise<EntryPage> {
  checkLimit(limit, LIMITS.pageMessages)
  const of = ['entries', channel]
  const from = cursor == null ? undefined : entryPlace(cursor, of)
  const budget = new PageBudget(LIMITS.pageBytes)
  const entries: StoredEntry[] = []
  for await (const { entry, place } of placedEntries(handle, channel, from)) {
    if (entries.length === limit || !budget.add(jsonBytes(entry.value))) return { entries, cursor: pageCursor(of, place) }
    entries.push(entry)
  }
  return { entries, cursor: null }
}

/** Where an entry stands: the record, which of its entries it is, and the last record of the channel when the first page was read. */
type EntryPlace = readonly [position: number, index: number, newest: number]

interface PlacedEntry {
  readonly entry: StoredEntry
  readonly place: EntryPlace
}

function entryPlace(cursor: string, of: readonly unknown[]): EntryPlace {
  const place = placeIn(cursor, of)
  if (place.length !== 3 || !place.every((number) => Number.isSafeInteger(number) && (number as number) >= 0)) throw staleCursor()
  return place as unknown as EntryPlace
}

async function* placedEntries(handle: Handle, channel: string, from?: EntryPlace): AsyncGenerator<PlacedEntry> {
  const state = await handle.liveState()
  const losses = lossesOf(handle, state)
  const after = lastLink(state, channel) ?? state.born - 1
  // What was lost after the newest entry is in the first page.
  let damage =
    from === undefined ? await losses.openLosses([{ session: handle.id, after, before: Number.POSITIVE_INFINITY }]) : ([] as DamagedPlace[])
  const links: number[] = []
  const met = async (): Promise<DamagedPlace[]> => {
    const records = await losses.records(links.splice(0).map((position) => ({ session: handle.id, position })))
    const places = withoutRepeated([...damage, ...records.filter(({ accepted }) => accepted !== true)])
    damage = []
    return places
  }
  let held: PlacedEntry | undefined
  for await (const placed of entriesIn(handle, state, channel, { from, onLost: (position) => links.push(position) })) {
    if (held !== undefined) yield held
    held = { ...placed, entry: withDamage(placed.entry, await met()) }
  }
  const rest = await met()
  if (held !== undefined) yield { ...held, entry: withDamage(held.entry, rest) }
  else if (rest.length > 0 && from === undefined)
    throw notReadable(`An entry of channel "${channel}"`, 'entries', { channel, places: rest.length })
}

interface EntryReading {
  readonly from?: EntryPlace | undefined
  /** Is called with the position of a record that the chain names and that cannot be read. */
  readonly onLost?: (position: number) => void
}

async function* entriesIn(
  handle: Handle,
  state: SessionState,
  channel: string,
  { from, onLost }: EntryReading = {},
): AsyncGenerator<PlacedEntry> {
  const records = new Records(handle.held.journal)
  const newest = from?.[2] ?? lastLink(state, channel) ?? 0
  const seen = new Set<string>()
  for (let at: number | null = from?.[0] ?? lastLink(state, channel); at !== null; ) {
    const link = await records.at(at)
    if (link === undefined) onLost?.(at)
    // A link that rotted: what stands before it is found by looking at every record.
    const found: Found | undefined = link ?? (await lastBefore(records, state, channel, at))
    if (found === undefined) return
    const { entries, before } = putIn(found)
    // A cursor may name any record.
    if (!Array.isArray(entries) || !Array.isArray(before)) throw staleCursor()
    for (const [index, entry] of [...entries.entries()].reverse()) {
      if (entry.channel !== channel || seen.has(entry.key) || (found.at === from?.[0] && index > from[1])) continue
      seen.add(entry.key)
      if (entry.value === undefined || (from !== undefined && (await wasListed(handle, entry, [found.at, index, newest])))) continue
      yield { entry: { ...entry, value: entry.value, at: found.record.at }, place: [found.at, index, newest] }
    }
    at = before.find(([name]) => name === channel)?.[1] ?? null
  }
}

/** Whether an earlier page had a later value of an entry, or knew that it was removed. */
async function wasListed(handle: Handle, { channel, key }: Entry, [position, index, newest]: EntryPlace): Promise<boolean> {
  const [known] = await handle.held.replica.find([entryKey(channel, key)])
  if (known === undefined || known.at > newest) return false
  return known.at > position || (known.at === position && known.index > index)
}

function lastLink({ channels }: SessionState, channel: string): number | null {
  return channels.find(({ name }) => name === channel)?.last ?? null
}

function lossesOf({ parts, id }: Handle, state: SessionState): BranchDamage {
  return new BranchDamage(new Journals(parts, id), id, state)
}

function withDamage(entry: StoredEntry, damage: readonly DamagedPlace[]): StoredEntry {
  return damage.length === 0 ? entry : { ...entry, damage: [...(entry.damage ?? []), ...damage] }
}

async function lastBefore(records: Records, { born }: SessionState, channel: string, at: number): Promise<Found | undefined> {
  for await (const found of records.backward(born, at - 1)) {
    if (putIn(found).entries?.some((entry) => entry.channel === channel)) return found
  }
  return undefined
}

/** Records of messages may have entries too; others have none. */
function putIn({ record }: Found): EntryPut {
  return record as unknown as EntryPut
}
