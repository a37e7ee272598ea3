import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { catalogContract } from '../contract/index.ts'
import { SqliteCatalog } from './catalog.ts'

catalogContract(test, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  const path = join(directory, 'catalog.db')
  const catalog = new SqliteCatalog(path)
  onTestFinished(async () => {
    await catalog.close()
    rmSync(directory, { recursive: true })
  })
  return { catalog, second: async () => new SqliteCatalog(path) }
})
