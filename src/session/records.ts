/**
 * The payloads of the records that a session writes: what stands in a line beside id, time, type, parent, prev, pos and crc. Everything
 * is absolute; no payload says "the current one". A field that is absent was not part of the operation; null takes a value away.
 */

import type { NoticedGap } from '../record/damage.ts'
import type { ErasedLine } from '../record/erasure.ts'
import type { Json, JsonObject } from '../record/record.ts'
import type { Policies } from './policies.ts'
import type { AcceptedGap, Archive, Parent, Past, Point, Run, Stretch } from './state.ts'

/** Every record of a caller may carry the key of its operation, with a digest of what the caller had sent. */
export interface Keyed {
  readonly key?: string
  readonly digest?: string
}

export interface Description {
  readonly title?: string | null
  /** All tags, not a change of them. */
  readonly tags?: readonly string[]
  readonly owner?: string | null
  readonly workspace?: string | null
  /** A patch: null removes a field. */
  readonly metadata?: JsonObject
  /** A patch: null removes a policy. */
  readonly policies?: Policies
}

export interface SessionCreated extends Keyed, Description {
  readonly space: string
  readonly session: string
  readonly from?: Parent
  /** The messages that a fork begins with, the tokens in them, and the archives that hold some of them. */
  readonly past?: readonly Past[]
  readonly tokens?: number
  readonly archives?: readonly Archive[]
  /** How many replacements may concern those messages. */
  readonly replaced?: number
}

export interface MessagesAppended extends Keyed {
  readonly messages: readonly Json[]
  /** Ids that the caller gave; null where the id is made from the record's own. Absent if all are. */
  readonly ids?: readonly (string | null)[]
  /** When each was said, if that was elsewhere; null, or absent: when the record says. */
  readonly times?: readonly (string | null)[]
  /** What the calls took that some of them came from, of what was imported: recorded once, as they are. */
  readonly usage?: readonly MessageUsage[]
  /** Messages and tokens on the way to the first of these, and the tokens of these. */
  readonly n: number
  readonly t: number
  readonly tokens: number
  /** The run that these go on; absent if they begin one. What the records before say too, one of which may have rotted. */
  readonly run?: Run
  /** Where the head was, if these messages do not follow it. */
  readonly left?: Point
  /** Data that was put with them, as `entry.put` has it. */
  readonly entries?: EntryPut['entries']
  readonly before?: EntryPut['before']
}

export interface MessageReplaced extends Keyed {
  readonly target: string
  readonly message: Json
  /** Digest of the content that it replaces. */
  readonly old: string
  /** Position of the record that replaced it before; null if that was the first. */
  readonly prior: number | null
}

/**
 * A message is erased: from this record on nobody shows it; then its bytes are written over, and those of everything that was made from it. Or
 * all of that was done (`done`, the position of the record that said so).
 */
export interface MessageErased extends Keyed {
  readonly target: string
  /** What stays of it. */
  readonly role: string | null
  readonly lines: readonly ErasedLine[]
  /** Archives, by number, whose summary and memories were made from it: they are to be made anew. */
  readonly archives: readonly number[]
  /** Tasks of archives that a fork had inherited with it, and no longer has. */
  readonly dropped: readonly string[]
  /** What was made from it stays: nobody took it back, its time was over. */
  readonly keeps?: true
  /** The archive whose body is gone with it, by number. */
  readonly ends?: number
  readonly done?: number
}

/** What is shown in the place of an erased message. */
export function tombstone(role: string | null): JsonObject {
  return role === null ? { content: '[erased]' } : { role, content: '[erased]' }
}

export interface EntryPut extends Keyed {
  readonly entries: readonly Entry[]
  /** For each channel the record with the entries before these. */
  readonly before: readonly (readonly [channel: string, position: number | null])[]
}

export interface Entry {
  readonly channel: string
  readonly key: string
  /** Absent: the entry was removed. */
  readonly value?: Json
}

export interface SnapshotTaken extends Keyed {
  readonly name: string
  readonly point: Point
}

export interface HeadMoved extends Keyed {
  readonly to: Point
  readonly left: Point
  readonly why: 'revert' | 'undo'
  /** What the caller named: a snapshot or a message. */
  readonly target?: string
}

export interface ForkGranted extends Keyed {
  readonly session: string
  readonly kind: 'fork' | 'child'
  readonly message: string | null
}

export interface ForkReleased {
  readonly session: string
  /** Only what this incarnation had granted. */
  readonly born?: number
}

export interface CommitRequested extends Keyed {
  readonly archive: number
  readonly takes: readonly Stretch[]
  readonly covers: readonly Stretch[]
  readonly n: number
  readonly t: number
}

export interface CommitLeased {
  readonly archive: number
  /** Attempts so far, this one included. */
  readonly attempts: number
  readonly worker: string
  readonly ms: number
}

/** Holds everything that the archive needs, so that it is whole even if the request has rotted. */
export interface CommitFinished extends Pick<CommitRequested, 'archive' | 'takes' | 'covers' | 'n' | 't'> {
  readonly task: string
  /** Of an archive that was imported whole: it has no request of its own. */
  readonly requestedAt?: string
  readonly attempts: number
  readonly abstract: string
  readonly overview: string
  readonly memories: readonly ExtractedMemory[]
  /** Whom the memories belong to. */
  readonly owner: string | null
  readonly model: string
  /** What it took, if the model told. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}

export interface CommitFailed {
  readonly archive: number
  /** Attempts spent so far. */
  readonly attempts: number
  readonly error: { readonly code: string; readonly message: string }
  /** Another attempt follows, after so long. */
  readonly again: boolean
  readonly waitMs: number
}

/** What an archive adds to what is known of an owner. */
export interface ExtractedMemory {
  readonly id: string
  /** Memories of one owner with the same key are one: the last one counts. */
  readonly key: string
  readonly category: string
  /** Absent: what was known under the key no longer holds. */
  readonly text?: string
  /** Ids of the messages that it comes from. */
  readonly sources: readonly string[]
}

export interface UsageRecorded extends ModelCall, Keyed {}

/** One call to a model. */
export interface ModelCall {
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/** The one that a message of the record came from. */
export interface MessageUsage extends ModelCall {
  readonly index: number
}

export interface ShareGranted extends Keyed {
  readonly share: string
  /** Digest of the token that opens it. */
  readonly token: string
  /** The last message that it shows. */
  readonly point: Point
  readonly expiresAt: string | null
  /** Shows no secrets. */
  readonly redact?: boolean
}

/** What its writer could not read after the last message: the next message takes the place of what was lost there. */
export interface DamageNoticed {
  readonly gaps: readonly NoticedGap[]
}

export interface DamageAcknowledged {
  readonly findings: readonly AcknowledgedDamage[]
  /** What was lost, where the doctor's findings do not say it. */
  readonly gaps?: readonly AcceptedGap[]
  /** Whose journal this is, where the record that said it was lost. */
  readonly space?: string
  readonly session?: string
}

/** What was found, as the doctor names it. */
export interface AcknowledgedDamage {
  readonly kind: string
  readonly segment: number | null
  readonly offset: number | null
  readonly length: number | null
}

export interface ShareRevoked extends Keyed {
  readonly share: string
}

/** The id of a message: what the caller gave, or else the id of its record, with its index unless it is the first. */
export function messageId(recordId: string, ids: readonly (string | null)[] | undefined, index: number): string {
  return ids?.[index] ?? (index === 0 ? recordId : `${recordId}.${index}`)
}
