/** For suites that are to run with every store encrypted: whoever opens one opens it with a master key, unless the suite says otherwise. */
import { vi } from 'vitest'
import type { OpenOptions } from '../../src/store/open-store.ts'

vi.mock(import('../../src/store/open-store.ts'), async (original) => {
  const { openStore, ...rest } = await original()
  const encryption = { masterKey: Buffer.alloc(32, 7) }
  return { ...rest, openStore: (where, options: OpenOptions = {}) => openStore(where, { encryption, ...options }) }
})
