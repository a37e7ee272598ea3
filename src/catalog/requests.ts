/** What the catalog of a store can be asked, whichever thread it runs in. Everything that goes in and out is plain data. */
import type {
  ExtractionRow,
  FoundDocument,
  Lag,
  ListedRow,
  ListQuery,
  SearchQuery,
  StatsRow,
  TaskQuery,
  TaskRow,
} from '../engine/catalog.ts'
import type { Verified } from './indexer.ts'
import type { KnownDue } from './known-due.ts'

/** What can be asked for. Unless a call says otherwise, it first applies the changes that were acknowledged before it. Rejects with CatalogUnavailable. */
export interface CatalogRequests {
  list(query: ListQuery & { readonly count: boolean }): Promise<{ readonly rows: readonly ListedRow[]; readonly total: number | null }>
  /** Damaged sessions, as far as is known already. */
  damaged(query: Omit<ListQuery, 'status'>): Promise<readonly ListedRow[]>
  /** After a second with what there is by then; `lag` tells what is missing. */
  search(query: SearchQuery): Promise<{ readonly found: readonly FoundDocument[]; readonly lag: Lag | null }>
  tasks(query: TaskQuery): Promise<readonly TaskRow[]>
  /** Sessions that have something due. With `caughtUp` false, as far as is known already. */
  due(query: { readonly caughtUp: boolean }): Promise<KnownDue>
  /** With `caughtUp` false, as far as is known already. */
  extractions(query: ExtractionQuery): Promise<readonly ExtractionRow[]>
  /** Of text, what there is after a second. */
  stats(query: { space: string }): Promise<{ readonly stats: StatsRow; readonly lag: Lag | null }>
  /** As it is: nothing is applied. */
  status(): Promise<CatalogStatus>
  /** Begins to keep the catalog up to date, until it is closed. */
  keep(): Promise<void>
  /** Makes the catalog anew, rows and text. Tells how many sessions there are. UNAVAILABLE if it cannot lie where it belongs. */
  rebuild(): Promise<number>
  /** Somebody has read all of some sessions: what the catalog says of damage in them is put right. */
  notice(verified: Verified): Promise<void>
  /**
   * Leaves nothing behind, also not in pages that are free: after an erasure, of what all text, which is put first, no longer has; after a purge, of
   * sessions that are gone, be they purged by this or an earlier one. Makes no catalog where there is none.
   */
  scrub(query: { readonly after: 'erasure' | 'purge' }): Promise<void>
  close(): Promise<void>
}

export interface ExtractionQuery {
  readonly space: string
  readonly owner: string | null
  readonly keys?: readonly string[]
  readonly caughtUp: boolean
}

export interface CatalogStatus {
  readonly state: 'ready' | 'sweeping' | 'indexing' | 'unavailable'
  /** Sessions that were looked at by the sweep that is under way, or whose text is behind. */
  readonly sessions: number
  /** Sessions that the sweep looks at, once it knows; null if none is under way. */
  readonly of: number | null
  /** Why it lies elsewhere, or cannot be used. */
  readonly reason: string | null
}
