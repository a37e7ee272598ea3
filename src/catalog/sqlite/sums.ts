/**
 * Checksums of rows, so that a bit that flips in the file is noticed when the row is read.
 *
 * `sumOf` covers texts and is computed here, where a row is written and where it is read. `linearSum` covers whole numbers only, and SQLite can
 * compute it too: for rows that one statement changes or counts by the thousand. Each of its factors is below 2^26 and so is its prime, so that no
 * product is beyond 2^53. The prime divides no power of two, so a flipped bit in one value always shows.
 */
import { crc32 } from 'node:zlib'
import { CatalogBroken } from '../../engine/catalog.ts'
import type { Row, Value } from './database.ts'

const PRIME = 67_108_859
const STEP = 8191

export function sumOf(values: readonly Value[]): number {
  return crc32(JSON.stringify(values))
}

/** Null counts as -1. */
export function linearSum(values: readonly (number | null)[]): number {
  let [sum, factor] = [0, STEP]
  for (const value of values) {
    sum = (sum + ((value ?? -1) % PRIME) * factor) % PRIME
    factor = (factor * STEP) % PRIME
  }
  return sum
}

/** The same as an expression, of columns or of other expressions. */
export function linearSql(columns: readonly string[]): string {
  let factor = STEP
  const terms = columns.map((column) => {
    const term = `(COALESCE(${column}, -1) % ${PRIME}) * ${factor}`
    factor = (factor * STEP) % PRIME
    return term
  })
  return terms.reduce((sum, term) => `((${sum} + ${term}) % ${PRIME})`, '0')
}

/** Throws CatalogBroken if a row is not what was written. `column` holds the sum of the others. */
export function requireSum(row: Row, columns: readonly string[], column: string): void {
  if (row[column] !== sumOf(columns.map((name) => row[name] ?? null))) throw notWritten()
}

export function notWritten(): CatalogBroken {
  return new CatalogBroken('A row of the catalog is not what was written.')
}
