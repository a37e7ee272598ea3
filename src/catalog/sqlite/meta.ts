/** The table `meta`: a few values by name, each with a checksum. */
import { type Database, integer, type Row, text, type Value } from './database.ts'
import { notWritten, sumOf } from './sums.ts'

/** Null if there is none. Throws CatalogBroken. */
export function getMeta(database: Database, key: string): string | null {
  const row = database.get(`SELECT ${text('value')}, ${integer('sum')} FROM meta WHERE key = ?`, key)
  return row === undefined ? null : checkMeta(key, row)
}

export function putMeta(database: Database, key: string, value: string): void {
  database.run('INSERT OR REPLACE INTO meta VALUES (?, ?, ?)', key, value, sumOf([key, value]))
}

/** Nothing happens unless the value still is `from`; null if there is none. */
export function replaceMeta(database: Database, key: string, from: string | null, to: string): void {
  const sum = sumOf([key, to])
  if (from === null) database.run('INSERT OR IGNORE INTO meta VALUES (?, ?, ?)', key, to, sum)
  else database.run('UPDATE meta SET value = ?, sum = ? WHERE key = ? AND value = ?', to, sum, key, from)
}

export function checkMeta(key: Value, { value = null, sum }: Row): string {
  if (sum !== sumOf([key, value]) || typeof value !== 'string') throw notWritten()
  return value
}
