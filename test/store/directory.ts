/** Stores in a real directory, for one test. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, onTestFinished } from 'vitest'
import type { Disk } from '../../src/engines/files/disk.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { unsynced } from '../damage/on-disk.ts'

export interface Directory {
  readonly path: string
  /** Opens the store once more, as another process would; closed when the test is over. */
  open(options?: OpenOptions & { readonly disk?: Disk }): Promise<Store>
  /** Begins anew, in a test that does the same thing many times. */
  empty(): Promise<void>
}

/** Registers the making and removing of a directory for each test of a file. Nothing is synced: no test with it loses power. */
export function useDirectory(): () => Directory {
  let path = ''
  let stores: Store[] = []
  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'holdfast-'))
    stores = []
    // After everything that the test itself registers: a store that is still open writes.
    onTestFinished(() => rm(path, { recursive: true }))
  })
  afterEach(async () => {
    for (const store of stores) await store.close()
  })
  return () => ({
    path,
    open: async ({ disk = unsynced, ...options } = {}) => {
      const engine = await openFilesEngine({ directory: path, keysOf: sessionReducer.keysOf, disk, ...options })
      try {
        const store = await openStore(engine, options)
        stores.push(store)
        return store
      } catch (error) {
        await engine.close()
        throw error
      }
    },
    empty: async () => {
      for (const store of stores) await store.close()
      stores = []
      await rm(path, { recursive: true })
      await mkdir(path)
    },
  })
}
