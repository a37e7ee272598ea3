/**
 * A record: one line of a journal, the unit of atomicity.
 *
 *     {"v":2,"id":"0198…","at":"2026-11-15T09:30:00.123Z","type":"messages.appended",…payload…,"parent":[4103,0],"prev":"9c1f02aa","pos":4711,"crc":"5be1a0c4"}\n
 *
 *     v       version of the format; a reader refuses a newer one
 *     id      of this record; the two copies of a record that is written twice share it
 *     at      when its writer made it; nothing is decided by it
 *     type    what happened; the payload follows
 *     order   the time of this change in the order of the store, if the clock was behind it: lists go by it, `at` stays as the clock said
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

/**
 * The version that new lines and new stores carry. Lines of earlier versions are read as they are, also between later ones.
 *
 *     1   few types were written twice (see `isWrittenTwice`)
 *     2   every record is written twice, with the exceptions below; a seal may say where the next segment begins (`next`)
 */
export const FORMAT_VERSION = 2

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
  | 'damage.noticed'
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
  /** The time of this change in the order of the store. Defaults to `at`. */
  readonly order?: string | undefined
  readonly type: RecordType
  readonly payload: JsonObject
  /** The payload as JSON, where that is known already; with well-formed bytes between two texts, where those are. */
  readonly text?: string | TextAround | undefined
  /** What its messages or calls are called, hashed, where that is known already. */
  readonly hashes?: readonly string[] | undefined
  readonly parent?: Address | undefined
}

/** What a checkpoint says: the state up to its segment. */
export interface CheckpointDraft {
  /** First position of the segment that it opens. */
  readonly base: number
  /** Id, time and crc of the last record that it covers: helpers must make the same bytes, so nothing here is their own. */
  readonly id: string
  readonly at: string
  readonly prev: string
  /** Lines of the segment before that follow it verbatim, because their own place may not be on the disk. */
  readonly carries: number
  readonly state: JsonObject
  /** True if the state is not that of the journal, because its beginning is lost and no person has accepted that. */
  readonly unrooted?: boolean
}

/** A record as it was read: `type` may be one that this version does not know. */
export interface JournalRecord {
  readonly v: number
  readonly id: string
  readonly at: string
  readonly order?: string
  readonly type: string
  readonly prev: string
  readonly parent?: Address
  readonly pos?: number
  readonly base?: number
  readonly [field: string]: unknown
}

/**
 * How many copies of a record a writer puts into one write. Every record is written twice, except one that carries a caller's content, a lease,
 * and the two records that end and begin a segment:
 *
 *     a caller's content   `messages.appended`, `message.replaced`, `entry.put`: copies would double the journal
 *     a lease              `commit.leased`: a worker that finds none takes the task again
 *     a seal               `segment.sealed`: the successor's existence closes the segment
 *     a checkpoint         `checkpoint`: the segments before it hold the same; where those are about to be purged, it is written twice
 *
 * So one rotten line costs no title, no share, no revert and no summary. A new type does not compile until it has an answer here.
 */
const COPIES: Readonly<Record<RecordType, 1 | 2>> = {
  'session.created': 2,
  'session.deleted': 2,
  'session.restored': 2,
  'session.described': 2,
  'messages.appended': 1,
  'message.replaced': 1,
  'message.erased': 2,
  'entry.put': 1,
  'snapshot.taken': 2,
  'head.moved': 2,
  'fork.granted': 2,
  'fork.released': 2,
  'commit.requested': 2,
  'commit.leased': 1,
  'commit.finished': 2,
  'commit.failed': 2,
  'commit.cancelled': 2,
  'memories.retracted': 2,
  'usage.recorded': 2,
  'share.granted': 2,
  'share.revoked': 2,
  'damage.noticed': 2,
  'damage.acknowledged': 2,
  'segment.sealed': 1,
  checkpoint: 1,
}

export const WRITTEN_TWICE: ReadonlySet<string> = new Set(Object.entries(COPIES).flatMap(([type, copies]) => (copies === 2 ? [type] : [])))
export const RECORD_TYPES = Object.keys(COPIES) as readonly RecordType[]

/** The types that software of format 1 wrote twice. */
const TWICE_IN_FORMAT_1: ReadonlySet<string> = new Set<RecordType>([
  'session.created',
  'session.deleted',
  'session.restored',
  'share.revoked',
  'message.erased',
  'memories.retracted',
  'commit.requested',
])

/** Whether a writer of format `v` writes a record of this type twice. A type that this version does not know follows the rule: it has no exception. */
export function isWrittenTwice({ v, type }: Pick<JournalRecord, 'v' | 'type'>): boolean {
  if (v === 1) return TWICE_IN_FORMAT_1.has(type)
  return (COPIES as Readonly<Record<string, 1 | 2>>)[type] !== 1
}

/**
 * Why a segment ended. `sync failed` also says from which position on its lines may not be on the disk; `damage accepted` says at which
 * position the journal continues, beyond everything that was lost.
 */
export type SealReason = 'size' | 'sync failed' | 'new incarnation' | 'purge' | 'damage accepted'
