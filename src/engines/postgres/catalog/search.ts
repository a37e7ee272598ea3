/**
 * Full text. The newest texts that match are candidates, a bounded number of them; those are ranked by how often the words stand in
 * them, and the newer one of two that match alike is better.
 *
 * How long that takes must not depend on how common a word is, and the server cannot be left to choose: it does not know how common most words
 * are, and where it errs a search takes seconds. So the newest texts are sampled first. What they tell decides which stretch of numbers is
 * asked for, from the newest text back: one that has enough matches, and never more than may be read. The marks of words.ts make that stretch, the
 * space, the session, the kinds and the role part of the match.
 */
import type { FoundDocument, SearchQuery } from '../../../engine/catalog.ts'
import { withNul, withoutNul } from '../../../engine/nul.ts'
import type { JsonObject } from '../../../record/record.ts'
import type { Past } from '../../../session/state.ts'
import type { Database, Row } from '../database.ts'
import { quoted } from '../migrate.ts'
import { Conditions } from './conditions.ts'
import { sidOf, tagMark } from './rows.ts'
import { anyMark, blockMarks, kindMark, queryOf, roleMark, sessionMark, spaceMark } from './words.ts'

/** Texts that are ranked. */
const CANDIDATES = 400
/** Texts that are looked at to see how common what is asked for is. */
const SAMPLE = 1000
/** Texts that may be read for one search, by what the sample tells. */
const READ = 4000
/** The same where they are looked at in the order of their times. */
const READ_IN_ORDER = 16_000
/** A filter that few sessions pass becomes part of the match. */
const FEW_SESSIONS = 100
const RECENCY = 0.25
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000
const READING = 'The catalog could not be read'
/** When a text was written; a title, when its session was last changed. */
const AT = `CASE WHEN d.kind = 'session' THEN s.updated_ms ELSE d.at END`
/** The index of words is the way, whatever the server believes of it; and what it believes must not make it compile the statement. */
const BY_INDEX = ['enable_seqscan = off', 'jit = off', 'max_parallel_workers_per_gather = 0']

/** Everything that a search needs to know but for the stretch that it looks at. */
interface Asked {
  readonly database: Database
  readonly schema: string
  readonly query: SearchQuery
  /** As a tsquery: what is looked for, and what the index tells of it. */
  readonly words: string
  readonly loosely: string
  readonly marks: readonly string[]
  /** Of the fork's past: what of which session belongs to it. */
  readonly lineage: Lineage | undefined
}

export async function searchTexts(database: Database, query: SearchQuery): Promise<FoundDocument[]> {
  const schema = quoted(database.schema)
  const [words, loosely] = [queryOf(query.text), queryOf(query.text, { loosely: true })]
  if (words === undefined || loosely === undefined) return []
  const lineage = query.session === undefined ? undefined : await lineageOf(database, schema, query.space, query.session)
  if (query.session !== undefined && lineage === undefined) return []
  const few = lineage?.sids ?? (await fewSessions(database, schema, query))
  if (few?.length === 0) return []
  const marks = [anyMark([spaceMark(query.space)]), ...marksOf(query)]
  const asked = { database, schema, query, words, loosely, marks, lineage }
  if (few !== undefined) return byWords({ ...asked, marks: [...marks, anyMark(few.map(sessionMark))] })
  const sample = await sampled(asked)
  if (sample.isAll) return amongNewest(asked, SAMPLE)
  if (sample.likelyEverywhere <= READ) return byWords(asked)
  const first = stretch(sample, query)
  const rows = Math.ceil((SAMPLE * (sample.newest - first + 1)) / sample.reach)
  if (rows <= READ || query.from !== undefined || query.to !== undefined) return amongNewest(asked, Math.min(rows, READ_IN_ORDER))
  const blocks = blockMarks(first, sample.newest)
  return byWords(blocks === undefined ? asked : { ...asked, marks: [...marks, anyMark(blocks)] })
}

function marksOf({ kinds, role }: SearchQuery): string[] {
  return [
    ...(kinds.length < 4 ? [anyMark(kinds.map(kindMark))] : []),
    ...(role === undefined ? [] : [anyMark([roleMark(role)]), anyMark([kindMark('message')])]),
  ]
}

interface Lineage {
  readonly sids: readonly string[]
  readonly own: string
  readonly pieces: readonly (Past & { readonly name: string })[]
}

/** A session's own texts, and those messages of others that it begins with, if it is a fork; also if those have been deleted since. */
async function lineageOf(database: Database, schema: string, space: string, session: string): Promise<Lineage | undefined> {
  const text = `SELECT name, past FROM ${schema}.catalog_sessions WHERE space = $1 AND id = $2 AND NOT gone`
  const [row] = await database.repeat({ text }, [withoutNul(space), withoutNul(session)], READING)
  if (row === undefined) return undefined
  const own = sidOf(withNul(row.name as string))
  const pieces = JSON.parse(withNul(row.past as string)) as Lineage['pieces']
  return { own, pieces, sids: [...new Set([own, ...pieces.map(({ name }) => sidOf(name))])] }
}

/** The sessions with a tag and an owner; undefined if neither is asked for, or they are many. */
async function fewSessions(database: Database, schema: string, { space, tag, owner }: SearchQuery): Promise<string[] | undefined> {
  if (tag === undefined && (owner === undefined || owner === null)) return undefined
  const where = new Conditions().add('space = ? AND NOT gone', withoutNul(space))
  if (tag !== undefined) where.add('marks @> ?::text[]', [tagMark(tag)])
  if (owner !== undefined && owner !== null) where.add('owner = ?', withoutNul(owner))
  const text = `SELECT name FROM ${schema}.catalog_sessions WHERE ${where.text} LIMIT ${FEW_SESSIONS + 1}`
  const rows = await database.repeat({ text }, where.values, READING)
  return rows.length > FEW_SESSIONS ? undefined : rows.map(({ name }) => sidOf(withNul(name as string)))
}

interface Sample {
  /** There are no other texts than those that were looked at. */
  readonly isAll: boolean
  /** The number of the newest text, and how many numbers the sample reaches back. */
  readonly newest: number
  readonly reach: number
  /** Texts in the sample that the index would find, and those that match indeed. */
  readonly likely: number
  readonly matching: number
  /** Of all texts of the space: those that the index would find, if they are as frequent as in the sample. */
  readonly likelyEverywhere: number
}

/** Looks at the newest texts of the space; of those in a range of times, if one is asked for. */
async function sampled(asked: Asked): Promise<Sample> {
  const { database, schema, query, loosely, marks } = asked
  const where = new Conditions()
  const likely = `words @@ ${where.value([loosely, ...marks].join(' & '))}::tsquery`
  const matching = ofTexts(asked, where)
  const text = `SELECT count(*) AS n, max(doc) AS newest, min(doc) AS oldest, count(*) FILTER (WHERE ${likely}) AS likely,
  count(*) FILTER (WHERE ${matching}) AS matching FROM (${newestTexts(schema, query, where, SAMPLE)}) d`
  const [row] = (await database.repeat({ text, settings: BY_INDEX }, where.values, READING)) as [Record<string, number>]
  const { n = 0, newest = 0, oldest = 0 } = row
  const reach = newest - oldest + 1
  const everywhere = ((row.likely ?? 0) * (newest + 1)) / reach
  return { isAll: n < SAMPLE, newest, reach, likely: row.likely ?? 0, matching: row.matching ?? 0, likelyEverywhere: everywhere }
}

/** Where to begin so as to have enough candidates, and to read no more than may be. */
function stretch({ newest, reach, likely, matching }: Sample, { tag, owner }: SearchQuery): number {
  const readable = READ / likely
  // Which sessions are the right ones is not known of the sample.
  const enough = tag === undefined && owner === undefined && matching > 0 ? CANDIDATES / matching : Number.POSITIVE_INFINITY
  return Math.max(0, Math.floor(newest - reach * Math.min(readable, enough)))
}

/** The newest texts of a space, or of a range of times in it. */
function newestTexts(schema: string, { space, from, to }: SearchQuery, where: Conditions, limit: number): string {
  const of = `SELECT d.* FROM ${schema}.catalog_texts d WHERE d.space = ${where.value(withoutNul(space))} AND ${ofNobodyGone(schema)}`
  if (from === undefined && to === undefined) return `${of} ORDER BY d.doc DESC LIMIT ${limit}`
  // Titles are as old as the last change of their session, which is told elsewhere.
  const until = to === undefined ? '' : ` AND d.at < ${where.value(to)}`
  return `${of}${until} ORDER BY d.at DESC LIMIT ${limit}`
}

/** Not of a session that was deleted. Those may have been the newest: they must not count among them. */
function ofNobodyGone(schema: string): string {
  return `NOT EXISTS (SELECT FROM ${schema}.catalog_sessions g WHERE g.sid = d.sid AND g.gone)`
}

/** The newest that the index of words finds. */
function byWords(asked: Asked): Promise<FoundDocument[]> {
  const where = new Conditions()
  // Each by itself: the index passes from one list to the next, and skips what the others have not. Of one large question it would go through a whole list.
  const marked = asked.marks.map((mark) => `d.words @@ ${where.value(mark)}::tsquery`)
  const there = asked.lineage === undefined ? [ofNobodyGone(asked.schema)] : []
  return ranked(asked, `${asked.schema}.catalog_texts`, where, [ofTexts(asked, where), ...marked, ...there].join(' AND '))
}

/** Those that match of the newest so many. */
function amongNewest(asked: Asked, limit: number): Promise<FoundDocument[]> {
  const where = new Conditions()
  const source = `(${newestTexts(asked.schema, asked.query, where, limit)})`
  return ranked(asked, source, where, ofTexts(asked, where))
}

/** What a text itself must fulfil. */
function ofTexts({ query, words, lineage }: Asked, where: Conditions): string {
  const { kinds, role, from, to, archived } = query
  const own = new Conditions(where.values)
  own.add('d.words @@ ?::tsquery', words)
  if (lineage === undefined) own.add('NOT d.off')
  if (kinds.length < 4) own.add('d.kind = ANY(?)', kinds)
  if (role !== undefined) own.add(`d.kind = 'message' AND d.role = ?`, withoutNul(role))
  if (archived !== undefined) own.add(`d.kind = 'message' AND d.archive IS ${archived ? 'NOT NULL' : 'NULL'}`)
  if (from !== undefined) own.add(`(d.kind = 'session' OR d.at >= ?)`, from)
  if (to !== undefined) own.add('d.at < ?', to)
  return own.text
}

/** What its session must fulfil. */
function ofSessions({ query, lineage }: Asked, where: Conditions): string {
  const { space, tag, owner, from, to } = query
  const own = new Conditions(where.values)
  if (lineage === undefined) own.add('s.space = ? AND NOT s.gone', withoutNul(space))
  else {
    const places = [
      '(d.sid = ? AND NOT d.off)',
      ...lineage.pieces.map(
        () =>
          `(d.sid = ? AND s.born = ? AND d.kind = 'message' AND d.run = ? AND d.position BETWEEN ? AND ? AND d.depth > ? AND d.depth <= ?)`,
      ),
    ]
    const values = lineage.pieces.flatMap(({ name, born, run, first, last, from: above, to: upTo }) => [
      ...[sidOf(name), born, run, first, last, above, upTo],
    ])
    own.add(`(${places.join(' OR ')})`, lineage.own, ...values)
  }
  if (tag !== undefined) own.add('s.marks @> ?::text[]', [tagMark(tag)])
  if (owner !== undefined) own.add('s.owner IS NOT DISTINCT FROM ?', owner === null ? null : withoutNul(owner))
  if (from !== undefined) own.add(`${AT} >= ?`, from)
  if (to !== undefined) own.add(`${AT} < ?`, to)
  return own.text
}

/** Ranks the newest of some texts, and then reads the sessions of the best. */
async function ranked(asked: Asked, source: string, where: Conditions, matching: string): Promise<FoundDocument[]> {
  const { database, schema, query, words, lineage } = asked
  const ofSession = ofSessions(asked, where)
  const [rank, limit, now] = [where.value(words), where.value(query.limit), where.value(query.now)]
  const joined = `JOIN ${schema}.catalog_sessions s ON s.sid = d.sid`
  // Where sessions decide, they are asked before the newest are taken.
  const isNarrow = lineage !== undefined || query.tag !== undefined || query.owner !== undefined || query.from !== undefined
  const from = isNarrow ? `${source} d ${joined} WHERE ${matching} AND ${ofSession}` : `${source} d WHERE ${matching}`
  // Not a column that another index has in this order: the server could take that for the shorter way.
  const text = `WITH candidates AS MATERIALIZED (
  SELECT d.* FROM ${from} ORDER BY d.doc + 0 DESC LIMIT ${CANDIDATES}
), scored AS (
  SELECT d.sid, d.doc, d.kind, d.position, d.place, d.source, d.role, d.archive, d.run, d.depth, d.off, d.at,
    ts_rank(d.words, ${rank}::tsquery) * (1 + ${RECENCY} * power(0.5::float8, greatest(0, ${now}::bigint - d.at) / ${HALF_LIFE_MS}.0::float8)) AS score
  FROM candidates d
), parts AS (
  SELECT DISTINCT ON (sid, kind, position, place) * FROM scored ORDER BY sid, kind, position, place, score DESC
), best AS MATERIALIZED (
  SELECT * FROM parts ORDER BY score DESC, doc DESC LIMIT ${limit}
)
SELECT s.name, d.kind, d.position, d.place, d.source, d.role, d.archive, ${AT} AS at, s.id, s.title, s.info, d.score
FROM best d ${joined} WHERE ${ofSession} ORDER BY d.score DESC, d.doc DESC`
  return (await database.repeat({ text, settings: BY_INDEX }, where.values, READING)).map(found)
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
