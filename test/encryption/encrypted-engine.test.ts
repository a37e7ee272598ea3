import { test } from 'vitest'
import { CatalogDoor } from '../../src/catalog/door.ts'
import { EncryptedEngine } from '../../src/encryption/encrypted-engine.ts'
import { masterKeyOf } from '../../src/encryption/master-key.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { conformance } from '../../src/engine/conformance/index.ts'
import { systemIds } from '../../src/engine/ids.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { Replicas } from '../../src/journal/replicas.ts'
import { LIMITS } from '../../src/record/limits.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { finishErasures } from '../../src/store/erase.ts'
import { Keyring } from '../../src/store/keys/keyring.ts'

// An engine that encrypts for another engine is one itself: it passes on lines that are not encrypted.
conformance(test, {
  open: async (keysOf) => {
    const keyring = new Keyring([masterKeyOf(Buffer.alloc(32, 1))])
    const engine = new EncryptedEngine(openMemoryEngine({ keysOf }), keyring, { indexed: true })
    const shared = { engine, clock: systemClock, ids: systemIds }
    const catalog = new CatalogDoor({ ...shared, threaded: false })
    const replicas = new Replicas({ ...shared, reducer: sessionReducer, limits: LIMITS })
    keyring.attach({ ...shared, replicas, catalog, space: 'default', recover: finishErasures })
    return { engine }
  },
})
