import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownCatalog } from '../../../test/catalog/own-catalog.ts'
import { catalogContract } from '../contract/index.ts'
import { SqliteCatalog } from './catalog.ts'

catalogContract(test, async () => {
  const { catalog, path } = ownCatalog()
  return { catalog, second: async () => new SqliteCatalog(path) }
})

test('a catalog whose file was removed creates no other one', () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'catalog 1%20?#.db')
  expect(() => new SqliteCatalog(path)).toThrow('The file of the catalog was removed while it was opened.')
  expect(existsSync(path)).toBe(false)
  writeFileSync(path, '')
  new SqliteCatalog(path).close()
  expect(existsSync(path)).toBe(true)
})
