/** For suites that are to run on PostgreSQL: whoever opens a store in memory gets one in a database of its own. */
import { vi } from 'vitest'

vi.mock(import('../../src/store/open-store.ts'), async (original) => {
  const { openStore, ...rest } = await original()
  const { newDatabase } = await import('./database.ts')
  return { ...rest, openStore: async (where, options) => openStore(where === 'memory:' ? await newDatabase() : where, options) }
})
