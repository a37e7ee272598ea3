/** Entries: data of adapters beside the messages of a session, by channel and key. */
import { HoldfastError } from '../../errors.ts'
import { type Found, Records } from '../../journal/records.ts'
import { LIMITS } from '../../record/limits.ts'
import type { Json } from '../../record/record.ts'
import { checkId, invalid, jsonText } from '../../session/check.ts'
import * as decide from '../../session/decide.ts'
import { entryKey } from '../../session/record-keys.ts'
import type { Entry, EntryPut } from '../../session/records.ts'
import type { SessionState } from '../../session/state.ts'
import { type Handle, type WriteOptions, type Written, written } from '../handle.ts'
import { admit, admitAmount } from './admission.ts'

/** An entry, with the time at which it was put. */
export interface StoredEntry {
  readonly channel: string
  readonly key: string
  readonly value: Json
  readonly at: string
}

/** Entries as they are to be written: as the opener admits them, and as JSON has them. */
export function entriesToPut({ parts, id }: Pick<Handle, 'parts' | 'id'>, entries: readonly Entry[]): Entry[] {
  if (entries.length === 0 || entries.length > LIMITS.messagesPerRecord) {
    throw invalid(`One call puts 1 to ${LIMITS.messagesPerRecord} entries; got ${entries.length}.`)
  }
  const admitted = entries.map((entry) => ({ ...entry, value: admit(parts, id, 'entry', entry).value }))
  return admitted.map(({ channel, key, value }) => ({
    channel: checkId('A channel', channel),
    key: checkId('The key of an entry', key),
    ...(value === undefined ? {} : { value: jsonText('The value of an entry', value).value }),
  }))
}

export async function putEntries(handle: Handle, entries: readonly Entry[], options: WriteOptions): Promise<Written> {
  const copies = entriesToPut(handle, entries)
  if (handle.parts.quotas !== undefined) await admitAmount(handle, { bytes: JSON.stringify(copies).length })
  const terms = handle.terms('putEntries', copies, options)
  return written(await handle.submitCreating(terms, (full) => decide.putEntries(full, copies)))
}

export async function readEntry(handle: Handle, channel: string, key: string): Promise<StoredEntry | undefined> {
  const { replica, journal } = handle.held
  await handle.liveState()
  const [known] = await replica.find([entryKey(checkId('A channel', channel), checkId('The key of an entry', key))])
  if (known === undefined) return undefined
  const found = await new Records(journal).at(known.at)
  const entry = found === undefined ? undefined : putIn(found).entries[known.index]
  if (found === undefined || entry === undefined) {
    throw new HoldfastError('DAMAGED', 'The entry was written, but its record cannot be read. Run `holdfast doctor`.', {
      details: { channel, key, position: known.at },
    })
  }
  return entry.value === undefined ? undefined : { ...entry, value: entry.value, at: found.record.at }
}

/** The entries of a channel with their last values, the newest first. */
export async function* readEntries(handle: Handle, channel: string): AsyncGenerator<StoredEntry> {
  const state = await handle.liveState()
  const records = new Records(handle.held.journal)
  const seen = new Set<string>()
  for (let at: number | null = state.channels.find(({ name }) => name === channel)?.last ?? null; at !== null; ) {
    // A link that rotted: what stands before it is found by looking at every record.
    const found: Found | undefined = (await records.at(at)) ?? (await lastBefore(records, state, channel, at))
    if (found === undefined) return
    const { entries, before } = putIn(found)
    for (const entry of entries.toReversed()) {
      if (entry.channel !== channel || seen.has(entry.key)) continue
      seen.add(entry.key)
      if (entry.value !== undefined) yield { ...entry, value: entry.value, at: found.record.at }
    }
    at = before.find(([name]) => name === channel)?.[1] ?? null
  }
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
