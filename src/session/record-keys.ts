/** Which keys the records of a session hold: what makes a call that is tried twice happen once, and finds messages and entries by name. */
import type { Counted } from '../record/fold.ts'
import { hashKey, type KeyEntry, type KeyHash, type MadeIds } from '../record/key-hash.ts'
import { isEncrypted } from '../record/line-cipher.ts'
import { digestOf } from './json-text.ts'
import { type EntryPut, type Keyed, type MessageErased, type MessageReplaced, type MessagesAppended, messageId } from './records.ts'

/** Of a message whose id was made for it: nobody can send that id before. */
export const NO_DIGEST = '0'.repeat(32)

/** The keys of an encrypted record as its line has them; a digest is '' if there is none. */
export type RecordKeys = readonly (readonly [key: KeyHash, index: number, digest: string])[]

export function keysOf(counted: Counted): readonly KeyEntry[] {
  const made = madeIds(counted)
  return made === undefined ? sentKeys(counted) : [...sentKeys(counted), ...keysOfMade(made)]
}

/** The messages of a record whose writer had given none of them an id. */
export function madeIds({ record, at, end, crc }: Counted): MadeIds | undefined {
  const { type, id, messages, ids, keys } = record
  if (type !== 'messages.appended' || ids !== undefined || (isEncrypted(record) && keys !== undefined)) return undefined
  // One message alone is encrypted as such.
  return { id, count: Array.isArray(messages) ? messages.length : 1, at, length: end - at, crc }
}

export function keysOfMade({ id, count, at, length, crc }: MadeIds): readonly KeyEntry[] {
  return Array.from({ length: count }, (_, index) => {
    return { key: hashKey('message', messageId(id, undefined, index)), at, length, crc, index, digest: NO_DIGEST }
  })
}

/** All the others. */
export function sentKeys({ record, hashes, at, end, crc }: Counted): readonly KeyEntry[] {
  const entries: KeyEntry[] = []
  const add = (key: KeyHash, index: number, digest: string): void => {
    entries.push({ key, at, length: end - at, crc, index, digest })
  }
  if (isEncrypted(record)) {
    // Its writer has listed them, with digests that say nothing without the key, so that nobody needs to open it for them.
    for (const [hash, index, blinded] of (record.keys as RecordKeys | undefined) ?? [])
      add(hash, index, blinded === '' ? NO_DIGEST : blinded)
    return entries
  }
  const { key, digest = NO_DIGEST } = record as Keyed
  if (typeof key === 'string') add(hashKey('operation', key), 0, digest)
  if (record.type === 'messages.appended' && record.ids !== undefined) {
    const { messages, ids } = record as unknown as MessagesAppended
    messages.forEach((message, index) => {
      const given = ids?.[index]
      add(hashes?.[index] ?? hashKey('message', messageId(record.id, ids, index)), index, given == null ? NO_DIGEST : digestOf(message))
    })
  } else if (record.type === 'message.replaced' || record.type === 'message.erased') {
    // An erased message is shown with what its last record says, like one that was replaced.
    add(hashKey('replacement', (record as unknown as MessageReplaced | MessageErased).target), 0, NO_DIGEST)
  }
  if (record.type === 'entry.put' || (record.type === 'messages.appended' && record.entries !== undefined)) {
    // Of entries with the same key in one record, the last one counts.
    const indexes = new Map((record as unknown as EntryPut).entries.map((entry, index) => [entryKey(entry.channel, entry.key), index]))
    for (const [entry, index] of indexes) add(entry, index, NO_DIGEST)
  }
  return entries
}

/** Quoted, so that no choice of channel and key can look like another. */
export function entryKey(channel: string, key: string): KeyHash {
  return hashKey('entry', JSON.stringify([channel, key]))
}
