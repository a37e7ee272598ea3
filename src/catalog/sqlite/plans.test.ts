/** No statement that reads page by page sorts: it would take longer with each session that there is. */
import Sqlite from 'libsql'
import { expect, test, vi } from 'vitest'
import { type OwnCatalog, ownCatalog } from '../../../test/catalog/own-catalog.ts'
import type { ListQuery } from '../../engine/catalog.ts'
import { row } from '../contract/rows.ts'
import { checkFile } from './check.ts'
import { Database } from './database.ts'

/** The statements that were made. */
function watched(): Set<string> {
  const statements = new Set<string>()
  const { all } = Database.prototype
  vi.spyOn(Database.prototype, 'all').mockImplementation(function (this: Database, sql, ...values) {
    statements.add(sql)
    return all.call(this, sql, ...values)
  })
  return statements
}

/** How SQLite carries a statement out. */
function planOf(path: string, sql: string): string {
  const database = new Sqlite(path)
  try {
    return (database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail).join('; ')
  } finally {
    database.close()
  }
}

async function made(): Promise<OwnCatalog> {
  const own = ownCatalog()
  await own.catalog.put(Array.from({ length: 20 }, (_, i) => row(`s${i}`)))
  return own
}

const SORTS = 'TEMP B-TREE FOR ORDER BY'
const LIST = { space: 'default', words: [], metadata: {}, times: 'updated', limit: 5 } as const

test.each<[string, Partial<ListQuery>]>([
  ['by the last change', { order: 'updated' }],
  ['by the time of creation', { order: 'created' }],
  ['by title', { order: 'title' }],
  ['behind a cursor', { order: 'updated', after: { by: '2026', id: 's3' } }],
  ['of a tag', { order: 'updated', tag: 't' }],
])('a list %s reads its page off an index', async (_, query) => {
  const { catalog, path } = await made()
  const statements = watched()
  await catalog.list({ ...LIST, order: 'updated', ...query })
  const paged = [...statements].filter((sql) => sql.includes('ORDER BY'))
  expect(paged).toHaveLength(1)
  expect(planOf(path, paged[0] as string)).not.toContain(SORTS)
})

test('checking a catalog reads each of its pages off an index', async () => {
  const { catalog, path } = await made()
  await catalog.close()
  const statements = watched()
  expect(await checkFile(path)).toBeUndefined()
  const paged = [...statements].filter((sql) => sql.includes('ORDER BY') && sql.includes('LIMIT'))
  expect(paged.length).toBeGreaterThanOrEqual(3)
  for (const sql of paged) expect(planOf(path, sql), sql).not.toContain(SORTS)
})
