/** One store, opened twice: as two processes would, or twice on one memory. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/engine/clock.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { openPostgresEngine } from '../../src/engines/postgres/engine.ts'
import type { JsonObject } from '../../src/record/record.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { unsynced } from '../damage/on-disk.ts'
import { storeAddress } from '../store-address.ts'

export interface Real {
  /** A session, through one of the two stores. */
  session(via: number, id: string): Session<JsonObject>
  store(via: number): Store
  /** Closes a store and opens it again, with nothing in memory. */
  reopen(via: number): Promise<void>
  dispose(): Promise<void>
}

export type Kind = 'memory' | 'files' | 'postgres'

/** Every look at it is another millisecond, so that no two records have the same time. */
function countingClock(): Clock {
  let now = Date.UTC(2026, 0, 1)
  return { now: () => now++, monotonicMs: () => now, sleep: async () => undefined }
}

export async function openReal(kind: Kind): Promise<Real> {
  const clock = countingClock()
  const { keysOf } = sessionReducer
  const limits = { segmentBytes: 500, replicas: 3 }
  const memory = openMemoryEngine({ keysOf })
  const directory = kind === 'files' ? await mkdtemp(join(tmpdir(), 'holdfast-')) : ''
  const url = kind === 'postgres' ? await storeAddress() : ''
  const open = async (): Promise<Store> => {
    const engine =
      kind === 'memory'
        ? memory
        : kind === 'postgres'
          ? await openPostgresEngine({ url, keysOf, connections: 4 })
          : await openFilesEngine({ directory, keysOf, clock, disk: unsynced })
    return openStore(engine, { clock, limits })
  }
  const stores = [await open(), await open()]
  const store = (via: number): Store => stores[via % stores.length] as Store
  return {
    store,
    session: (via, id) => store(via).session<JsonObject>(id),
    reopen: async (via) => {
      // Closing the one memory would forget it; a store opened anew has forgotten enough.
      if (kind !== 'memory') await store(via).close()
      stores[via % stores.length] = await open()
    },
    dispose: async () => {
      for (const one of stores) await one.close()
      if (kind === 'files') await rm(directory, { recursive: true })
    },
  }
}
