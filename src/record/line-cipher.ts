/**
 * How the records of one journal are encrypted. An encrypted line keeps what the protocol needs in the open (its head, its stamp,
 * and the few fields that name the journal or tell what was written over) and has everything else as text that only a key can read:
 *
 *     {"v":2,"id":"0198…","at":"…","type":"messages.appended","sealed":"<key>","keys":[…],"messages":["…","…"],"data":"…","prev":"…","pos":4711,"crc":"…"}\n
 *
 *     sealed    the id of the key
 *     keys      what id files know of this record: for each key its hash, its index, and its blinded digest ('' if it has none); left out where
 *               all ids were made from the record's own
 *     messages  of a record with several messages, each encrypted separately, so that one can be taken out without the others
 *     data      the rest of the payload
 *
 * So whoever has no key can check, copy, back up and carry lines, and rebuild id files; only whoever looks into a payload needs it.
 */
import type { CheckpointDraft, Draft, JournalRecord, JsonObject } from './record.ts'

export interface LineCipher {
  /** Undefined if everything is at hand that `payload` and `state` need; otherwise resolves once it is. UNREADABLE if there is no such key. */
  ready(): Promise<void> | undefined
  /** The fields of a record, as JSON without brackets, that take the place of its payload, whose JSON is `text`. */
  payload(draft: Draft, text: string): string
  /** What `data` of a record becomes with another payload, and one of its messages. */
  data(record: Pick<JournalRecord, 'id' | 'type'>, payload: JsonObject): string
  message(record: Pick<JournalRecord, 'id' | 'type'>, index: number, message: JsonObject): string
  /** Gets ready for the next record, while the disk works on the last one. */
  prepare(): void
  /** A checkpoint's state, encrypted: every process that makes it writes the same bytes. */
  state(draft: CheckpointDraft): { readonly sealed: string; readonly state: string }
}

/** Gives a record back its payload. Undefined if it is not what was encrypted, or is at a place that it was not encrypted for. Throws if the key is not there. */
export type Open = (record: JournalRecord) => JournalRecord | undefined

/** Whether a record is one that nobody has opened. */
export function isEncrypted(record: JournalRecord): boolean {
  return record.sealed !== undefined
}
