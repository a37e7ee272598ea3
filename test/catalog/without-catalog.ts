import { CatalogUnavailable } from '../../src/engine/catalog.ts'
import type { Engine } from '../../src/engine/port.ts'

/** An engine on which no catalog can be used: whoever asks looks at every session. */
export function withoutCatalog(engine: Engine): Engine {
  return Object.assign(engine, { catalog: () => Promise.reject(new CatalogUnavailable('absent', 'There is no SQLite here.')) })
}
