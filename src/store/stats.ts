/** How much there is in a space of a store. */
import { CatalogUnavailable, type Lag, type SessionStatus, type StatsRow } from '../engine/catalog.ts'
import type { TaskStatus, Usage } from '../session/state.ts'
import type { CatalogParts, SpaceParts } from './parts.ts'

export interface Stats {
  readonly sessions: Readonly<Record<SessionStatus, number>>
  /** On the branches of sessions that are not deleted. */
  readonly messages: { readonly live: number; readonly archived: number }
  /** Of those messages, by estimate. */
  readonly tokens: number
  /** Of the journals, as they lie on the disk. */
  readonly bytes: number
  readonly tasks: Readonly<Record<TaskStatus, number>>
  /** What calls to models took, by model. */
  readonly usage: readonly Usage[]
  /** Sessions begun and messages appended, by day (UTC), the first one first. */
  readonly days: StatsRow['days']
  /** Messages that are not counted in `days` yet; null if there are none. */
  readonly lag: Lag | null
}

export async function statsOf(parts: SpaceParts & CatalogParts): Promise<Stats> {
  const query = { space: parts.space }
  const { stats, lag } = await parts.catalog.ask('stats', query).catch(async (error: unknown) => {
    if (!(error instanceof CatalogUnavailable)) throw error
    const { scanStats } = await import('../catalog/scan.ts')
    const row = await scanStats(parts, query)
    const { ok, damaged, unreadable, deleted } = row.sessions
    return { stats: row, lag: { sessions: ok + damaged + unreadable + deleted, bytes: row.bytes } }
  })
  const { sessions, live, archived, tokens, bytes, tasks, usage, days } = stats
  return { sessions, messages: { live, archived }, tokens, bytes, tasks, usage, days, lag }
}
