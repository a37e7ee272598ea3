/**
 * SQLite, by whichever of two bindings there is: `node:sqlite` in a Node that has it, else `libsql`, which brings its own. Loaded when a
 * database is opened and not before: most processes only append, and need none. What they share is small, and so is this: texts, whole
 * numbers and null in, rows out.
 *
 * Nothing of a file is trusted. `libsql` ends the process when it meets a text that is not UTF-8, so statements select each column by its type:
 * `text()` as bytes, which are decoded here, and `integer()`. Anything that is not as this software writes it makes the catalog broken.
 */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { CatalogBroken, CatalogUnavailable } from '../../engine/catalog.ts'
import { isWithoutNul, withNul, withoutNul } from '../../engine/nul.ts'
import { isThere } from './file.ts'

export type Value = string | number | null
export type Row = Readonly<Record<string, Value>>

interface Blob {
  readonly id: number
  readonly block: Uint8Array
  readonly sum: number | null
}

/** Selects a text. Its name in the row is that of the column. */
export function text(column: string, name = nameOf(column)): string {
  return `CAST(${column} AS BLOB) AS ${name}`
}

/** Selects a whole number, also where the column holds something else by now. */
export function integer(column: string, name = nameOf(column)): string {
  return `CAST(${column} AS INTEGER) AS ${name}`
}

/** Of `s.title`, `title`. */
function nameOf(column: string): string {
  return column.slice(column.indexOf('.') + 1)
}

interface Statement {
  all(values: readonly Value[]): unknown
  run(values: readonly Value[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
}

interface Binding {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): void
}

/** How long to wait for another process that writes. */
const BUSY_MS = 1000

export class Database {
  readonly #binding: Binding
  readonly #statements = new Map<string, Statement>()
  #isLong = false

  /**
   * The file must exist: in a directory that took the place of the store, none may be created. An empty path is a database of its own that vanishes when it
   * is closed; `:memory:` one that never reaches a disk.
   */
  constructor(path: string) {
    this.#binding = guarded(() => bind(path))
    this.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    if (path === ':memory:') this.exec('PRAGMA temp_store = MEMORY')
  }

  exec(sql: string): void {
    guarded(() => this.#binding.exec(sql))
  }

  all(sql: string, ...values: Value[]): Row[] {
    return guarded(() => this.#statement(sql).all(values.map(bound)) as Selected[]).map(rowOf)
  }

  /** Rows with `id`, a `block` of bytes, and perhaps its `sum`. */
  blobs(sql: string, ...values: Value[]): Blob[] {
    const rows = guarded(() => this.#statement(sql).all(values) as Selected[])
    return rows.map(({ id, block, sum = null }) => {
      if (typeof id !== 'number' || typeof block !== 'object' || block === null || !(sum === null || typeof sum === 'number'))
        throw new CatalogBroken('A block of the catalog is no block.')
      return { id, block: new Uint8Array(block), sum }
    })
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.all(sql, ...values)[0]
  }

  /** Returns how many rows it changed, and the id of the last one that it inserted. */
  run(sql: string, ...values: Value[]): { readonly changes: number; readonly id: number } {
    const { changes, lastInsertRowid } = guarded(() => this.#statement(sql).run(values.map(bound)))
    return { changes: Number(changes), id: Number(lastInsertRowid) }
  }

  /** From here on until `endLong` everything is one transaction. For a database that nobody else has open. */
  beginLong(): void {
    this.exec('BEGIN')
    this.#isLong = true
  }

  endLong(): void {
    this.#isLong = false
    this.exec('COMMIT')
  }

  /** All or nothing. Takes the right to write at once: a reader that becomes a writer halfway could be refused. */
  transaction<T>(work: () => T): T {
    if (this.#isLong) return work()
    this.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.exec('COMMIT')
      return result
    } catch (error) {
      try {
        this.#binding.exec('ROLLBACK')
      } catch {
        // SQLite has taken it back itself, as after a full disk; the first error tells why.
      }
      throw error
    }
  }

  close(): void {
    this.#statements.clear()
    this.#binding.close()
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const made = this.#binding.prepare(sql)
    this.#statements.set(sql, made)
    return made
  }
}

function bind(path: string): Binding {
  const require = createRequire(import.meta.url)
  let native: { DatabaseSync: new (path: string) => Native } | undefined
  try {
    native = unwarned(() => require('node:sqlite') as typeof native)
  } catch {
    // This Node has none.
  }
  const isFile = path !== '' && path !== ':memory:'
  if (native !== undefined) {
    // Not every Node that has it reads URIs. To load it takes long, so the file is looked for after that.
    if (isFile && !isThere(path)) throw new CatalogFileRemoved()
    return bindNative(new native.DatabaseSync(path))
  }
  const Libsql = require('libsql') as new (path: string) => Binding
  try {
    // This SQLite reads URIs, so it can be asked to create nothing.
    return new Libsql(isFile ? `${pathToFileURL(path).href}?mode=rw` : path)
  } catch (error) {
    if (isFile && !isThere(path)) throw new CatalogFileRemoved(error)
    throw error
  }
}

/** Another process has put another catalog in the place of this one, or a person has removed it. */
export class CatalogFileRemoved extends CatalogUnavailable {
  constructor(cause?: unknown) {
    super('busy', 'The file of the catalog was removed while it was opened.', { cause })
  }
}

/** Node 22 tells everybody who uses `node:sqlite` that it may change; whoever runs Holdfast can do nothing about that. */
function unwarned<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

/** `node:sqlite`, which takes values one by one where libsql takes them together. */
interface Native {
  exec(sql: string): void
  prepare(sql: string): { all(...values: readonly Value[]): unknown; run(...values: readonly Value[]): ReturnType<Statement['run']> }
  close(): void
}

function bindNative(database: Native): Binding {
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return { all: (values) => statement.all(...values), run: (values) => statement.run(...values) }
    },
    close: () => database.close(),
  }
}

/** Libsql reads a text up to its first NUL only. */
function bound(value: Value): Value {
  return typeof value === 'string' ? withoutNul(value) : value
}

type Selected = Readonly<Record<string, number | bigint | string | null | ArrayBuffer | Uint8Array>>

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function rowOf(selected: Selected): Row {
  const row: Record<string, Value> = {}
  for (const name in selected) {
    const value = selected[name] as Selected[string]
    if (value === null || typeof value === 'number') row[name] = value
    else if (typeof value === 'object') row[name] = decoded(value)
    // A text here would end the process on the day on which it is not UTF-8.
    else throw new TypeError(`Select the column ${name} with text() or integer().`)
  }
  return row
}

function decoded(bytes: ArrayBuffer | Uint8Array): string {
  let value: string
  try {
    value = UTF8.decode(bytes)
  } catch (error) {
    throw new CatalogBroken('A text in the catalog is not UTF-8.', { cause: error })
  }
  return isWithoutNul(value) ? withNul(value) : value
}

/** SQLite's primary result codes of a catalog that is in use; of one that cannot be read or written where it is. Any other means that it is broken. */
const [BUSY, LOCKED] = [5, 6]
const [NO_PERMISSION, NO_MEMORY, IO_ERROR, FULL, CANNOT_OPEN] = [3, 7, 10, 13, 14]
/** A file that ends before it says it does. */
const SHORT_READ = 522

function guarded<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    if (error instanceof CatalogUnavailable) throw error
    const { rawCode, errcode } = error as { rawCode?: number; errcode?: number }
    const code = rawCode ?? errcode
    const message = error instanceof Error ? error.message : String(error)
    if (code === undefined) {
      const isFound = !/^(?:ERR_|MODULE_)/.test((error as { code?: string }).code ?? '')
      throw new CatalogUnavailable(isFound ? 'unwritable' : 'absent', `SQLite cannot be used here: ${message}`, { cause: error })
    }
    if ([BUSY, LOCKED].includes(code & 0xff)) throw new CatalogUnavailable('busy', `SQLite: ${message}`, { cause: error })
    const isWhere = [NO_PERMISSION, NO_MEMORY, IO_ERROR, FULL, CANNOT_OPEN].includes(code & 0xff) && code !== SHORT_READ
    if (isWhere) throw new CatalogUnavailable('unwritable', `SQLite: ${message}`, { cause: error })
    throw new CatalogBroken(`SQLite: ${message}`, { cause: error })
  }
}
