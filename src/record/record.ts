/**
 * A record: one line of a journal, the unit of atomicity.
 *
 *     {"v":1,"id":"0198…","at":"2026-11-15T09:30:00.123Z","type":"messages.appended",…payload…,"parent":[4103,0],"prev":"9c1f02aa","pos":4711,"crc":"5be1a0c4"}\n
 *
 *     v       version of the format; a reader refuses a newer one
 *     id      of this record; the two copies of a record that is written twice share it
 *     at      when its writer made it; nothing is decided by it
 *     type    what happened; the payload follows
 *     parent  the address of the message that this one follows, where there is one
 *     prev    crc of the last record (or checkpoint) that counted before this one
 *     pos     the byte of the journal where this line must begin: it counts if it begins there, and otherwise never happened
 *     crc     CRC-32 of every byte before `,"crc":"`, the same in every version
 *
 * What a lost race changes stands last, so that a retry makes only the end of a line anew. A checkpoint carries `base` (the first
 * position of its segment) in place of `pos`. docs/format.md tells the same at length.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export const FORMAT_VERSION = 1

/** The names are fixed. A type that is not listed here is kept, counted and carried by software that does not know it. */
export type RecordType =
  | 'session.created'
  | 'session.deleted'
  | 'session.restored'
  | 'session.described'
  | 'messages.appended'
  | 'message.replaced'
  | 'message.erased'
  | 'entry.put'
  | 'snapshot.taken'
  | 'head.moved'
  | 'fork.granted'
  | 'fork.released'
  | 'commit.requested'
  | 'commit.leased'
  | 'commit.finished'
  | 'commit.failed'
  | 'commit.cancelled'
  | 'memories.retracted'
  | 'usage.recorded'
  | 'share.granted'
  | 'share.revoked'
  | 'damage.acknowledged'
  | 'segment.sealed'
  | 'checkpoint'

/** Where a message stands: the position of its record, and its index in that record. */
export type Address = readonly [position: number, index: number]

export type TextAround = readonly [before: string, bytes: Uint8Array, behind: string]

/** What a writer hands in: a record without what its place in the journal decides. */
export interface Draft {
  readonly id: string
  readonly at: string
  readonly type: RecordType
  readonly payload: JsonObject
  /** The payload as JSON, where that is known already; with well-formed bytes between two texts, where those are. */
  readonly text?: string | TextAround
  /** What its messages or calls are called, hashed, where that is known already. */
  readonly hashes?: readonly string[]
  readonly parent?: Address
}

/** A record as it was read: `type` may be one that this version does not know. */
export interface JournalRecord {
  readonly v: number
  readonly id: string
  readonly at: string
  readonly type: string
  readonly prev: string
  readonly parent?: Address
  readonly pos?: number
  readonly base?: number
  readonly [field: string]: unknown
}

/**
 * Records that take something away, and those that say whose journal this is or bring it back, are written twice in one write: one
 * rotten line must not bring back what was removed, nor remove what stands behind it.
 */
export const WRITTEN_TWICE: ReadonlySet<string> = new Set<RecordType>([
  'session.created',
  'session.deleted',
  'session.restored',
  'share.revoked',
  'message.erased',
  'memories.retracted',
  'commit.requested',
])

/**
 * Why a segment ended. `sync failed` also says from which position on its lines may not be on the disk; `damage accepted` says at which
 * position the journal continues, beyond everything that was lost.
 */
export type SealReason = 'size' | 'sync failed' | 'new incarnation' | 'purge' | 'damage accepted'
