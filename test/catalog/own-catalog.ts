/** A catalog in a file of its own, which is removed after the test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { SqliteCatalog } from '../../src/catalog/sqlite/catalog.ts'

export interface OwnCatalog {
  readonly catalog: SqliteCatalog
  readonly path: string
}

export function ownCatalog(): OwnCatalog {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  const path = join(directory, 'catalog.db')
  writeFileSync(path, '')
  const catalog = new SqliteCatalog(path)
  onTestFinished(async () => {
    await catalog.close()
    rmSync(directory, { recursive: true })
  })
  return { catalog, path }
}
