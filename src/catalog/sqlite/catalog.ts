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
  sessionSums,
  type TaskQuery,
  type TaskRow,
  type TextPut,
} from '../../engine/catalog.ts'
import type { ExtractedMemory } from '../../session/records.ts'
import type { Stretch, TaskStatus, Usage } from '../../session/state.ts'
import { Database, type Row, type Value } from './database.ts'
import { countRows, listRows } from './list.ts'
import { forget, putRow, putText } from './put.ts'
import { finishDraft, prepare, prepareDraft } from './schema.ts'
import { searchDocuments } from './search.ts'

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
    return (this.#database.get(`SELECT value FROM meta WHERE key = 'cursor'`)?.value as string | undefined) ?? null
  }

  async advance(from: string | null, to: string): Promise<void> {
    if (from === to) return
    if (from === null) this.#database.run(`INSERT OR IGNORE INTO meta VALUES ('cursor', ?)`, to)
    else this.#database.run(`UPDATE meta SET value = ? WHERE key = 'cursor' AND value = ?`, to, from)
  }

  async known(names: readonly string[]): Promise<(Known | undefined)[]> {
    return names.map((name) => {
      const row = this.#database.get(
        'SELECT end, crc, status, space, born, generation, text_end, text_at, text_crc, branch FROM sessions WHERE name = ?',
        name,
      )
      return row === undefined ? undefined : knownOf(row)
    })
  }

  async names(): Promise<string[]> {
    return this.#database.all('SELECT name FROM sessions').map(({ name }) => name as string)
  }

  async unreadable(): Promise<string[]> {
    return this.#database
      .all(`SELECT name FROM sessions WHERE status IN ('damaged', 'unreadable') AND (end = -1 OR space = '')`)
      .map(({ name }) => name as string)
  }

  async put(rows: readonly SessionPut[]): Promise<string[]> {
    if (rows.length === 0) return []
    return this.#database.transaction(() => rows.filter((row) => !putRow(this.#database, row)).map(({ name }) => name))
  }

  async forget(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    this.#database.transaction(() => {
      for (const name of names) forget(this.#database, name)
    })
  }

  async backlog(limit: number): Promise<string[]> {
    return this.#database.all(`SELECT name FROM ${BEHIND} ORDER BY updated LIMIT ?`, limit).map(({ name }) => name as string)
  }

  async lag(space?: string): Promise<Lag | null> {
    const sql = `SELECT count(*) AS sessions, sum(end - text_end) AS bytes FROM ${BEHIND}`
    const row = space === undefined ? this.#database.get(sql) : this.#database.get(`${sql} AND space = ?`, space)
    return row === undefined || row.sessions === 0 ? null : { sessions: row.sessions as number, bytes: row.bytes as number }
  }

  async putText(puts: readonly TextPut[]): Promise<void> {
    if (puts.length === 0) return
    this.#database.transaction(() => {
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

  async tasks({ space, session, status, newestFirst, limit }: TaskQuery): Promise<TaskRow[]> {
    const conditions = ['t.space = ?', 's.gone = 0']
    const values: Value[] = [space]
    if (session !== undefined) {
      conditions.push('s.id = ?')
      values.push(session)
    }
    if (status !== undefined) {
      conditions.push('t.status = ?')
      values.push(status)
    }
    const order = newestFirst ? 'DESC' : 'ASC'
    const rows = this.#database.all(
      `SELECT s.id, t.archive, t.task, t.status, t.attempts, t.created, t.updated, t.ended FROM tasks t JOIN sessions s ON s.sid = t.sid
       WHERE ${conditions.join(' AND ')} ORDER BY t.created ${order}, s.id, t.archive LIMIT ?`,
      ...values,
      limit,
    )
    return rows.map((row) => ({
      session: row.id as string,
      archive: row.archive as number,
      task: row.task as string,
      status: row.status as TaskStatus,
      attempts: row.attempts as number,
      createdAt: row.created as string,
      updatedAt: row.updated as string,
      ended: row.ended as number | null,
    }))
  }

  async due(): Promise<string[]> {
    return this.#database.all('SELECT name FROM sessions WHERE due = 1').map(({ name }) => name as string)
  }

  async extractions(space: string, owner: string | null, keys?: readonly string[]): Promise<ExtractionRow[]> {
    const only = keys === undefined ? '' : `AND e.key IN (${keys.map(() => '?').join(', ')})`
    const rows = this.#database.all(
      `SELECT s.id, e.archive, e.owner, e.at, e.memory FROM extractions e JOIN sessions s ON s.sid = e.sid
       WHERE e.space = ? AND e.owner IS ? AND s.gone = 0 ${only} ORDER BY e.sid, e.archive, e.place`,
      space,
      owner,
      ...(keys ?? []),
    )
    return rows.map((row) => ({
      session: row.id as string,
      archive: row.archive as number,
      owner: row.owner as string | null,
      at: row.at as string,
      memory: JSON.parse(row.memory as string) as ExtractedMemory,
    }))
  }

  async stats(space: string): Promise<StatsRow> {
    const rows = this.#database.all(
      `SELECT status, count(*) AS n, sum(live) AS live, sum(archived) AS archived, sum(tokens) AS tokens, sum(bytes) AS bytes
       FROM sessions WHERE space = ? GROUP BY status`,
      space,
    )
    return { ...sessionSums(rows), tasks: this.#taskCounts(space), usage: this.#usage(space), days: this.#days(space) }
  }

  /** Whether text or a session was taken out again, by anybody, since the last scrub: what is left of it lies in the index and in free pages. */
  hasRemains(): boolean {
    return this.#remains !== undefined
  }

  get #remains(): string | undefined {
    return this.#database.get(`SELECT value FROM meta WHERE key = 'remains'`)?.value as string | undefined
  }

  async scrub(): Promise<void> {
    const remains = this.#remains
    // Of a text that was removed, the index keeps the words until it is merged, and the file its pages until they are used again.
    this.#database.exec(`INSERT INTO words (words) VALUES ('optimize')`)
    this.#database.exec('VACUUM')
    this.emptyLog()
    // Last: where somebody dies before, or cannot do all of it, the next one knows. What others have left meanwhile has a note of its own.
    if (remains !== undefined) this.#database.run(`DELETE FROM meta WHERE key = 'remains' AND value = ?`, remains)
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

  #taskCounts(space: string): Record<TaskStatus, number> {
    const counts = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0 }
    const rows = this.#database.all(
      'SELECT t.status, count(*) AS n FROM tasks t JOIN sessions s ON s.sid = t.sid WHERE t.space = ? AND s.gone = 0 GROUP BY t.status',
      space,
    )
    for (const { status, n } of rows) counts[status as TaskStatus] = n as number
    return counts
  }

  #usage(space: string): Usage[] {
    const rows = this.#database.all(
      `SELECT model, sum(calls) AS calls, sum(input) AS input, sum(output) AS output
       FROM models JOIN sessions s ON s.sid = models.sid WHERE models.space = ? AND s.gone = 0 GROUP BY model ORDER BY model`,
      space,
    )
    return rows.map(({ model, calls, input, output }) => ({
      model: model as string,
      calls: calls as number,
      inputTokens: input as number,
      outputTokens: output as number,
    }))
  }

  #days(space: string): StatsRow['days'] {
    const rows = this.#database.all(
      `SELECT day, sum(sessions) AS sessions, sum(messages) AS messages, sum(tokens) AS tokens FROM (
         SELECT substr(created, 1, 10) AS day, count(*) AS sessions, 0 AS messages, 0 AS tokens
         FROM sessions WHERE space = ?1 AND gone = 0 AND created <> '' GROUP BY 1
         UNION ALL
         SELECT day, 0, sum(messages), sum(days.tokens) FROM days JOIN sessions s ON s.sid = days.sid
         WHERE days.space = ?1 AND s.gone = 0 GROUP BY day
       ) GROUP BY day ORDER BY day`,
      space,
    )
    return rows.map(({ day, sessions, messages, tokens }) => ({
      day: day as string,
      sessions: sessions as number,
      messages: messages as number,
      tokens: tokens as number,
    }))
  }
}

function knownOf(row: Row): Known {
  return {
    mark: { end: row.end as number, crc: row.crc as string },
    status: row.status as SessionStatus,
    space: row.space as string,
    born: row.born as number,
    generation: row.generation as number,
    text: { end: row.text_end as number, at: row.text_at as number, crc: row.text_crc as string },
    branch: JSON.parse(row.branch as string) as Stretch[],
  }
}
