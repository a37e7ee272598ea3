import { test } from 'vitest'
import { CatalogDoor } from '../../catalog/door.ts'
import { systemClock } from '../../engine/clock.ts'
import { conformance } from '../../engine/conformance/index.ts'
import { systemIds } from '../../engine/ids.ts'
import { openMemoryEngine } from '../../engines/memory/engine.ts'
import { LIMITS } from '../../record/limits.ts'
import { Replicas } from '../replicas.ts'
import { Keyring } from './keyring.ts'
import { masterKeyOf } from './master-key.ts'
import { SealedEngine } from './sealed-engine.ts'

// What stands in front of an engine is one: lines of whoever does not seal go through it as they are.
conformance(test, {
  open: async (keysOf) => {
    const keyring = new Keyring([masterKeyOf(Buffer.alloc(32, 1))])
    const engine = new SealedEngine(openMemoryEngine({ keysOf }), keyring, { indexed: true })
    const shared = { engine, clock: systemClock, ids: systemIds }
    const catalog = new CatalogDoor({ ...shared, threaded: false })
    keyring.attach({ ...shared, replicas: new Replicas({ ...shared, limits: LIMITS }), catalog, space: 'default' })
    return { engine }
  },
})
