import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'libsql'
import type { Contender, Message, Sessions } from './contender.ts'

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA busy_timeout = 10000;
  CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, updated INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS by_time ON sessions (updated);
  CREATE TABLE IF NOT EXISTS messages (n INTEGER PRIMARY KEY, session TEXT NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL);
  CREATE UNIQUE INDEX IF NOT EXISTS by_id ON messages (session, id);
  CREATE INDEX IF NOT EXISTS by_session ON messages (session, n);
  CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (content, content = 'messages', content_rowid = 'n');
  CREATE TRIGGER IF NOT EXISTS indexed AFTER INSERT ON messages BEGIN INSERT INTO texts (rowid, content) VALUES (new.n, new.content); END;
`

export const sqlite: Contender = {
  name: 'SQLite',
  about:
    'libsql with `synchronous = FULL`, a table of messages with unique ids and one of sessions, full text by FTS5, one transaction for an append',
  keeps: 'sync',
  open: async (directory) => {
    await mkdir(directory, { recursive: true })
    return new SqliteSessions(new Database(join(directory, 'sessions.db')))
  },
}

interface Statement {
  run(...values: readonly unknown[]): unknown
  all(...values: readonly unknown[]): unknown[]
}

class SqliteSessions implements Sessions {
  readonly #database: InstanceType<typeof Database>
  readonly #statements = new Map<string, Statement>()

  constructor(database: InstanceType<typeof Database>) {
    this.#database = database
    database.exec(SCHEMA)
  }

  async append(session: string, message: Message): Promise<void> {
    await this.fill(session, [message])
  }

  async fill(session: string, messages: readonly Message[]): Promise<void> {
    this.#inTransaction(() => {
      const insert = this.#prepared('INSERT OR IGNORE INTO messages (session, id, role, content) VALUES (?, ?, ?, ?)')
      for (const { id, role, content } of messages) insert.run(session, id, role, content)
      this.#touch(session)
    })
  }

  async messages(session: string, last = -1): Promise<Message[]> {
    const rows = this.#prepared('SELECT id, role, content FROM messages WHERE session = ? ORDER BY n DESC LIMIT ?').all(session, last)
    return (rows as Message[]).reverse()
  }

  async list(limit: number): Promise<string[]> {
    const rows = this.#prepared('SELECT id FROM sessions ORDER BY updated DESC LIMIT ?').all(limit)
    return (rows as { id: string }[]).map(({ id }) => id)
  }

  async search(word: string, limit: number): Promise<string[]> {
    const rows = this.#prepared(
      'SELECT messages.id FROM texts JOIN messages ON messages.n = texts.rowid WHERE texts MATCH ? ORDER BY rank LIMIT ?',
    ).all(`"${word}"`, limit)
    return (rows as { id: string }[]).map(({ id }) => id)
  }

  async fork(session: string, as: string): Promise<void> {
    this.#inTransaction(() => {
      const copy =
        'INSERT INTO messages (session, id, role, content) SELECT ?, id, role, content FROM messages WHERE session = ? ORDER BY n'
      this.#prepared(copy).run(as, session)
      this.#touch(as)
    })
  }

  async close(): Promise<void> {
    this.#database.close()
  }

  #touch(session: string): void {
    this.#prepared('INSERT INTO sessions VALUES (?, ?) ON CONFLICT DO UPDATE SET updated = excluded.updated').run(session, now())
  }

  #inTransaction(work: () => void): void {
    this.#prepared('BEGIN IMMEDIATE').run()
    try {
      work()
      this.#prepared('COMMIT').run()
    } catch (error) {
      // After a full disk SQLite has rolled back by itself.
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  #prepared(sql: string): Statement {
    const known = this.#statements.get(sql) ?? (this.#database.prepare(sql) as Statement)
    this.#statements.set(sql, known)
    return known
  }
}

/** Microseconds: several sessions change in one millisecond. */
function now(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000)
}
