/**
 * The state of one session: what its journal comes to. It is a plain JSON value, because a checkpoint holds it as it is; it is never
 * changed, only replaced. It has no message bodies, ids or keys: those stay in the journal and are found by address.
 *
 * Messages form a tree that is written down as runs. A run is a row of records that follow one another in the journal, each message
 * the parent of the next; a record whose parent is not the last message written begins a new one. Any message is then named by its
 * address, and its depth is the number of messages on the way to it, itself included:
 *
 *     run at 120   m1 ─ m2 ─ m3 ─ m4          n = 0: nothing stands before its first message
 *     run at 890        └──── m5 ─ m6         n = 2, parent = address of m2
 *
 * The branch is the way from the root to the head: here m1 m2 m5 m6. Reverting moves the head; nothing is destroyed. A fork begins with
 * a past, which is a branch of other journals: it is one path, so a depth alone names a message of it.
 */
import type { NoticedGap } from '../record/damage.ts'
import type { Address, JsonObject } from '../record/record.ts'

export interface SessionState {
  readonly status: 'absent' | 'live' | 'deleted'
  /** As its first record says; null if that record rotted. */
  readonly space: string | null
  readonly id: string | null
  /** Position of the record that began this incarnation. */
  readonly born: number
  readonly createdAt: string
  /** The latest time of a change by a caller, in the order of the store (docs/decisions/0022): never before `createdAt`. */
  readonly updatedAt: string
  readonly deletedAt: string | null
  /** Its messages were removed for good, or are about to be. */
  readonly purged: boolean
  /** Of the last record of a caller. */
  readonly version: string

  readonly title: string | null
  readonly tags: readonly string[]
  readonly owner: string | null
  readonly workspace: string | null
  readonly metadata: JsonObject
  readonly policies: JsonObject

  readonly parent: Parent | null
  readonly past: readonly Past[]
  readonly runs: readonly Run[]
  /** The message that was written last, on whatever branch. */
  readonly tip: Address | null
  readonly head: Point
  /** Where the head was before it was moved: what `undo` returns to, the last one first to be used. */
  readonly undo: readonly Point[]
  /** How many messages have been given other content. None: nobody needs to look. */
  readonly replaced: number
  /** Positions of the records that erase a message and were not carried out yet, as far as is known. */
  readonly erasing: readonly number[]
  /** How many lines were written over. None: every record stands as it was written. */
  readonly erased: number

  readonly archives: readonly Archive[]
  /** Of the messages on the branch, those that an archive holds. */
  readonly archived: Amount
  /** What archives hold, on whatever branch. */
  readonly held: readonly Stretch[]
  /** Whether the branch has left an archive: not all of its messages are on it. */
  readonly cut: boolean

  readonly channels: readonly Channel[]
  readonly snapshots: readonly Snapshot[]
  readonly shares: readonly Share[]
  readonly grants: readonly Grant[]
  readonly usage: readonly Usage[]
  /** A record of a type that this software does not know counted here: it must not make checkpoints that would forget it. */
  readonly unknown: boolean
  /** Losses that no gap between depths shows. A checkpoint has this field only if there is one, as the next. */
  readonly noticed: readonly NoticedGap[]
  /** Losses that a person has reviewed. A checkpoint has this field only if there is one, so that older checkpoints keep their bytes. */
  readonly accepted: readonly AcceptedGap[]
}

/** A loss that a person has reviewed: the session continues without what was there. */
export interface AcceptedGap extends NoticedGap {
  /** How many messages were lost; null if unknown. */
  readonly count: number | null
  /** The time of the last record before the gap; null if unknown. */
  readonly since: string | null
}

/** A number of messages, and their tokens by estimate. */
export interface Amount {
  readonly n: number
  readonly t: number
}

/** A message, by address, with what stands on the way to it. `at` is null in front of the first message, and in the past of a fork. */
export interface Point extends Amount {
  readonly at: Address | null
}

export interface Run extends Amount {
  /** Position of its first record. */
  readonly at: number
  /** The message that its first one follows; null at the root, or in the past at depth `n`. */
  readonly parent: Address | null
}

/** Messages of one run that follow one another: those of depth `from` + 1 to `to`. The past of a fork counts as the run at -1. */
export interface Stretch {
  readonly run: number
  readonly from: number
  readonly to: number
  /** Positions of the first and the last record that may hold them. */
  readonly first: number
  readonly last: number
}

/** Whom a session comes from. A fork shares the past up to a message; a child, a sub-agent's session, shares nothing. */
export interface Parent {
  readonly session: string
  readonly kind: 'fork' | 'child'
  readonly message: string | null
}

/** A piece of another journal that a fork begins with. */
export interface Past extends Stretch {
  readonly session: string
  /** The incarnation of that session, and how far its journal reached when it was forked: later replacements are not inherited. */
  readonly born: number
  readonly end: number
  /** What was noticed as lost before its last record. */
  readonly noticed?: readonly NoticedGap[]
}

export const TASK_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

export interface Archive extends Amount {
  readonly number: number
  /** The session whose journal holds its records, if a fork inherited it. */
  readonly session: string | null
  /** Id of the record that made it, which is also the id of its task. */
  readonly task: string
  readonly at: number
  readonly requestedAt: string
  readonly takes: readonly Stretch[]
  readonly covers: readonly Stretch[]
  readonly status: TaskStatus
  readonly attempts: number
  /** Who works on it; null if nobody does. */
  readonly lease: Lease | null
  /** After a failure, how long to wait before the next attempt: counted from when the failure was first seen. */
  readonly waitMs: number
  /** Position of the last record that tells what came of it: where its summary, its memories or its error stand. */
  readonly ended: number | null
  readonly updatedAt: string
  readonly retracted: boolean
  /** Position of the last record that erased something which its summary was made from. */
  readonly erased?: number
  /** Its messages are no longer kept: what is left of it is what was made from them. */
  readonly bodyless?: true
}

/** Held for `ms` from when somebody first saw the record at `at`; renewed by another record. */
interface Lease {
  readonly worker: string
  readonly at: number
  readonly ms: number
}

/** Data of an adapter. Its entries are chained: each names the record of the one before. */
interface Channel {
  readonly name: string
  readonly last: number
  readonly count: number
}

export interface Snapshot extends Point {
  readonly name: string
  readonly takenAt: string
}

interface Share extends Point {
  readonly id: string
  /** Digest of the token; the token itself is known to its holder alone. */
  readonly digest: string
  readonly grantedAt: string
  readonly expiresAt: string | null
  readonly redact?: boolean
}

/** A session that begins from this one. What a fork reaches is not purged. */
export interface Grant {
  readonly session: string
  readonly kind: 'fork' | 'child'
  /** The incarnation that it was given from. */
  readonly born: number
  readonly message: string | null
}

export interface Usage {
  readonly model: string
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** In front of the first message. */
export const START: Point = { at: null, n: 0, t: 0 }

export const ABSENT_VERSION = '0-00000000'

export const INITIAL: SessionState = {
  status: 'absent',
  space: null,
  id: null,
  born: 0,
  createdAt: '',
  updatedAt: '',
  deletedAt: null,
  purged: false,
  version: ABSENT_VERSION,
  title: null,
  tags: [],
  owner: null,
  workspace: null,
  metadata: {},
  policies: {},
  parent: null,
  past: [],
  runs: [],
  tip: null,
  head: START,
  undo: [],
  replaced: 0,
  erasing: [],
  erased: 0,
  archives: [],
  archived: { n: 0, t: 0 },
  held: [],
  cut: false,
  channels: [],
  snapshots: [],
  shares: [],
  grants: [],
  usage: [],
  unknown: false,
  noticed: [],
  accepted: [],
}

/** A state with changes. Written out field by field: to spread thirty fields takes V8 twenty times as long, and every append does it. */
export function changed(state: SessionState, changes: Partial<SessionState>): SessionState {
  const copy: SessionState = {
    status: state.status,
    space: state.space,
    id: state.id,
    born: state.born,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    deletedAt: state.deletedAt,
    purged: state.purged,
    version: state.version,
    title: state.title,
    tags: state.tags,
    owner: state.owner,
    workspace: state.workspace,
    metadata: state.metadata,
    policies: state.policies,
    parent: state.parent,
    past: state.past,
    runs: state.runs,
    tip: state.tip,
    head: state.head,
    undo: state.undo,
    replaced: state.replaced,
    erasing: state.erasing,
    erased: state.erased,
    archives: state.archives,
    archived: state.archived,
    held: state.held,
    cut: state.cut,
    channels: state.channels,
    snapshots: state.snapshots,
    shares: state.shares,
    grants: state.grants,
    usage: state.usage,
    unknown: state.unknown,
    noticed: state.noticed,
    accepted: state.accepted,
  }
  return Object.assign(copy, changes)
}

/** A session's version: where its last record of a caller ends, and its checksum. Opaque to callers. */
export function versionOf({ end, crc }: { readonly end: number; readonly crc: string }): string {
  return `${end}-${crc}`
}
