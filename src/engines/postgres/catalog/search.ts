/**
 * Full text. The newest texts that match are candidates, a bounded number of them; those are ranked by how often the words stand in
 * them, and the newer one of two that match alike is better.
 */
import type { FoundDocument, SearchQuery } from '../../../engine/catalog.ts'
import { withNul, withoutNul } from '../../../engine/nul.ts'
import type { JsonObject } from '../../../record/record.ts'
import type { Past } from '../../../session/state.ts'
import type { Database, Row } from '../database.ts'
import { quoted } from '../migrate.ts'
import { Conditions } from './query.ts'
import { tagMark } from './rows.ts'
import { queryOf } from './words.ts'

const CANDIDATES = 500
const RECENCY = 0.25
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000
const READING = 'The catalog could not be read'
/** When a text was written; a title, when its session was last changed. */
const AT = `CASE WHEN d.kind = 'session' THEN s.updated_ms ELSE d.at END`

export async function searchTexts(database: Database, query: SearchQuery): Promise<FoundDocument[]> {
  const schema = quoted(database.schema)
  const words = queryOf(query.text)
  if (words === undefined) return []
  const where = new Conditions()
  where.add('d.words @@ ?::tsquery', words)
  if (!(await addScope(database, schema, query, where))) return []
  addFilters(query, where)
  const limit = where.value(query.limit)
  const age = `greatest(0, ${where.value(query.now)}::bigint - at)`
  const rows = await database.repeat(
    {
      text: `WITH candidates AS MATERIALIZED (
  SELECT d.name, d.kind, d.position, d.place, d.source, d.role, d.archive, d.words, ${AT} AS at, s.id, s.title, s.info
  FROM ${schema}.catalog_texts d JOIN ${schema}.catalog_sessions s ON s.name = d.name
  WHERE ${where.text} ORDER BY d.at DESC LIMIT ${CANDIDATES}
), scored AS (
  SELECT *, ts_rank(words, $1::tsquery) * (1 + ${RECENCY} * power(0.5::float8, ${age} / ${HALF_LIFE_MS}.0::float8)) AS score FROM candidates
), best AS (
  SELECT DISTINCT ON (name, kind, position, place) * FROM scored ORDER BY name, kind, position, place, score DESC
)
SELECT name, kind, position, place, source, role, archive, at, id, title, info, score FROM best ORDER BY score DESC, at DESC LIMIT ${limit}`,
    },
    where.values,
    READING,
  )
  return rows.map(found)
}

/** False if nothing can be there. */
async function addScope(database: Database, schema: string, { space, session }: SearchQuery, where: Conditions): Promise<boolean> {
  if (session === undefined) {
    const name = withoutNul(space)
    where.add('d.space = ? AND s.space = ? AND NOT s.gone AND NOT d.off', name, name)
    return true
  }
  const values = [withoutNul(space), withoutNul(session)]
  const text = `SELECT name, past FROM ${schema}.catalog_sessions WHERE space = $1 AND id = $2 AND NOT gone`
  const [own] = await database.repeat({ text }, values, READING)
  if (own === undefined) return false
  const pieces = JSON.parse(withNul(own.past as string)) as (Past & { readonly name: string })[]
  const places = [
    `(d.name = ? AND NOT d.off)`,
    ...pieces.map(
      () =>
        `(d.name = ? AND s.born = ? AND d.kind = 'message' AND d.run = ? AND d.position BETWEEN ? AND ? AND d.depth > ? AND d.depth <= ?)`,
    ),
  ]
  const piecesValues = pieces.flatMap(({ name, born, run, first, last, from, to }) => [withoutNul(name), born, run, first, last, from, to])
  where.add(`(${places.join(' OR ')})`, own.name, ...piecesValues)
  return true
}

function addFilters({ kinds, role, tag, owner, from, to, archived }: SearchQuery, where: Conditions): void {
  if (kinds.length < 4) where.add('d.kind = ANY(?)', kinds)
  if (role !== undefined) where.add(`d.kind = 'message' AND d.role = ?`, role)
  if (tag !== undefined) where.add('s.marks @> ?::text[]', [tagMark(tag)])
  if (owner !== undefined) where.add('s.owner IS NOT DISTINCT FROM ?', owner === null ? null : withoutNul(owner))
  if (archived !== undefined) where.add(`d.kind = 'message' AND d.archive IS ${archived ? 'NOT NULL' : 'NULL'}`)
  if (from !== undefined) where.add(`${AT} >= ?`, from)
  if (to !== undefined) where.add(`${AT} < ?`, to)
}

function found(row: Row): FoundDocument {
  const { tags } = JSON.parse(withNul(row.info as string)) as { tags: readonly string[] } & JsonObject
  return {
    kind: row.kind as FoundDocument['kind'],
    ...{ name: withNul(row.name as string), session: withNul(row.id as string) },
    title: row.title === null ? null : withNul(row.title as string),
    tags,
    ...{ source: row.source as number, position: row.position as number, index: row.place as number },
    archive: row.archive as number | null,
    role: row.role === '' ? null : withNul(row.role as string),
    ...{ at: row.at as number, score: row.score as number },
  }
}
