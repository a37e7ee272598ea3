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
]
