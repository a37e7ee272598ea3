/**
 * SQLite, by whichever of two bindings there is: `node:sqlite` in a Node that has it, else `libsql`, which brings its own. Loaded when a
 * database is opened and not before: most processes only append, and need none. What they share is small, and so is this: texts, whole
 * numbers and null in, rows out.
 */
import { createRequire } from 'node:module'
import { CatalogBroken, CatalogUnavailable } from '../../engine/catalog.ts'
import { isWithoutNul, withNul, withoutNul } from '../../engine/nul.ts'

export type Value = string | number | null
export type Row = Readonly<Record<string, Value>>

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

  /** An empty path is a database of its own that vanishes when it is closed; `:memory:` one that never reaches a disk. */
  constructor(path: string) {
    this.#binding = guarded(() => bind(path))
    this.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    if (path === ':memory:') this.exec('PRAGMA temp_store = MEMORY')
  }

  exec(sql: string): void {
    guarded(() => this.#binding.exec(sql))
  }

  all(sql: string, ...values: Value[]): Row[] {
    return guarded(() => (this.#statement(sql).all(values.map(bound)) as Row[]).map(unbound))
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
  if (native !== undefined) return bindNative(new native.DatabaseSync(path))
  const Libsql = require('libsql') as new (path: string) => Binding
  return new Libsql(path)
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

function unbound(row: Row): Row {
  let isEscaped = false
  for (const key in row) isEscaped ||= typeof row[key] === 'string' && isWithoutNul(row[key])
  if (!isEscaped) return row
  const texts = Object.entries(row).map(([key, value]) => [key, typeof value === 'string' ? withNul(value) : value])
  return Object.fromEntries(texts) as Row
}

/** SQLite's primary result codes. */
const [ERROR, BUSY, LOCKED, CORRUPT, CONSTRAINT, NOT_A_DATABASE] = [1, 5, 6, 11, 19, 26]
/** A file that ends before it says it does. */
const SHORT_READ = 522

function guarded<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    const { rawCode, errcode } = error as { rawCode?: number; errcode?: number }
    const code = rawCode ?? errcode
    const message = error instanceof Error ? error.message : String(error)
    if (code === undefined) {
      const isFound = !/^(?:ERR_|MODULE_)/.test((error as { code?: string }).code ?? '')
      throw new CatalogUnavailable(isFound ? 'unwritable' : 'absent', `SQLite cannot be used here: ${message}`, { cause: error })
    }
    // A statement that does not fit, or a row that was there: the tables are not those that this software makes, or contradict themselves.
    if (code === SHORT_READ || [CORRUPT, NOT_A_DATABASE, CONSTRAINT, ERROR].includes(code & 0xff))
      throw new CatalogBroken(`SQLite: ${message}`, { cause: error })
    throw new CatalogUnavailable([BUSY, LOCKED].includes(code & 0xff) ? 'busy' : 'unwritable', `SQLite: ${message}`, { cause: error })
  }
}
