/** The sessions that have something due, as far as a catalog knows, whether it is caught up or not. */
import { type Catalog, CatalogBroken, CatalogUnavailable } from '../engine/catalog.ts'
import { SqliteCatalog } from './sqlite/catalog.ts'
import { currentFile } from './sqlite/file.ts'

export interface KnownDue {
  readonly names: readonly string[]
  /** Of the feed: what changed behind it is not known. Null if nothing ever was. */
  readonly cursor: string | null
}

export async function knownDue(catalog: Catalog): Promise<KnownDue> {
  // In this order: what is put meanwhile is told twice, and not left out.
  const cursor = await catalog.cursor()
  return { names: await catalog.due(), cursor }
}

/** The same of the catalog of a directory, without starting anything; nothing is known if there is none, or it cannot be used as it is. */
export async function knownDueIn(directory: string): Promise<KnownDue> {
  const path = await currentFile(directory)
  if (path === undefined) return { names: [], cursor: null }
  try {
    const catalog = new SqliteCatalog(path)
    try {
      return await knownDue(catalog)
    } finally {
      await catalog.close()
    }
  } catch (error) {
    if (error instanceof CatalogBroken || error instanceof CatalogUnavailable) return { names: [], cursor: null }
    throw error
  }
}
