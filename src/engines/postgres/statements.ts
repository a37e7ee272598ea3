/** The statements of the engine. Each does one call of the port, in one round trip and one transaction. */
import type { Statement } from './database.ts'
import { quoted } from './migrate.ts'

export type Statements = ReturnType<typeof statementsOf>

/**
 * Whatever the server's default is, a commit that is answered is on the disk: raised for this transaction alone, and never lowered. Nothing
 * reads a row of it before it was asked for, so it stands where every statement must pass.
 */
export const DURABLE = `durable AS MATERIALIZED (
  SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)
)`

/** Lines come as one value of bytes, with where each begins and ends in there: an array of them would be sent as text, at twice the size. */
const LINES = (from: number) =>
  `unnest($${from}::int[], $${from + 1}::bigint[], $${from + 2}::int[], $${from + 3}::int[]) AS r(n, position, begin, length)`
const LINE = (bytes: number) => `substring($${bytes}::bytea FROM r.begin FOR r.length)`

/**
 * Appends of several sessions at their places: which of them stand, and what writes their lines. A session that has lines and no row lost the
 * row, and is not created: its lines would collide with those, and fail the appends of all others in the statement.
 */
function appending(s: string, written: string): string {
  return `WITH ${DURABLE},
asked AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS a(space, session, name, segment, at, next, n)
),
locked AS MATERIALIZED (
  SELECT a.n, a.next, l.id FROM asked a CROSS JOIN LATERAL (
    SELECT j.ctid AS id, j.segment, j.tail FROM ${s}.journals j WHERE j.space = a.space AND j.session = a.session LIMIT 1 FOR UPDATE
  ) l WHERE l.segment = a.segment AND l.tail = a.at
),
moved AS (
  UPDATE ${s}.journals j SET tail = locked.next, changed = pg_current_xact_id() FROM locked WHERE j.ctid = locked.id RETURNING locked.n
),
made AS (
  INSERT INTO ${s}.journals (space, session, name, segment, tail, changed)
  SELECT a.space, a.session, a.name, 0, a.next, pg_current_xact_id() FROM asked a WHERE a.segment = 0 AND a.at = 0
    AND (SELECT true FROM ${s}.lines l WHERE l.space = a.space AND l.session = a.session LIMIT 1) IS NULL
  ORDER BY a.n ON CONFLICT DO NOTHING RETURNING space, session
),
placed AS MATERIALIZED (
  SELECT n FROM moved UNION ALL SELECT a.n FROM made m JOIN asked a ON a.space = m.space AND a.session = m.session
)${written}
SELECT placed.n FROM durable, placed`
}

/**
 * Sessions that have lines and no row, with their first lines, which may hold their name, and the name that the catalog has. Looks at $3 sessions
 * after ($1, $2), by one step in the index of lines for each, however many lines that session has. If there may be more, the last row has no line.
 */
function rowless(s: string, within: string): string {
  const next = (after: string) =>
    `SELECT l.space, l.session FROM ${s}.lines l WHERE (l.space, l.session) > (${after}) AND ${within} ORDER BY l.space, l.session LIMIT 1`
  return `WITH RECURSIVE met AS (
  (${next('$1::uuid, $2::uuid')})
  UNION ALL
  SELECT n.space, n.session FROM met CROSS JOIN LATERAL (${next('met.space, met.session')}) n
),
page AS MATERIALIZED (SELECT space, session FROM met LIMIT $3::int),
lost AS MATERIALIZED (
  SELECT space, session FROM page p WHERE NOT EXISTS (SELECT FROM ${s}.journals j WHERE j.space = p.space AND j.session = p.session)
)
SELECT lost.space, lost.session, l.line,
  (SELECT name FROM ${s}.catalog_sessions WHERE right(name, 32) = replace(lost.session::text, '-', '') LIMIT 1) AS name
FROM lost CROSS JOIN LATERAL (
  SELECT line FROM ${s}.lines WHERE space = lost.space AND session = lost.session ORDER BY segment, position LIMIT 4
) l
UNION ALL (SELECT space, session, NULL, NULL FROM page OFFSET $3::int - 1)`
}

export function statementsOf(schema: string) {
  const s = quoted(schema)
  const one = 'space = $1 AND session = $2'
  const statement = (name: string, text: string): Statement => ({ name, text })
  return {
    /**
     * Appends of several sessions, each at its place or not at all. Tells the numbers of those that stand. They come in the order of their
     * keys, and are locked in that order, so that two processes cannot wait for each other. Each row is looked up by itself: a join would be
     * planned by the number of rows that the table had when the statement was prepared.
     */
    append: statement(
      'append',
      appending(
        s,
        `,
written AS (
  INSERT INTO ${s}.lines (space, session, segment, position, line)
  SELECT a.space, a.session, a.segment, r.position, ${LINE(11)} FROM ${LINES(7)} JOIN asked a ON a.n = r.n WHERE r.n IN (SELECT n FROM placed)
)`,
      ),
    ),
    /** The same without the lines, which follow in the same transaction. */
    place: statement('place', appending(s, '')),

    segments: statement(
      'segments',
      `SELECT first FROM ${s}.segments WHERE ${one} UNION SELECT segment FROM ${s}.journals WHERE ${one} ORDER BY 1`,
    ),

    /** Lines that begin before $5, or the first one if that begins later. Where the segment ends is told with each, or alone. */
    read: statement(
      'read',
      `WITH ends AS MATERIALIZED (
  SELECT CASE WHEN j.segment = $3 THEN j.tail ELSE (SELECT s.tail FROM ${s}.segments s WHERE s.space = $1 AND s.session = $2 AND s.first = $3) END AS tail
  FROM ${s}.journals j WHERE j.space = $1 AND j.session = $2
)
SELECT ends.tail, l.position, l.line FROM ends LEFT JOIN LATERAL (
  SELECT position, line FROM ${s}.lines WHERE ${one} AND segment = $3 AND position >= $4::bigint AND position < greatest($5::bigint, (
    SELECT position + 1 FROM ${s}.lines WHERE ${one} AND segment = $3 AND position >= $4::bigint ORDER BY position LIMIT 1
  )) ORDER BY position
) l ON true WHERE ends.tail IS NOT NULL ORDER BY l.position`,
    ),

    /** Where the last line of a segment ends. */
    stop: statement(
      'stop',
      `SELECT position + octet_length(line) + 1 AS stop FROM ${s}.lines WHERE ${one} AND segment = $3 ORDER BY position DESC LIMIT 1`,
    ),

    /**
     * Compares the row of each segment with the lines that are there. The end in the row must be the end of the last line, and the first and
     * the last line must belong to a segment that has a row. $3 is how much shorter the lines may be: blank lines are not stored.
     *
     * One snapshot holds an append of another process in both tables or in neither, so no writer can cause a false alarm. The statement reads
     * the last line of each segment and no other. Segments of an earlier epoch do not count: a person has accepted their loss.
     */
    vanished: statement(
      'vanished',
      `WITH head AS MATERIALIZED (SELECT segment, tail FROM ${s}.journals WHERE ${one}),
known AS MATERIALIZED (SELECT segment, tail FROM head UNION ALL SELECT first, tail FROM ${s}.segments WHERE ${one}),
compared AS MATERIALIZED (
  SELECT segment, tail, coalesce((
    SELECT position + octet_length(line) + 1 FROM ${s}.lines l WHERE ${one} AND l.segment = known.segment ORDER BY position DESC LIMIT 1
  ), segment) AS stop FROM known
),
earliest AS MATERIALIZED (SELECT segment FROM ${s}.lines WHERE ${one} ORDER BY segment, position LIMIT 1),
latest AS MATERIALIZED (
  SELECT segment, position + octet_length(line) + 1 AS stop FROM ${s}.lines WHERE ${one} ORDER BY segment DESC, position DESC LIMIT 1
),
lost AS (
  SELECT segment, least(stop, tail) AS begins, greatest(stop, tail) AS ends FROM compared WHERE tail - stop >= $3::bigint OR stop > tail
  UNION ALL
  SELECT segment, coalesce((SELECT max(tail) FROM known), segment), stop FROM latest WHERE segment > coalesce((SELECT segment FROM head), -1)
  UNION ALL
  SELECT segment, segment, (SELECT min(segment) FROM known) FROM earliest WHERE segment < (SELECT min(segment) FROM known)
)
SELECT min(begins) AS begins, max(ends) AS ends FROM lost
WHERE segment >> 32 >= coalesce((SELECT segment >> 32 FROM head), 0) HAVING count(*) > 0`,
    ),

    /** Lines by where they begin, in whichever segment that position is. */
    lines: statement(
      'lines',
      `SELECT a.n, l.line FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) WITH ORDINALITY AS a(space, session, position, n) CROSS JOIN LATERAL (
  SELECT line FROM ${s}.lines l WHERE l.space = a.space AND l.session = a.session AND l.position = a.position AND l.segment = greatest(
    (SELECT max(first) FROM ${s}.segments g WHERE g.space = a.space AND g.session = a.session AND first <= a.position),
    (SELECT segment FROM ${s}.journals j WHERE j.space = a.space AND j.session = a.session AND segment <= a.position)
  ) LIMIT 1
) l`,
    ),

    /** The row of a session that has lines and lost its row, or whose row was set back: the end of the last line is its end. */
    adopt: statement(
      'adopt',
      `WITH ${DURABLE}, made AS (
  INSERT INTO ${s}.journals (space, session, name, segment, tail, changed)
  SELECT space, session, $3, segment, position + octet_length(line) + 1, pg_current_xact_id() FROM ${s}.lines
  WHERE ${one} ORDER BY segment DESC, position DESC LIMIT 1
  ON CONFLICT (space, session) DO UPDATE SET segment = excluded.segment, tail = excluded.tail, changed = excluded.changed
  WHERE (journals.segment, journals.tail) < (excluded.segment, excluded.tail) RETURNING 1
)
SELECT 1 AS done FROM durable, made`,
    ),

    /**
     * The next segment, unless it or a later one is there. If the session lost its row and the lines of that segment are there, they stay. If it
     * lost the lines of that segment and all later ones, the preamble is written again, and the end in the row stays.
     */
    roll: statement(
      'roll',
      `WITH ${DURABLE},
old AS MATERIALIZED (SELECT segment, tail FROM ${s}.journals WHERE ${one} AND segment < $4::bigint FOR UPDATE),
kept AS (INSERT INTO ${s}.segments (space, session, first, tail) SELECT $1, $2, segment, tail FROM old),
moved AS (
  UPDATE ${s}.journals SET segment = $4::bigint, tail = $5::bigint, changed = pg_current_xact_id()
  WHERE ${one} AND EXISTS (SELECT FROM old) RETURNING 1
),
there AS MATERIALIZED (
  SELECT segment, position + octet_length(line) + 1 AS stop FROM ${s}.lines WHERE ${one} AND segment >= $4::bigint
    AND NOT EXISTS (SELECT FROM ${s}.journals WHERE ${one}) ORDER BY segment DESC, position DESC LIMIT 1
),
made AS (
  INSERT INTO ${s}.journals (space, session, name, segment, tail, changed)
  SELECT $1, $2, $3, coalesce((SELECT segment FROM there), $4::bigint), coalesce((SELECT stop FROM there), $5::bigint), pg_current_xact_id()
  ON CONFLICT DO NOTHING RETURNING 1
),
emptied AS MATERIALIZED (
  SELECT 1 FROM ${s}.journals WHERE ${one} AND segment = $4::bigint AND tail >= $5::bigint
    AND NOT EXISTS (SELECT FROM ${s}.lines WHERE ${one} AND segment >= $4::bigint) FOR UPDATE
),
done AS MATERIALIZED (SELECT 1 FROM moved UNION ALL SELECT 1 FROM made UNION ALL SELECT 1 FROM emptied),
written AS (
  INSERT INTO ${s}.lines (space, session, segment, position, line)
  SELECT $1, $2, $4::bigint, r.position, ${LINE(10)} FROM ${LINES(6)} WHERE EXISTS (SELECT FROM done) AND NOT EXISTS (SELECT FROM there)
  ON CONFLICT DO NOTHING
)
SELECT count(*) FROM durable, done`,
    ),

    /** Segments that end, where the next one begins, at or before $3. */
    purge: statement(
      'purge',
      `WITH ${DURABLE},
head AS MATERIALIZED (SELECT segment FROM ${s}.journals WHERE ${one} FOR UPDATE),
gone AS MATERIALIZED (
  SELECT first, tail FROM (
    SELECT first, tail, lead(first, 1, (SELECT segment FROM head)) OVER (ORDER BY first) AS ends FROM ${s}.segments WHERE ${one}
  ) one WHERE ends <= $3::bigint
),
segments AS (DELETE FROM ${s}.segments WHERE ${one} AND first IN (SELECT first FROM gone)),
keys AS (DELETE FROM ${s}.keys WHERE ${one} AND segment IN (SELECT first FROM gone)),
lines AS (DELETE FROM ${s}.lines WHERE ${one} AND segment IN (SELECT first FROM gone)),
told AS (UPDATE ${s}.journals SET changed = pg_current_xact_id() WHERE ${one} AND EXISTS (SELECT FROM gone))
SELECT coalesce(sum(tail - first), 0)::bigint AS freed FROM durable, gone`,
    ),

    /** The highest entry of each key from $4 on and before $5, and with it whether segments in there are not indexed yet. */
    lookup: statement(
      'lookup',
      `SELECT DISTINCT ON (key) key, position, place, length, crc, digest FROM ${s}.keys
WHERE ${one} AND key = ANY($3::uuid[]) AND position >= $4::bigint AND position < $5::bigint ORDER BY key, position DESC, place DESC`,
    ),
    unindexed: statement(
      'unindexed',
      `SELECT first, ends FROM (
  SELECT first, indexed, lead(first, 1, (SELECT segment FROM ${s}.journals WHERE ${one})) OVER (ORDER BY first) AS ends
  FROM ${s}.segments WHERE ${one}
) one WHERE NOT indexed AND ends > $3::bigint AND first < $4::bigint ORDER BY first`,
    ),
    index: statement(
      'index',
      `WITH claimed AS (UPDATE ${s}.segments SET indexed = true WHERE ${one} AND first = $3::bigint AND NOT indexed RETURNING first)
INSERT INTO ${s}.keys (space, session, key, segment, position, place, length, crc, digest)
SELECT $1, $2, k.key, claimed.first, k.position, k.place, k.length, k.crc, k.digest
FROM claimed, unnest($4::uuid[], $5::bigint[], $6::int[], $7::int[], $8::text[], $9::uuid[]) AS k(key, position, place, length, crc, digest)`,
    ),

    /** One line by another, and what its keys tell with it. */
    overwrite: statement(
      'overwrite',
      `WITH ${DURABLE},
changed AS MATERIALIZED (
  UPDATE ${s}.lines SET line = $6::bytea WHERE ${one} AND segment = $3::bigint AND position = $4::bigint AND line = $5::bytea RETURNING 1
),
corrected AS (
  UPDATE ${s}.keys SET crc = k.crc, digest = k.digest
  FROM unnest($7::uuid[], $8::bigint[], $9::int[], $10::text[], $11::uuid[]) AS k(key, position, place, crc, digest)
  WHERE ${one} AND keys.key = k.key AND keys.position = k.position AND keys.place = k.place AND EXISTS (SELECT FROM changed)
)
SELECT 1 AS done FROM durable, changed`,
    ),

    /** The heads of the lines that were written last, one of each session. They hold the time of that change. */
    latest: statement(
      'latest',
      `SELECT substring(l.line FROM 1 FOR 256) AS head
FROM (SELECT space, session, segment FROM ${s}.journals ORDER BY changed DESC LIMIT 16) j CROSS JOIN LATERAL (
  SELECT line FROM ${s}.lines n WHERE n.space = j.space AND n.session = j.session AND n.segment = j.segment ORDER BY position DESC LIMIT 1
) l`,
    ),

    names: statement(
      'names',
      `SELECT space, session, name FROM ${s}.journals WHERE (space, session) > ($1::uuid, $2::uuid) ORDER BY space, session LIMIT $3`,
    ),
    namesOfSpace: statement(
      'names_of_space',
      `SELECT space, session, name FROM ${s}.journals WHERE space = $1 AND session > $2::uuid ORDER BY session LIMIT $3`,
    ),

    rowless: statement('rowless', rowless(s, 'true')),
    rowlessOfSpace: statement('rowless_of_space', rowless(s, 'l.space = $1')),

    /** What may be known of the server by whoever may log in; null where even that was taken away. */
    store: statement(
      'store',
      `SELECT (SELECT id FROM ${s}.store) AS id, current_setting('fsync') AS fsync, pg_is_in_recovery() AS recovering,
  has_function_privilege('pg_control_system()', 'EXECUTE') AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE') AS told,
  current_setting('server_version_num')::int AS version`,
    ),
  }
}
