/** The catalog port on SQLite. */
import {
  type Catalog,
  CatalogUnavailable,
  type ExtractionRow,
  type FoundDocument,
  type Known,
  type Lag,
  type ListedRow,
  type ListFilter,
  type ListQuery,
  type SearchQuery,
  type SessionPut,
  type SessionStatus,
  type StatsRow,
  type TaskQuery,
  type TaskRow,
  type TextPut,
} from '../../engine/catalog.ts'
import type { Stretch } from '../../session/state.ts'
import { extractionRows, taskRows } from './archive-rows.ts'
import { sumBlocks } from './blocks.ts'
import { Database, integer, type Row, text, type Value } from './database.ts'
import { countRows, listRows } from './list.ts'
import { getMeta, replaceMeta } from './meta.ts'
import { forget, putRow, putText } from './put.ts'
import { finishDraft, prepare, prepareDraft } from './schema.ts'
import { searchDocuments } from './search.ts'
import { READ, TEXT } from './session-columns.ts'
import { statsRow } from './stats.ts'

/** Told which index to use: SQLite would rather go through all sessions of a space than through the few that are behind. */
const BEHIND = 'sessions INDEXED BY sessions_behind WHERE text_end < end'

export class SqliteCatalog implements Catalog {
  readonly #database: Database

  /**
   * Makes the database if there is none. An empty path: one that vanishes when it is closed. `draft`: one that nobody else has open, to be filled at
   * once and thrown away if that fails; `finish` ends that. Throws CatalogBroken, CatalogUnavailable.
   */
  constructor(path: string, { draft = false } = {}) {
    this.#database = new Database(path)
    try {
      if (!draft) prepare(this.#database)
      else {
        prepareDraft(this.#database)
        this.#database.beginLong()
      }
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  async cursor(): Promise<string | null> {
    return getMeta(this.#database, 'cursor')
  }

  async advance(from: string | null, to: string): Promise<void> {
    if (from !== to) replaceMeta(this.#database, 'cursor', from, to)
  }

  async known(names: readonly string[]): Promise<(Known | undefined)[]> {
    return names.map((name) => {
      const row = this.#database.get(KNOWN, name)
      return row === undefined ? undefined : knownOf(row)
    })
  }

  async names(): Promise<string[]> {
    return this.#names('FROM sessions')
  }

  async unreadable(): Promise<string[]> {
    return this.#names(`FROM sessions WHERE status IN ('damaged', 'unreadable') AND (end = -1 OR space = '')`)
  }

  async put(rows: readonly SessionPut[]): Promise<string[]> {
    if (rows.length === 0) return []
    return this.#change(() => rows.filter((row) => !putRow(this.#database, row)).map(({ name }) => name))
  }

  async forget(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    this.#change(() => {
      for (const name of names) forget(this.#database, name)
    })
  }

  async backlog(limit: number): Promise<string[]> {
    return this.#names(`FROM ${BEHIND} ORDER BY updated LIMIT ?`, limit)
  }

  async lag(space?: string): Promise<Lag | null> {
    const sql = `SELECT ${integer('count(*)', 'sessions')}, ${integer('sum(end - text_end)', 'bytes')} FROM ${BEHIND}`
    const row = space === undefined ? this.#database.get(sql) : this.#database.get(`${sql} AND space = ?`, space)
    return row === undefined || row.sessions === 0 ? null : { sessions: row.sessions as number, bytes: row.bytes as number }
  }

  async putText(puts: readonly TextPut[]): Promise<void> {
    if (puts.length === 0) return
    this.#change(() => {
      for (const put of puts) putText(this.#database, put)
    })
  }

  async list(query: ListQuery): Promise<ListedRow[]> {
    return listRows(this.#database, query)
  }

  async count(filter: ListFilter): Promise<number> {
    return countRows(this.#database, filter)
  }

  async search(query: SearchQuery): Promise<FoundDocument[]> {
    return searchDocuments(this.#database, query)
  }

  async tasks(query: TaskQuery): Promise<TaskRow[]> {
    return taskRows(this.#database, query)
  }

  async due(): Promise<string[]> {
    return this.#names('FROM sessions WHERE due = 1')
  }

  async extractions(space: string, owner: string | null, keys?: readonly string[]): Promise<ExtractionRow[]> {
    return extractionRows(this.#database, space, owner, keys)
  }

  async stats(space: string): Promise<StatsRow> {
    return statsRow(this.#database, space)
  }

  /** Whether text or a session was taken out again, by anybody, since the last scrub: what is left of it lies in the index and in free pages. */
  hasRemains(): boolean {
    return this.#remains !== null
  }

  get #remains(): string | null {
    return getMeta(this.#database, 'remains')
  }

  async scrub(): Promise<void> {
    const remains = this.#remains
    // Of a text that was removed, the index keeps the words until it is merged, and the file its pages until they are used again.
    this.#database.exec(`INSERT INTO words (words) VALUES ('optimize')`)
    sumBlocks(this.#database)
    this.#database.exec('VACUUM')
    this.emptyLog()
    // Last: where somebody dies before, or cannot do all of it, the next one knows. What others have left meanwhile has a note of its own.
    if (remains !== null) this.#database.run(`DELETE FROM meta WHERE key = 'remains' AND value = ?`, remains)
  }

  /** Whether all of each journal was checked for damage since this catalog began, and not only its end. */
  isThorough(): boolean {
    return getMeta(this.#database, 'thorough') !== null
  }

  noteThorough(): void {
    replaceMeta(this.#database, 'thorough', null, 'yes')
  }

  /** Has everything in the file itself, and nothing in the log beside it. */
  emptyLog(): void {
    const [log] = this.#database.all('PRAGMA wal_checkpoint(TRUNCATE)')
    if (log?.busy === 1) throw new CatalogUnavailable('busy', 'Another process reads the catalog, so that its log cannot be emptied.')
  }

  /** A draft is filled, and becomes a catalog like any other. */
  finish(): void {
    this.#database.endLong()
    finishDraft(this.#database)
    prepare(this.#database)
  }

  async close(): Promise<void> {
    this.#database.close()
  }

  /** One transaction, and the checksums of what it changed in the index of words. */
  #change<T>(work: () => T): T {
    const result = this.#database.transaction(work)
    // The index of words writes its blocks when the transaction ends.
    try {
      sumBlocks(this.#database)
    } catch (error) {
      // The change is made. The next change computes these checksums too.
      if (!(error instanceof CatalogUnavailable)) throw error
    }
    return result
  }

  #names(from: string, ...values: Value[]): string[] {
    return this.#database.all(`SELECT ${text('name')} ${from}`, ...values).map(({ name }) => name as string)
  }
}

const KNOWN = `SELECT ${READ.select()}, ${TEXT.select()} FROM sessions WHERE name = ?`

/** Throws CatalogBroken if the row is not what was written. */
function knownOf(row: Row): Known {
  const { end, crc, status, space, born } = READ.read(row)
  const { generation, text_end, text_at, text_crc, branch } = TEXT.read(row)
  return {
    mark: { end: end as number, crc: crc as string },
    status: status as SessionStatus,
    space: space as string,
    born: born as number,
    generation: generation as number,
    text: { end: text_end as number, at: text_at as number, crc: text_crc as string },
    branch: JSON.parse(branch as string) as Stretch[],
  }
}
