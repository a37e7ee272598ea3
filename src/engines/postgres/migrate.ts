/** Making and renewing the tables of a store. */
import pg from 'pg'
import { systemClock } from '../../engine/clock.ts'
import { HoldfastError } from '../../errors.ts'
import { Database, Retry } from './database.ts'
import { errorCode, failureOf, isConflict } from './failures.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PostgresPlace } from './place.ts'

/** The version of the tables that this software knows. */
export const SCHEMA_VERSION = MIGRATIONS.length

/** Makes the tables, or brings them up to date. Any number of processes may try at once. Tells which migrations were applied. */
export async function migrate(database: Database, to = SCHEMA_VERSION): Promise<number[]> {
  const found = await versionOf(database)
  requireKnown(found)
  if (found >= to) return []
  // Other servers use the tables while they are changed, so the server may end this transaction to resolve a deadlock.
  const retry = new Retry(systemClock)
  for (;;) {
    try {
      return await applyMigrations(database, to)
    } catch (error) {
      if (!isConflict(error) || !(await retry.pause())) throw error
    }
  }
}

function applyMigrations(database: Database, to: number): Promise<number[]> {
  return database.transaction(async (client) => {
    // Of the transaction, not of the session: a pooler may hand the session on.
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`holdfast migrations of ${database.schema}`])
    await client.query(opening(database.schema))
    const { rows } = await client.query(selectVersion(database.schema))
    const version = (rows[0] as { version: number }).version
    requireKnown(version)
    const applied: number[] = []
    for (let number = version + 1; number <= to; number++) {
      await client.query(sqlOf(database.schema, number))
      applied.push(number)
    }
    return applied
  })
}

/** Refuses tables that are missing, older or newer than this software knows. */
export async function requireMigrated(database: Database): Promise<void> {
  const version = await versionOf(database)
  requireKnown(version)
  if (version === SCHEMA_VERSION) return
  throw new HoldfastError(
    'FAILED_PRECONDITION',
    `The tables of this store have version ${version}; this software needs ${SCHEMA_VERSION}. Run \`holdfast migrate\` first.`,
    { details: { reason: 'old tables', found: version, needed: SCHEMA_VERSION } },
  )
}

/** The same for a store that is not open: what was or would be done. */
export async function migrateStore(
  place: PostgresPlace,
  { apply }: { readonly apply: boolean },
): Promise<{ readonly sql: string; readonly from: number; readonly to: number }> {
  const database = new Database(place, systemClock)
  try {
    const from = await versionOf(database)
    requireKnown(from)
    if (apply) await migrate(database)
    return { sql: migrationSql(database.schema, from), from, to: SCHEMA_VERSION }
  } catch (error) {
    throw error instanceof TypeError ? error : failureOf(error, 'The tables could not be changed', 'write')
  } finally {
    await database.close()
  }
}

/** What `migrate` would do from a version on, for those who apply it by other means. */
export function migrationSql(schema: string, from = 0): string {
  const numbers = MIGRATIONS.map((_, index) => index + 1).filter((number) => number > from)
  if (numbers.length === 0) return ''
  return [opening(schema), ...numbers.map((number) => sqlOf(schema, number))].map((sql) => `${sql.trim()}\n`).join('\n')
}

/** 0 if there are no tables. */
async function versionOf(database: Database): Promise<number> {
  try {
    const rows = await database.run({ name: 'version', text: selectVersion(database.schema) })
    return (rows[0] as { version: number }).version
  } catch (error) {
    // No such schema, or no such table.
    if (['3F000', '42P01'].includes(errorCode(error) ?? '')) return 0
    throw error
  }
}

function selectVersion(schema: string): string {
  return `SELECT coalesce(max(version), 0) AS version FROM ${quoted(schema)}.migrations`
}

function opening(schema: string): string {
  return `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)};
CREATE TABLE IF NOT EXISTS ${quoted(schema)}.migrations (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());`
}

function sqlOf(schema: string, number: number): string {
  const sql = (MIGRATIONS[number - 1] as string).replaceAll('@.', `${quoted(schema)}.`).trim()
  return `-- Version ${number}\n${sql}\nINSERT INTO ${quoted(schema)}.migrations (version) VALUES (${number});`
}

export function quoted(schema: string): string {
  return pg.escapeIdentifier(schema)
}

function requireKnown(version: number): void {
  if (version <= SCHEMA_VERSION) return
  throw new HoldfastError(
    'UNSUPPORTED_VERSION',
    `The tables of this store have version ${version}; this software knows up to ${SCHEMA_VERSION}. Use a newer Holdfast.`,
    { details: { found: version, supported: SCHEMA_VERSION } },
  )
}
