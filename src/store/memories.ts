/**
 * Memories: what archives have added to what is known of an owner. Merging is a pure function of the set of finished archives, ordered
 * by (time, session, archive), so whoever computes it gets the same.
 */
import { CatalogUnavailable, type ExtractionRow } from '../engine/catalog.ts'
import { LIMITS } from '../record/limits.ts'
import { checkLimit, checkTexts } from '../session/check.ts'
import { rank } from '../window/recall.ts'
import type { CatalogParts, SpaceParts } from './parts.ts'

export interface Memory {
  readonly id: string
  readonly owner: string | null
  readonly key: string
  readonly category: string
  readonly text: string
  readonly updatedAt: string
  /** The archives that it comes from, the first one first. */
  readonly sources: readonly { readonly session: string; readonly archive: number; readonly messages: readonly string[] }[]
}

export interface MemoriesOptions {
  /** Whose memories. Defaults to memories without an owner. */
  readonly owner?: string | null
  /** Only memories that match these words, the best first. */
  readonly query?: string
  /** The largest number of memories, up to 1000. Defaults to all. */
  readonly limit?: number
}

export async function memories(parts: SpaceParts & CatalogParts, { owner = null, query, limit }: MemoriesOptions): Promise<Memory[]> {
  checkTexts({ owner: owner ?? undefined, query })
  if (limit !== undefined) checkLimit(limit, LIMITS.pageSessions)
  const known = await mergedMemories(parts, owner)
  const wanted = query === undefined ? known : matching(query, known)
  return limit === undefined ? wanted : wanted.slice(0, limit)
}

/**
 * The memories of one owner, the newest first. With keys, those only, and as the catalog has them: whoever asks about what a search has found wants
 * to know nothing newer, and must not wait for it.
 */
export async function mergedMemories(parts: SpaceParts & CatalogParts, owner: string | null, keys?: readonly string[]): Promise<Memory[]> {
  const query = { space: parts.space, owner, caughtUp: keys === undefined, ...(keys === undefined ? {} : { keys }) }
  const rows = await parts.catalog.ask('extractions', query).catch(async (error: unknown) => {
    if (!(error instanceof CatalogUnavailable)) throw error
    const { scanExtractions } = await import('../catalog/scan.ts')
    return scanExtractions(parts, query)
  })
  return merge(rows)
}

/** Memories of one owner with the same key are one, with the last text; one without a text is gone. */
function merge(rows: readonly ExtractionRow[]): Memory[] {
  const merged = new Map<string, Memory>()
  const ordered = rows.toSorted((a, b) => compare(a.at, b.at) || compare(a.session, b.session) || a.archive - b.archive)
  for (const { at, session, archive, owner, memory } of ordered) {
    const { id, key, category, text, sources } = memory
    const before = merged.get(key)
    // Taken out first, so that the order is that of the last change.
    merged.delete(key)
    if (text === undefined) continue
    const source = { session, archive, messages: sources }
    merged.set(key, { id: before?.id ?? id, owner, key, category, text, updatedAt: at, sources: [...(before?.sources ?? []), source] })
  }
  return [...merged.values()].reverse()
}

function matching(query: string, known: readonly Memory[]): Memory[] {
  const byId = new Map(known.map((memory) => [memory.id, memory]))
  const ranked = rank(
    query,
    known.map(({ id, key, text }) => ({ kind: 'memory', id, text: `${key} ${text}` })),
  )
  return ranked.flatMap(({ id }) => byId.get(id) ?? [])
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
