/**
 * The tables of `catalog.db`.
 *
 *     meta          format, cursor of the feed, checksum of the tables' definitions
 *     sessions      one row for each journal: what lists show, filter and sort by; how far it was read
 *     tags, fields, models     what sessions can be filtered by, one row for each value
 *     tasks         one row for each commit
 *     extractions   what each finished archive added to the memories
 *     days          how much was appended to a session on a day
 *     documents     one row for each text that can be found: a message, a title with tags, a summary, a memory
 *     words         the full-text index of those, by FTS5, without the texts themselves: snippets are cut from the journals
 *     blocks        a checksum for each block of that index; none yet for those that were written since the last one was computed
 *
 * `words` has a second column, `marks`, with words for the session, the space, and the role or the kind of each text, so that a search within
 * one session meets nothing of the others.
 */
import { CatalogBroken } from '../../engine/catalog.ts'
import { noteSettings } from './blocks.ts'
import { type Database, text } from './database.ts'
import { getMeta, putMeta } from './meta.ts'
import { sumOf } from './sums.ts'

/** Changed with every change of the tables: a catalog of another format is made anew. */
const FORMAT = '4'

/** Words that are held in memory before a piece of the full-text index is written. */
const HASH_BYTES = 32 * 1024 * 1024
/** Pieces of the full-text index of about the same size, from which on they are merged: more are quicker to write, and slower to read. */
const AUTOMERGE = 8

const TABLES = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT, sum INTEGER) WITHOUT ROWID;

CREATE TABLE sessions (
  sid INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  status TEXT NOT NULL,
  gone INTEGER NOT NULL,
  title_key TEXT NOT NULL,
  haystack TEXT NOT NULL,
  owner TEXT,
  workspace TEXT,
  parent TEXT,
  created TEXT NOT NULL,
  updated TEXT NOT NULL,
  shown TEXT NOT NULL,
  live INTEGER NOT NULL,
  archived INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  due INTEGER NOT NULL,
  past TEXT NOT NULL,
  end INTEGER NOT NULL,
  crc TEXT NOT NULL,
  born INTEGER NOT NULL,
  generation INTEGER NOT NULL DEFAULT 0,
  text_end INTEGER NOT NULL DEFAULT 0,
  text_at INTEGER NOT NULL DEFAULT 0,
  text_crc TEXT NOT NULL DEFAULT '',
  branch TEXT NOT NULL DEFAULT '[]',
  listed_sum INTEGER NOT NULL,
  read_sum INTEGER NOT NULL,
  others_sum INTEGER NOT NULL,
  counted_sum INTEGER NOT NULL,
  text_sum INTEGER NOT NULL
);
CREATE INDEX sessions_updated ON sessions (space, gone, updated DESC, id);
CREATE INDEX sessions_created ON sessions (space, gone, created DESC, id);
CREATE INDEX sessions_title ON sessions (space, gone, title_key, id);
CREATE INDEX sessions_owner ON sessions (space, owner, updated DESC, id) WHERE owner IS NOT NULL;
CREATE INDEX sessions_workspace ON sessions (space, workspace, updated DESC, id) WHERE workspace IS NOT NULL;
CREATE INDEX sessions_parent ON sessions (space, parent, updated DESC, id) WHERE parent IS NOT NULL;
CREATE INDEX sessions_ill ON sessions (status) WHERE status IN ('damaged', 'unreadable');
CREATE INDEX sessions_due ON sessions (due) WHERE due = 1;
CREATE INDEX sessions_behind ON sessions (updated) WHERE text_end < end;

CREATE TABLE tags (space TEXT, tag TEXT, sid INTEGER, PRIMARY KEY (space, tag, sid)) WITHOUT ROWID;
CREATE INDEX tags_of ON tags (sid);
CREATE TABLE fields (space TEXT, field TEXT, value TEXT, sid INTEGER, PRIMARY KEY (space, field, value, sid)) WITHOUT ROWID;
CREATE INDEX fields_of ON fields (sid);
CREATE TABLE models (
  space TEXT, model TEXT, sid INTEGER, model_crc INTEGER, calls INTEGER, input INTEGER, output INTEGER, sum INTEGER, PRIMARY KEY (space, model, sid)
) WITHOUT ROWID;
CREATE INDEX models_of ON models (sid);

CREATE TABLE tasks (
  sid INTEGER, archive INTEGER, space TEXT, task TEXT, status TEXT, attempts INTEGER, created TEXT, updated TEXT, ended INTEGER,
  sum INTEGER, PRIMARY KEY (sid, archive)
) WITHOUT ROWID;
CREATE INDEX tasks_created ON tasks (space, created);
CREATE INDEX tasks_status ON tasks (space, status, created);

CREATE TABLE extractions (
  sid INTEGER, archive INTEGER, place INTEGER, space TEXT, owner TEXT, at TEXT, key TEXT, memory TEXT, sum INTEGER,
  PRIMARY KEY (sid, archive, place)
) WITHOUT ROWID;
CREATE INDEX extractions_owner ON extractions (space, owner, key);

CREATE TABLE days (
  sid INTEGER, day TEXT, messages INTEGER, tokens INTEGER, sum INTEGER, PRIMARY KEY (sid, day)
) WITHOUT ROWID;

CREATE TABLE documents (
  doc INTEGER PRIMARY KEY, sid INTEGER, kind INTEGER, position INTEGER, place INTEGER, source INTEGER, run INTEGER, depth INTEGER,
  role INTEGER, at INTEGER, archive INTEGER, off INTEGER, sum INTEGER
);
CREATE UNIQUE INDEX documents_at ON documents (sid, kind, position, place);
CREATE VIRTUAL TABLE words USING fts5(
  text, marks, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', ${HASH_BYTES});
INSERT INTO words (words, rank) VALUES ('automerge', ${AUTOMERGE});

CREATE TABLE blocks (id INTEGER PRIMARY KEY, sum INTEGER);
CREATE INDEX blocks_new ON blocks (id) WHERE sum IS NULL;
INSERT INTO blocks SELECT id, NULL FROM words_data;
CREATE TRIGGER blocks_written AFTER INSERT ON words_data BEGIN INSERT OR REPLACE INTO blocks VALUES (new.id, NULL); END;
CREATE TRIGGER blocks_changed AFTER UPDATE ON words_data BEGIN INSERT OR REPLACE INTO blocks VALUES (new.id, NULL); END;
CREATE TRIGGER blocks_removed AFTER DELETE ON words_data BEGIN DELETE FROM blocks WHERE id = old.id; END;
`

/**
 * Makes the tables, if there are none. In write-ahead mode a reader never waits for a writer; synced like this, a power loss costs the last
 * changes at most, which the next sweep finds.
 */
export function prepare(database: Database): void {
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = NORMAL')
  database.exec('PRAGMA cache_size = -16384')
  database.exec('PRAGMA journal_size_limit = 67108864')
  database.exec('PRAGMA wal_autocheckpoint = 8192')
  if (database.get(`SELECT 1 AS one FROM sqlite_master WHERE name = 'meta'`) === undefined) {
    database.transaction(() => {
      // Another process may have made them meanwhile.
      if (database.get(`SELECT 1 AS one FROM sqlite_master`) === undefined) makeTables(database)
    })
  }
  requireTables(database)
}

/** Throws CatalogBroken unless the tables are those that this software makes. */
export function requireTables(database: Database): void {
  if (getMeta(database, 'format') !== FORMAT) throw new CatalogBroken('The catalog has another format.')
  if (getMeta(database, 'tables') !== definitionsIn(database))
    throw new CatalogBroken('The tables of the catalog are not those that were made.')
}

function makeTables(database: Database): void {
  database.exec(TABLES)
  putMeta(database, 'format', FORMAT)
  putMeta(database, 'tables', definitionsIn(database))
}

/** A flipped bit in a definition could change what an index holds, or how texts are divided into words, without any error. */
function definitionsIn(database: Database): string {
  const rows = database.all(`SELECT ${text('type')}, ${text('name')}, ${text('sql')} FROM sqlite_master ORDER BY type, name`)
  return String(sumOf(rows.flatMap(({ type, name, sql }) => [type ?? null, name ?? null, sql ?? null])))
}

/**
 * The same for a file that nobody else has open, and that is thrown away if anything goes wrong before `finishDraft`: nothing can be taken back,
 * nothing is synced, and the full-text index comes in few, large pieces.
 */
export function prepareDraft(database: Database): void {
  database.exec('PRAGMA journal_mode = OFF')
  database.exec('PRAGMA synchronous = OFF')
  database.exec('PRAGMA cache_size = -65536')
  makeTables(database)
  database.exec(`INSERT INTO words (words, rank) VALUES ('hashsize', 67108864)`)
  database.exec(`INSERT INTO words (words, rank) VALUES ('automerge', 16)`)
}

export function finishDraft(database: Database): void {
  database.exec(`INSERT INTO words (words, rank) VALUES ('hashsize', ${HASH_BYTES})`)
  database.exec(`INSERT INTO words (words, rank) VALUES ('automerge', ${AUTOMERGE})`)
  noteSettings(database)
}
