/**
 * Memories: what archives have added to what is known of an owner. Merging is a pure function of the set of finished archives, ordered
 * by (time, session, archive), so whoever computes it gets the same.
 */
import type { CommitFinished, ExtractedMemory } from '../session/records.ts'
import type { StoreParts } from './parts.ts'
import { Transcript } from './transcript.ts'

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

/** What one finished archive says. */
interface Extraction {
  readonly at: string
  readonly session: string
  readonly archive: number
  readonly owner: string | null
  readonly memories: readonly ExtractedMemory[]
}

/** Memories of one owner with the same key are one, with the last text; one without a text is gone. */
function mergeMemories(extractions: readonly Extraction[]): Memory[] {
  const merged = new Map<string, Memory>()
  const ordered = extractions.toSorted((a, b) => compare(a.at, b.at) || compare(a.session, b.session) || a.archive - b.archive)
  for (const { at, session, archive, owner, memories } of ordered) {
    for (const { id, key, category, text, sources } of memories) {
      const place = JSON.stringify([owner, key])
      const before = merged.get(place)
      // Taken out first, so that the order is that of the last change.
      merged.delete(place)
      if (text === undefined) continue
      const source = { session, archive, messages: sources }
      merged.set(place, { id: before?.id ?? id, owner, key, category, text, updatedAt: at, sources: [...(before?.sources ?? []), source] })
    }
  }
  return [...merged.values()].reverse()
}

/** The memories of one owner; of nobody in particular with null. */
export async function memoriesOf(parts: StoreParts, owner: string | null): Promise<Memory[]> {
  const of: Extraction[] = []
  for await (const extraction of extractions(parts)) if (extraction.owner === owner) of.push(extraction)
  return mergeMemories(of)
}

/** What the archives of every session have extracted, but for what was retracted. */
async function* extractions(parts: StoreParts): AsyncGenerator<Extraction> {
  for await (const name of parts.engine.names(parts.space)) {
    const { state } = await parts.replicas.once(name).replica.read()
    if (state.status !== 'live' || state.id === null) continue
    const transcript = new Transcript(parts, state.id, state)
    for (const archive of state.archives) {
      if (archive.session !== null || archive.status !== 'completed' || archive.retracted || archive.ended === null) continue
      const found = await transcript.recordOf(null, archive.ended)
      if (found?.record.type !== 'commit.finished') continue
      const { owner, memories } = found.record as unknown as CommitFinished
      yield { at: found.record.at, session: state.id, archive: archive.number, owner, memories }
    }
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
