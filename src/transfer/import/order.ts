/** Which source comes from which, as far as their first lines tell. */
import { detect, IMPORTERS } from '../../formats/importers.ts'
import { type Importer, itemsIn, type SessionItem, type Source } from '../../formats/item.ts'

export async function firstSession(importer: Importer, source: Source): Promise<SessionItem | undefined> {
  for await (const item of itemsIn(importer, source)) if (item.kind === 'session') return item
  return undefined
}

/** The same sources, those that others come from in front: for whoever imports them one at a time. */
export async function parentsFirst(sources: readonly Source[], from = 'auto'): Promise<Source[]> {
  const bySession = new Map<string, Source>()
  const parentOf = new Map<Source, string>()
  /** What only a parent tells of its children. */
  const told = new Map<string, string>()
  for (const source of sources) {
    const importer = from === 'auto' ? await detect(source, IMPORTERS) : IMPORTERS.find(({ name }) => name === from)
    const first = importer === undefined ? undefined : await firstSession(importer, source)
    if (first === undefined) continue
    bySession.set(first.session, source)
    if (first.parent !== undefined) parentOf.set(source, first.parent.session)
    for (const child of first.children ?? []) told.set(child, first.session)
  }
  for (const [session, source] of bySession) {
    const parent = told.get(session)
    if (parent !== undefined && !parentOf.has(source)) parentOf.set(source, parent)
  }
  const ordered = new Set<Source>()
  const add = (source: Source, waiting: ReadonlySet<Source>): void => {
    const parent = bySession.get(parentOf.get(source) ?? '')
    // Nobody waits for one that waits for him.
    if (parent !== undefined && !waiting.has(parent)) add(parent, new Set([...waiting, source]))
    ordered.add(source)
  }
  for (const source of sources) add(source, new Set([source]))
  return [...ordered]
}
