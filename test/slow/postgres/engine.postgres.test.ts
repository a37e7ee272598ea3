import { test } from 'vitest'
import { conformance } from '../../../src/engine/conformance/index.ts'
import { openPostgresEngine } from '../../../src/engines/postgres/engine.ts'
import { newDatabase } from '../../postgres/database.ts'

conformance(test, {
  open: async (keysOf) => {
    const url = await newDatabase()
    const open = () => openPostgresEngine({ url, keysOf })
    return { engine: await open(), second: open, reopen: open }
  },
})
