/**
 * The tables of a store, as numbered migrations. Each is applied once, in order, under an advisory lock, in one transaction with the row that
 * says so. A migration that was released is never changed. One that follows must leave what older processes use as it is, so that they can go
 * on until they are restarted; a process that starts on tables newer than it knows refuses.
 *
 *     store       one row: who this store is
 *     migrations  one row for each migration that was applied
 *     journals    one row for each session: the segment that is written to, and its end. An append compares and moves that end
 *     segments    one row for each segment before that one
 *     lines       the lines of all segments, but for blank ones; the key is where they stand
 *     keys        message ids and operation keys of segments that were sealed, as hashes; derived
 *     catalog, catalog_*   the catalog, derived: sessions as lists show them, tasks, memories, and texts as words with their places
 *
 * Texts are numbered in the order in which they were put (`doc`), and name their session by a hash (`sid`). Among their words stand marks: of the space, the
 * session, the kind, the role and the number, so that the index of words can tell the newest texts of a space that have a word (catalog/words.ts).
 *
 * Space and session are hashes, the parts of a journal's name, kept as the 16 bytes of a uuid. Both stand in every key, first, so that every table
 * can be partitioned or distributed by session. There are no foreign keys, sequences, triggers or functions: docs/decisions says why.
 */
export const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE @.store (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id uuid NOT NULL,
  made timestamptz NOT NULL DEFAULT now()
);
INSERT INTO @.store (id) VALUES (gen_random_uuid());

CREATE TABLE @.journals (
  space uuid NOT NULL,
  session uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  segment bigint NOT NULL,
  tail bigint NOT NULL,
  changed xid8 NOT NULL,
  PRIMARY KEY (space, session)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX journals_changed ON @.journals (changed);

CREATE TABLE @.segments (
  space uuid NOT NULL,
  session uuid NOT NULL,
  first bigint NOT NULL,
  tail bigint NOT NULL,
  indexed boolean NOT NULL DEFAULT false,
  PRIMARY KEY (space, session, first)
);

CREATE TABLE @.lines (
  space uuid NOT NULL,
  session uuid NOT NULL,
  segment bigint NOT NULL,
  position bigint NOT NULL,
  line bytea NOT NULL,
  PRIMARY KEY (space, session, segment, position)
);

CREATE TABLE @.keys (
  space uuid NOT NULL,
  session uuid NOT NULL,
  key uuid NOT NULL,
  segment bigint NOT NULL,
  position bigint NOT NULL,
  place integer NOT NULL,
  length integer NOT NULL,
  crc text NOT NULL,
  digest uuid NOT NULL,
  PRIMARY KEY (space, session, key, segment)
);
`,
  `
CREATE TABLE @.catalog (
  key text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL
);

CREATE TABLE @.catalog_sessions (
  name text COLLATE "C" PRIMARY KEY,
  sid uuid NOT NULL UNIQUE,
  space text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  gone boolean NOT NULL,
  title text COLLATE "C",
  title_key text COLLATE "C" NOT NULL,
  haystack text COLLATE "C" NOT NULL,
  marks text[] COLLATE "C" NOT NULL,
  usage text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  workspace text COLLATE "C",
  parent text COLLATE "C",
  created text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  updated_ms bigint NOT NULL,
  info text COLLATE "C" NOT NULL,
  live bigint NOT NULL,
  archived bigint NOT NULL,
  tokens bigint NOT NULL,
  bytes bigint NOT NULL,
  due boolean NOT NULL,
  past text COLLATE "C" NOT NULL,
  ends bigint NOT NULL,
  crc text COLLATE "C" NOT NULL,
  born bigint NOT NULL,
  generation integer NOT NULL DEFAULT 0,
  text_end bigint NOT NULL DEFAULT 0,
  text_at bigint NOT NULL DEFAULT 0,
  text_crc text COLLATE "C" NOT NULL DEFAULT '',
  branch text COLLATE "C" NOT NULL DEFAULT '[]'
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX catalog_updated ON @.catalog_sessions (space, gone, updated DESC, id);
CREATE INDEX catalog_created ON @.catalog_sessions (space, gone, created DESC, id);
CREATE INDEX catalog_title ON @.catalog_sessions (space, gone, left(title_key, 64), id);
CREATE INDEX catalog_owner ON @.catalog_sessions (space, owner, updated DESC, id) WHERE owner IS NOT NULL;
CREATE INDEX catalog_workspace ON @.catalog_sessions (space, left(workspace, 256), updated DESC, id) WHERE workspace IS NOT NULL;
CREATE INDEX catalog_parent ON @.catalog_sessions (space, parent, updated DESC, id) WHERE parent IS NOT NULL;
CREATE INDEX catalog_id ON @.catalog_sessions (space, id);
CREATE INDEX catalog_marks ON @.catalog_sessions USING gin (marks);
CREATE INDEX catalog_ill ON @.catalog_sessions (status) WHERE status IN ('damaged', 'unreadable');
CREATE INDEX catalog_gone ON @.catalog_sessions (sid) WHERE gone;
CREATE INDEX catalog_due ON @.catalog_sessions (name) WHERE due;
CREATE INDEX catalog_behind ON @.catalog_sessions (updated) WHERE text_end < ends;

CREATE TABLE @.catalog_usage (
  name text COLLATE "C", model text COLLATE "C", space text COLLATE "C" NOT NULL, calls bigint, input bigint, output bigint,
  PRIMARY KEY (name, model)
);
CREATE INDEX catalog_usage_space ON @.catalog_usage (space, model);

CREATE TABLE @.catalog_tasks (
  name text COLLATE "C", archive bigint, space text COLLATE "C" NOT NULL, task text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL, created text COLLATE "C" NOT NULL, updated text COLLATE "C" NOT NULL, ended bigint,
  PRIMARY KEY (name, archive)
);
CREATE INDEX catalog_tasks_created ON @.catalog_tasks (space, created);
CREATE INDEX catalog_tasks_status ON @.catalog_tasks (space, status, created);

CREATE TABLE @.catalog_extractions (
  name text COLLATE "C", archive bigint, place integer, space text COLLATE "C" NOT NULL, owner text COLLATE "C", at text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL, memory text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, archive, place)
);
CREATE INDEX catalog_extractions_owner ON @.catalog_extractions (space, owner);

CREATE TABLE @.catalog_days (
  name text COLLATE "C", day text COLLATE "C", space text COLLATE "C" NOT NULL, messages bigint NOT NULL, tokens bigint NOT NULL,
  PRIMARY KEY (name, day)
);
CREATE INDEX catalog_days_space ON @.catalog_days (space);

CREATE TABLE @.catalog_texts (
  sid uuid, doc bigint NOT NULL, position bigint, source bigint NOT NULL, run bigint NOT NULL, depth bigint NOT NULL, at bigint NOT NULL,
  archive bigint, place integer, part integer, off boolean NOT NULL,
  kind text COLLATE "C", role text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL, words tsvector NOT NULL,
  PRIMARY KEY (sid, kind, position, place, part)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX catalog_texts_words ON @.catalog_texts USING gin (words) WITH (gin_pending_list_limit = 1024);
CREATE INDEX catalog_texts_doc ON @.catalog_texts (space, doc DESC);
CREATE INDEX catalog_texts_at ON @.catalog_texts (space, at DESC);
`,
]
