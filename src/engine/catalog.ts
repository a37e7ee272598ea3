/**
 * The catalog port: the derived index of a store. It answers what would otherwise take a look at every session: lists, full text, tasks,
 * memories, counts. It is never the truth: whoever fills it (src/catalog/) looks at journals and puts what it saw; deleting a catalog costs
 * time and no data.
 *
 * Several processes may fill one catalog at once. What is put names what the catalog held of that session when it was looked at (`basedOn`),
 * and is taken only if that still holds: so a session's row only ever gets newer, and nobody's change is lost. A put is all or nothing; it
 * need not survive a power loss, but a catalog that was damaged by one must notice (and throw `CatalogBroken`), or not be damaged.
 *
 * Two things are kept of a session, one after the other: its row, which is small and exact when a list is read; and the text of its messages,
 * which follows in the background.
 */
import type { TextQuery } from '../message/text-query.ts'
import type { JsonObject } from '../record/record.ts'
import type { ExtractedMemory } from '../session/records.ts'
import type { Past, Stretch, TaskStatus, Usage } from '../session/state.ts'

/** The catalog cannot be used as it is: rotten, of another format, or somebody else's file. It has to be made anew. */
export class CatalogBroken extends Error {
  override readonly name = 'CatalogBroken'
}

/**
 * The catalog cannot be used: by now (`busy`: another process writes and writes), where it lies (`unwritable`: no right, no space), or at
 * all (`absent`). Whoever needs an answer looks at the sessions themselves.
 */
export class CatalogUnavailable extends Error {
  override readonly name = 'CatalogUnavailable'
  readonly reason: 'busy' | 'unwritable' | 'absent'

  constructor(reason: CatalogUnavailable['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

export interface Catalog {
  /** What the feed had announced when everything before it was put; null if nobody has looked at every session yet. */
  cursor(): Promise<string | null>
  /** Says that everything up to `to` was put. Nothing happens unless the cursor still is `from`. */
  advance(from: string | null, to: string): Promise<void>

  /** What is known of some journals, in their order. */
  known(names: readonly string[]): Promise<(Known | undefined)[]>
  /** Every name that is known, in no particular order. */
  names(): Promise<string[]>
  /** Those that could not be read the last time, or whose space is not known: that may be otherwise now. */
  unreadable(): Promise<string[]>
  /** Puts rows. Returns the names of those whose `basedOn` no longer holds: they have to be looked at again. */
  put(rows: readonly SessionPut[]): Promise<string[]>
  /** Forgets journals that are gone. */
  forget(names: readonly string[]): Promise<void>

  /** Journals whose text is behind their rows, those that changed longest ago first: so texts are put about in the order of their times. */
  backlog(limit: number): Promise<string[]>
  lag(space?: string): Promise<Lag | null>
  /** Puts text. What no longer holds is passed over: another process was first. */
  putText(puts: readonly TextPut[]): Promise<void>

  list(query: ListQuery): Promise<ListedRow[]>
  count(query: Omit<ListQuery, 'order' | 'after' | 'limit'>): Promise<number>
  /** The best first, at most `limit`. */
  search(query: SearchQuery): Promise<FoundDocument[]>
  tasks(query: TaskQuery): Promise<TaskRow[]>
  /** Journals, of every space, that have a task to be worked on, or a policy that may make one. */
  due(): Promise<string[]>
  /** What archives have extracted for an owner, but for what was retracted, in no particular order; of some keys only, if they are given. */
  extractions(space: string, owner: string | null, keys?: readonly string[]): Promise<ExtractionRow[]>
  stats(space: string): Promise<StatsRow>

  /** Leaves nothing behind of what was removed. Takes as long as the text index is large. */
  scrub(): Promise<void>

  close(): Promise<void>
}

/** How far a journal goes: its append point, and the checksum of its last record. */
export interface Mark {
  readonly end: number
  readonly crc: string
}

export interface Known {
  readonly mark: Mark
  readonly status: SessionStatus
  readonly space: string
  /** Of the incarnation that it tells of. */
  readonly born: number
  /** How often everything known of the session was forgotten: text that was read before counts no longer. */
  readonly generation: number
  /** Up to where text was put, and the last record of it: its position and checksum; none yet if the crc is empty. */
  readonly text: { readonly end: number; readonly at: number; readonly crc: string }
  /** The branch by which messages were marked. */
  readonly branch: readonly Stretch[]
}

export interface SessionPut {
  readonly name: string
  readonly basedOn: Mark | null
  readonly mark: Mark
  readonly born: number
  /** What is known of it does not go on from `basedOn`: it is forgotten first. */
  readonly rebuilt: boolean
  readonly space: string
  readonly id: string
  readonly status: SessionStatus
  readonly title: string | null
  readonly tags: readonly string[]
  readonly owner: string | null
  readonly workspace: string | null
  readonly parent: string | null
  readonly metadata: JsonObject
  readonly usage: readonly Usage[]
  readonly createdAt: string
  readonly updatedAt: string
  /** What a list returns of it, as it is. */
  readonly info: JsonObject
  readonly live: number
  readonly archived: number
  readonly tokens: number
  readonly bytes: number
  readonly due: boolean
  /** Where the messages stand that a fork begins with: the journals' names, and stretches of them. */
  readonly past: readonly (Past & { readonly name: string })[]
  /** Tasks that are new or have changed since `basedOn`; summaries that were made since. */
  readonly tasks: readonly TaskPut[]
  readonly summaries: readonly SummaryPut[]
  /** Archives whose memories were taken back. */
  readonly retracted: readonly number[]
  /** Archives whose summary was made from something that was erased: it is forgotten. */
  readonly erased: readonly number[]
}

export type SessionStatus = 'ok' | 'damaged' | 'unreadable' | 'deleted'

export interface TaskPut {
  readonly archive: number
  readonly task: string
  readonly status: TaskStatus
  readonly attempts: number
  readonly createdAt: string
  readonly updatedAt: string
  /** Position of the record that tells what came of it. */
  readonly ended: number | null
}

export interface SummaryPut {
  readonly archive: number
  /** Position of its record. */
  readonly position: number
  readonly at: string
  readonly text: string
  readonly owner: string | null
  readonly memories: readonly ExtractedMemory[]
}

export interface TextPut {
  readonly name: string
  readonly basedOn: Pick<Known, 'generation'> & { readonly end: number }
  /** The text that is known is not of this journal: it is forgotten first. */
  readonly rebuilt: boolean
  readonly text: Known['text']
  readonly branch: readonly Stretch[]
  readonly messages: readonly MessagePut[]
  /** Messages that were known and have left the branch, or come back to it, or entered an archive. */
  readonly left: readonly Stretch[]
  readonly back: readonly Stretch[]
  readonly archives: readonly { readonly archive: number; readonly stretches: readonly Stretch[] }[]
  readonly days: readonly { readonly day: string; readonly messages: number; readonly tokens: number }[]
}

export interface MessagePut {
  /** Address. */
  readonly position: number
  readonly index: number
  /** Position of the record that has its content: another one if it was replaced. */
  readonly source: number
  readonly run: number
  readonly depth: number
  readonly role: string
  readonly at: number
  readonly archive: number | null
  readonly onBranch: boolean
  readonly text: string
}

/** Where a text that can be found stands: of a message all of it, of a title, a summary or a memory what applies. */
export interface DocumentPlace {
  readonly space: string
  readonly kind: DocumentKind
  readonly position: number
  readonly place: number
  readonly source: number
  readonly run: number
  readonly depth: number
  readonly role: string
  readonly at: number
  readonly archive: number | null
  readonly off: boolean
}

export interface ListFilter {
  readonly space: string
  /** Each must be a part of the id, the title or a tag; in small letters. */
  readonly words: readonly string[]
  readonly tag?: string
  readonly owner?: string
  readonly workspace?: string
  readonly parent?: string
  readonly model?: string
  readonly metadata: JsonObject
  /** All but the deleted ones unless told. */
  readonly status?: SessionStatus
  /** Bounds of the time that `times` names. */
  readonly from?: string
  readonly to?: string
  readonly times: 'updated' | 'created'
}

export type ListOrder = 'updated' | 'created' | 'title'

export interface ListQuery extends ListFilter {
  readonly order: ListOrder
  readonly after?: ListPosition
  readonly limit: number
}

/** Where a session stands in a list: times newest first, titles in small letters from a to z, then ids; compared as UTF-8. */
export interface ListPosition {
  readonly by: string
  readonly id: string
}

export interface ListedRow extends ListPosition {
  readonly name: string
  readonly info: JsonObject
}

export interface TaskQuery {
  readonly space: string
  readonly session?: string
  readonly status?: TaskStatus
  readonly newestFirst: boolean
  readonly limit: number
}

export interface TaskRow extends TaskPut {
  readonly session: string
}

export interface ExtractionRow extends Omit<SummaryPut, 'text' | 'position' | 'memories'> {
  readonly session: string
  readonly memory: ExtractedMemory
}

/** How far text is behind. Of sessions that nobody has looked at yet, the bytes are not known. */
export interface Lag {
  readonly sessions: number
  readonly bytes: number
}

export interface StatsRow {
  readonly sessions: Readonly<Record<SessionStatus, number>>
  readonly live: number
  readonly archived: number
  readonly tokens: number
  readonly bytes: number
  readonly tasks: Readonly<Record<TaskStatus, number>>
  readonly usage: readonly Usage[]
  readonly days: readonly { readonly day: string; readonly sessions: number; readonly messages: number; readonly tokens: number }[]
}

/** What the sessions of a space come to, out of one row for each status. Of what was deleted only the bytes count. */
export function sessionSums(
  rows: Iterable<Readonly<Record<string, unknown>>>,
): Pick<StatsRow, 'sessions' | 'live' | 'archived' | 'tokens' | 'bytes'> {
  const sessions: Record<SessionStatus, number> = { ok: 0, damaged: 0, unreadable: 0, deleted: 0 }
  const sums = { live: 0, archived: 0, tokens: 0, bytes: 0 }
  for (const row of rows) {
    sessions[row.status as SessionStatus] = row.n as number
    sums.bytes += row.bytes as number
    if (row.status === 'deleted') continue
    sums.live += row.live as number
    sums.archived += row.archived as number
    sums.tokens += row.tokens as number
  }
  return { sessions, ...sums }
}

export type DocumentKind = 'message' | 'session' | 'summary' | 'memory'

export interface SearchQuery {
  readonly space: string
  readonly text: TextQuery
  readonly kinds: readonly DocumentKind[]
  readonly session?: string
  readonly role?: string
  readonly tag?: string
  readonly owner?: string | null
  /** In milliseconds. */
  readonly from?: number
  readonly to?: number
  readonly archived?: boolean
  readonly now: number
  readonly limit: number
}

export interface FoundDocument {
  readonly kind: DocumentKind
  readonly name: string
  readonly session: string
  readonly title: string | null
  readonly tags: readonly string[]
  /** Of the record that has its content; the address of a message is beside it. */
  readonly source: number
  readonly position: number
  readonly index: number
  readonly archive: number | null
  readonly role: string | null
  readonly at: number
  readonly score: number
}
