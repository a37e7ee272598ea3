/** What was found, and how much there is, as they stand in JSON, over HTTP and with `--json`; and back. */
import type { SearchHit, SearchResult } from '../store/search.ts'
import type { Stats } from '../store/stats.ts'
import { archiveName, archiveNumber } from './names.ts'
import { usageFields, usageOf } from './operations.ts'

export type HitFields = ReturnType<typeof hitFields>

export function hitFields({ kind, session, title, message, archive, memory, role, at, snippet, marks, score }: SearchHit) {
  return {
    session_id: session,
    message_id: message,
    snippet,
    score,
    kind,
    title,
    archive_id: archive === null ? null : archiveName(archive),
    memory_id: memory,
    role,
    at,
    marks,
  }
}

export function hitOf(fields: HitFields): SearchHit {
  const { session_id, message_id, archive_id, memory_id, kind, title, role, at, snippet, marks, score } = fields
  const archive = archive_id === null ? null : (archiveNumber(archive_id) ?? null)
  return { kind, session: session_id, title, message: message_id, archive, memory: memory_id, role, at, snippet, marks, score }
}

export interface FoundFields {
  hits: HitFields[]
  lag: SearchResult['lag']
  /** Only where more sessions that were searched are damaged than the answer names. */
  more_damage?: boolean | undefined
}

export function foundFields({ hits, lag, moreDamage }: SearchResult): FoundFields {
  return { hits: hits.map(hitFields), lag, ...(moreDamage ? { more_damage: true } : {}) }
}

export type StatsFields = ReturnType<typeof statsFields>

export function statsFields(stats: Stats) {
  return { ...stats, usage: stats.usage.map(usageFields) }
}

export function statsOf(fields: StatsFields): Stats {
  return { ...fields, usage: fields.usage.map(usageOf) }
}
