import { onTestFinished, test } from 'vitest'
import { catalogContract } from '../../../src/catalog/contract/index.ts'
import type { Catalog } from '../../../src/engine/catalog.ts'
import type { Engine } from '../../../src/engine/port.ts'
import { openPostgresEngine } from '../../../src/engines/postgres/engine.ts'
import { newDatabase } from '../../postgres/database.ts'

catalogContract(test, async () => {
  const url = await newDatabase()
  const engines: Engine[] = []
  onTestFinished(async () => {
    await Promise.all(engines.map((engine) => engine.close()))
  })
  const open = async (): Promise<Catalog> => {
    const engine = await openPostgresEngine({ url, keysOf: () => [] })
    engines.push(engine)
    return (await engine.catalog?.({ empty: false })) as Catalog
  }
  return { catalog: await open(), second: open }
})
