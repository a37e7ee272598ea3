/** Every value of a row is covered by a checksum, or by an index that has it too. A statement changes both, so tables without checksums are left out. */
import { readFileSync, writeFileSync } from 'node:fs'
import Sqlite from 'libsql'
import { expect, test } from 'vitest'
import { ownCatalog } from '../../../test/catalog/own-catalog.ts'
import { message, row, text } from '../contract/rows.ts'
import { checkFile } from './check.ts'

const TABLES = ['meta', 'sessions', 'models', 'tasks', 'extractions', 'days', 'documents']
/** The first one is the row id. The others are in an index too, which a flipped bit in the table does not change. */
const INDEXED: Readonly<Record<string, readonly string[]>> = { sessions: ['sid'], models: ['space', 'model'], documents: ['doc'] }

async function filled(): Promise<string> {
  const { catalog, path } = ownCatalog()
  const task = { archive: 1, task: 't1', status: 'completed', attempts: 1, createdAt: '1', updatedAt: '1', ended: 150 } as const
  const memory = { id: 'i', key: 'tea', category: 'fact', text: 'tea is known', sources: ['m'] }
  const summary = { archive: 1, position: 150, at: '3', text: 'a summary', owner: 'ann', memories: [memory] }
  const usage = [{ model: 'm', calls: 1, inputTokens: 2, outputTokens: 3 }]
  const one = row('a', { title: 't', owner: 'ann', workspace: 'w', parent: 'p', usage, tasks: [task], summaries: [summary] })
  await catalog.put([one])
  await catalog.putText([text(one, [message(10, 'apple', { archive: 1 })], { days: [{ day: '2026-01-01', messages: 1, tokens: 5 }] })])
  await catalog.close()
  const database = new Sqlite(path)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  return path
}

test('a check finds each value that was changed', async () => {
  const path = await filled()
  const original = readFileSync(path)
  expect(await checkFile(path)).toBeUndefined()
  const missed: string[] = []
  let changed = 0
  for (const table of TABLES) {
    for (const column of columnsOf(path, table).filter((name) => INDEXED[table]?.includes(name) !== true)) {
      writeFileSync(path, original)
      change(path, table, column)
      changed++
      if ((await checkFile(path)) === undefined) missed.push(`${table}.${column}`)
    }
  }
  expect(missed).toEqual([])
  expect(changed).toBeGreaterThan(60)
})

function columnsOf(path: string, table: string): string[] {
  const database = new Sqlite(path)
  try {
    return (database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all() as { name: string }[]).map(({ name }) => name)
  } finally {
    database.close()
  }
}

function change(path: string, table: string, column: string): void {
  const database = new Sqlite(path)
  try {
    const [{ value }] = database.prepare(`SELECT ${column} AS value FROM ${table} LIMIT 1`).all() as [{ value: string | number | null }]
    const other = typeof value === 'string' ? `x${value.slice(1)}` : (value ?? 0) + 1
    database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${column} IS ?`).run(other, value)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}
