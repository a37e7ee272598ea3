/**
 * The columns of the table `sessions`, in groups that are read together. Each group has a checksum of its own, so that a reader of one of them
 * need not read the others.
 */
import { crc32 } from 'node:zlib'
import { CatalogBroken, type SessionPut } from '../../engine/catalog.ts'
import type { JsonObject } from '../../record/record.ts'
import { integer, type Row, text, type Value } from './database.ts'
import { linearSql, linearSum, notWritten, sumOf } from './sums.ts'

type Columns = Readonly<Record<string, typeof text | typeof integer>>

class ColumnGroup {
  /** The column of the checksum. */
  readonly sum: string
  readonly names: readonly string[]
  readonly #columns: Columns

  constructor(sum: string, columns: Columns) {
    this.sum = sum
    this.names = Object.keys(columns)
    this.#columns = columns
  }

  /**
   * What a statement selects: all of these columns in one, named like the checksum. A value of its own for each would take several times as long, and
   * would hold up other threads.
   */
  select(table = 'sessions'): string {
    const columns = [...this.names.map((name) => this.#json(`${table}.${name}`, name)), `CAST(${table}.${this.sum} AS INTEGER)`]
    return text(`json_array(${columns.join(', ')})`, this.sum)
  }

  /** The columns of a row. Throws CatalogBroken if they are not what was written. */
  read(row: Row): Row {
    const json = row[this.sum] as string
    const values = valuesIn(json)
    const columns: Record<string, Value> = {}
    for (const [i, name] of this.names.entries()) columns[name] = values[i] ?? null
    // Mostly SQLite writes JSON as it was written for the checksum.
    const sum = values.at(-1)
    if (sum !== crc32(`${json.slice(0, json.lastIndexOf(','))}]`) && sum !== this.sumOf(columns)) throw notWritten()
    return columns
  }

  #json(column: string, name: string): string {
    return this.#columns[name] === integer ? `CAST(${column} AS INTEGER)` : column
  }

  sumOf(values: Readonly<Record<string, Value>>): number {
    return sumOf(this.names.map((name) => values[name] ?? null))
  }
}

function valuesIn(json: string): Value[] {
  try {
    // A NUL was put back as it is, which JSON does not allow.
    return JSON.parse(json.replaceAll('\0', '\\u0000')) as Value[]
  } catch (error) {
    throw new CatalogBroken('The columns of a row are no JSON.', { cause: error })
  }
}

/** What lists filter and sort by. */
export const LISTED = new ColumnGroup('listed_sum', {
  ...{ name: text, space: text, id: text, status: text, gone: integer, title_key: text },
  ...{ owner: text, workspace: text, parent: text, created: text, updated: text },
})
/** How far the row was read. */
export const READ = new ColumnGroup('read_sum', {
  ...{ name: text, space: text, status: text, end: integer, crc: text, born: integer, due: integer },
})
/** How far the text was put. */
export const TEXT = new ColumnGroup('text_sum', {
  ...{ name: text, generation: integer, text_end: integer, text_at: integer, text_crc: text, branch: text },
})
/** What other statements look for. */
export const OTHERS = new ColumnGroup('others_sum', { name: text, haystack: text, past: text, born: integer })
/** What is counted, by statements of many rows. */
export const COUNTED = ['live', 'archived', 'tokens', 'bytes'] as const
export const COUNTED_SQL = linearSql(COUNTED)

/**
 * What lists return. It is one text that ends with its checksum, because each further value of a row takes as long to read as this one. It repeats the
 * columns that lists filter and sort by, so that a list can check its rows without them.
 */
export interface Shown {
  readonly name: string
  readonly space: string
  readonly id: string
  readonly status: string
  readonly title: string | null
  readonly title_key: string
  readonly owner: string | null
  readonly workspace: string | null
  readonly parent: string | null
  readonly created: string
  readonly updated: string
  readonly info: JsonObject
  /** The rows of tags, fields and models are made from these. */
  readonly filters: Filters
}

export type Filters = readonly [tags: SessionPut['tags'], metadata: SessionPut['metadata'], usage: SessionPut['usage']]

export function filtersOf({ tags, metadata, usage }: SessionPut): Filters {
  return [tags, metadata, usage]
}

const SUM_LENGTH = 8

/** Without the names of the fields: it is read in half the time. */
function shownText(shown: Shown): string {
  const { name, space, id, status, title, title_key, owner, workspace, parent, created, updated, info, filters } = shown
  const json = JSON.stringify([name, space, id, status, title, title_key, owner, workspace, parent, created, updated, info, filters])
  return json + sumText(json)
}

/** Throws CatalogBroken if the text is not what was written. */
export function shownIn({ shown }: Row): Shown {
  if (typeof shown !== 'string') throw notWritten()
  const json = shown.slice(0, -SUM_LENGTH)
  if (sumText(json) !== shown.slice(-SUM_LENGTH)) throw notWritten()
  const [name, space, id, status, title, title_key, owner, workspace, parent, created, updated, info, filters] = JSON.parse(json)
  return { name, space, id, status, title, title_key, owner, workspace, parent, created, updated, info, filters }
}

function sumText(json: string): string {
  return crc32(json).toString(16).padStart(SUM_LENGTH, '0')
}

export type SessionValues = Readonly<Record<string, Value>>

/** What a put sets. */
export function valuesOf(row: SessionPut): SessionValues {
  const { name, space, id, status, title, tags, owner, workspace, parent, createdAt, updatedAt, info, live, archived, tokens, bytes } = row
  const listed = {
    ...{ name, space, id, status, title_key: (title ?? '').toLowerCase() },
    ...{ owner, workspace, parent, created: createdAt, updated: updatedAt },
  }
  const values = {
    ...listed,
    shown: shownText({ ...listed, title, info, filters: filtersOf(row) }),
    gone: status === 'deleted' ? 1 : 0,
    haystack: `${id}\n${title ?? ''}\n${tags.join('\n')}`.toLowerCase(),
    ...{ live, archived, tokens, bytes },
    ...{ due: row.due ? 1 : 0, past: JSON.stringify(row.past), end: row.mark.end, crc: row.mark.crc, born: row.born },
  }
  const sums = {
    listed_sum: LISTED.sumOf(values),
    read_sum: READ.sumOf(values),
    others_sum: OTHERS.sumOf(values),
    counted_sum: linearSum(COUNTED.map((column) => values[column])),
  }
  return { ...values, ...sums }
}

/** What is set where text was put, or everything was forgotten. */
export function textValues(values: {
  readonly name: string
  readonly generation: number
  readonly text_end: number
  readonly text_at: number
  readonly text_crc: string
  readonly branch: string
}): SessionValues {
  return { ...values, text_sum: TEXT.sumOf(values) }
}
