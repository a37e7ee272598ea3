/**
 * Full text. The newest texts that match are candidates, a bounded number of them; the best of those are ranked by bm25, and the newer one
 * of two that match alike is better.
 *
 * FTS5's own bm25 counts the texts that have a word each time that it is asked, which for a word of every third message takes longer than
 * the whole search may. So words that are too common are not counted: how often one of them stands in a text tells little anyway. How common
 * a word is shows in how far back its newest thousand texts reach.
 */

import type { FoundDocument, SearchQuery } from '../../engine/catalog.ts'
import type { Term, TextQuery } from '../../message/text-query.ts'
import { spaced } from '../../message/words.ts'
import type { Past } from '../../session/state.ts'
import { type Database, integer, type Row, text, type Value } from './database.ts'
import { documentSum, KINDS, kindMark, ROLES, roleMark, sessionMark, spaceMark } from './documents.ts'
import { OTHERS, shownIn } from './session-columns.ts'
import { notWritten } from './sums.ts'

const CANDIDATES = 2000
/** Texts that bm25 may count for one search: about five milliseconds. */
const COUNTED = 75_000
const SAMPLE = 1000
/** A filter that few sessions pass becomes part of the match; one that many pass is looked at row by row. */
const FEW_SESSIONS = 200
/** When a text was written, in milliseconds; a title, when its session was last changed. */
const AT = `CASE WHEN d.kind = 1 THEN CAST(round(unixepoch(s.updated, 'subsec') * 1000) AS INTEGER) ELSE d.at END`
/** Higher is better. */
const BM25 = '-bm25(words, 1.0, 0.0)'
const RECENCY = 0.25
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000

export function searchDocuments(database: Database, query: SearchQuery): FoundDocument[] {
  const total = (database.get(`SELECT ${integer('max(doc)', 'n')} FROM documents`)?.n as number | null) ?? 0
  if (total === 0) return []
  const scope = scopeOf(database, query)
  if (scope === undefined) return []
  const best = candidates(database, query.text, scope, total)
    .map(({ doc, at, score }) => ({ doc, score: score * recency(query.now - at) }))
    .sort((a, b) => b.score - a.score || b.doc - a.doc)
    .slice(0, query.limit)
  return best.flatMap(({ doc, score }) => {
    const row = database.get(FOUND, doc)
    return row === undefined ? [] : [found(row, score)]
  })
}

const PLACE = ['kind', 'position', 'place', 'source', 'role', 'archive'].map((column) => integer(`d.${column}`))
const FOUND = `SELECT ${PLACE.join(', ')}, ${integer(AT, 'at')}, ${documentSum('d')} IS d.sum AS whole, ${text('s.shown')}
  FROM documents d JOIN sessions s ON s.sid = d.sid WHERE d.doc = ?`

function recency(ageMs: number): number {
  return 1 + RECENCY * 0.5 ** (Math.max(0, ageMs) / HALF_LIFE_MS)
}

/** Throws CatalogBroken if the rows are not what was written. */
function found(row: Row, score: number): FoundDocument {
  if (row.whole !== 1) throw notWritten()
  const { name, id, title, filters } = shownIn(row)
  return {
    kind: KINDS[row.kind as number] ?? 'message',
    name,
    session: id,
    title,
    tags: filters[0],
    source: row.source as number,
    position: row.position as number,
    index: row.place as number,
    archive: row.archive as number | null,
    role: row.role === 0 ? null : (ROLES[row.role as number] ?? null),
    at: row.at as number,
    score,
  }
}

function expressionOf({ any, terms }: TextQuery): string {
  return `text : (${terms.map(termOf).join(any ? ' OR ' : ' AND ')})`
}

function termOf({ forms, prefix }: Term): string {
  return `(${forms.map((form) => formOf(form) + (prefix ? ' *' : '')).join(' OR ')})`
}

function formOf(form: string): string {
  return `"${spaced(form).replaceAll('"', ' ')}"`
}

interface Scope {
  /** Of the match. */
  readonly marks: readonly string[]
  /** Of the rows. */
  readonly conditions: readonly string[]
  readonly values: readonly Value[]
}

/** Undefined if nothing can be there. */
function scopeOf(database: Database, query: SearchQuery): Scope | undefined {
  const { space, kinds, session, role, tag, owner, from, to, archived } = query
  const marks: string[] = []
  const conditions: string[] = []
  const values: Value[] = []
  const add = (condition: string, ...more: Value[]): void => {
    conditions.push(condition)
    values.push(...more)
  }
  const within = (sids: readonly number[]): void => {
    marks.push(`marks : (${sids.map((sid) => sessionMark(sid)).join(' OR ')})`)
  }
  if (session === undefined) {
    add('s.space = ? AND s.gone = 0 AND d.off = 0', space)
    if (isShared(database, space)) marks.push(`marks : ${spaceMark(space)}`)
  } else {
    const own = lineageOf(database, space, session)
    if (own.length === 0) return undefined
    within(own.map(({ sid }) => sid))
    add(`(${own.map(({ condition }) => condition).join(' OR ')})`, ...own.flatMap((one) => one.values))
  }
  const narrow = sessionsWith(database, space, tag, owner)
  if (narrow !== undefined) {
    if (narrow.length === 0) return undefined
    if (narrow.length <= FEW_SESSIONS) within(narrow)
    if (tag !== undefined) add('d.sid IN (SELECT sid FROM tags WHERE tags.space = ? AND tag = ?)', space, tag)
    if (owner !== undefined) add('s.owner IS ?', owner)
  }
  if (role !== undefined) marks.push(`marks : ${roleMark(role)}`)
  if (kinds.length < KINDS.length) marks.push(`marks : (${kinds.map(kindMark).join(' OR ')})`)
  if (archived !== undefined) add(`d.kind = 0 AND d.archive IS ${archived ? 'NOT NULL' : 'NULL'}`)
  if (from !== undefined) add(`${AT} >= ?`, from)
  if (to !== undefined) add(`${AT} < ?`, to)
  return { marks, conditions, values }
}

/** Whether there are other spaces as well. */
function isShared(database: Database, space: string): boolean {
  return (
    database.get('SELECT 1 AS one FROM sessions WHERE space < ? LIMIT 1', space) !== undefined ||
    database.get('SELECT 1 AS one FROM sessions WHERE space > ? LIMIT 1', space) !== undefined
  )
}

/** Sessions with a tag and an owner; undefined if neither is asked for. One more than few tells that they are many. */
function sessionsWith(database: Database, space: string, tag: string | undefined, owner: string | null | undefined): number[] | undefined {
  if (tag === undefined && (owner === undefined || owner === null)) return undefined
  const rows =
    tag === undefined
      ? database.all(
          `SELECT ${integer('sid')} FROM sessions WHERE space = ? AND owner = ? LIMIT ?`,
          space,
          owner as string,
          FEW_SESSIONS + 1,
        )
      : database.all(`SELECT ${integer('sid')} FROM tags WHERE space = ? AND tag = ? LIMIT ?`, space, tag, FEW_SESSIONS + 1)
  return rows.map(({ sid }) => sid as number)
}

/** A session's own texts, and those messages of others that it begins with, if it is a fork; also if those have been deleted since. */
function lineageOf(database: Database, space: string, session: string): { sid: number; condition: string; values: Value[] }[] {
  const row = database.get(
    `SELECT ${integer('sid')}, ${OTHERS.select()} FROM sessions WHERE space = ? AND id = ? AND gone = 0`,
    space,
    session,
  )
  if (row === undefined) return []
  const { past } = OTHERS.read(row)
  const own = { sid: row.sid as number, condition: '(d.sid = ? AND d.off = 0)', values: [row.sid as number] }
  const pieces = (JSON.parse(past as string) as (Past & { name: string })[]).flatMap(({ name, born, run, from, to, first, last }) => {
    const parent = database.get(`SELECT ${integer('sid')} FROM sessions WHERE name = ? AND born = ?`, name, born)
    if (parent === undefined) return []
    const condition = '(d.sid = ? AND d.kind = 0 AND d.run = ? AND d.position BETWEEN ? AND ? AND d.depth > ? AND d.depth <= ?)'
    return [{ sid: parent.sid as number, condition, values: [parent.sid as number, run, first, last, from, to] }]
  })
  return [own, ...pieces]
}

interface Candidate {
  readonly doc: number
  readonly at: number
  readonly score: number
}

/** The newest texts that match, with bm25 where it can be counted; else with what a text would get that has each word that it must have once. */
function candidates(database: Database, query: TextQuery, { marks, conditions, values }: Scope, total: number): Candidate[] {
  const text = expressionOf(query)
  const holders = query.terms.map((term) => holdersOf(database, term, total))
  const isCounted = holders.reduce((sum, count) => sum + count, 0) <= COUNTED
  // Marks stand in most texts, and would be counted too: then the scores are asked for by themselves.
  const isScored = isCounted && marks.length === 0
  const rows = database.all(
    `SELECT ${integer('d.doc')}, ${integer(AT, 'at')} ${isScored ? `, ${BM25} AS score` : ''} FROM words
     JOIN documents d ON d.doc = words.rowid JOIN sessions s ON s.sid = d.sid
     WHERE words MATCH ? AND ${conditions.join(' AND ')} ORDER BY words.rowid DESC LIMIT ${CANDIDATES}`,
    [text, ...marks].join(' AND '),
    ...values,
  )
  const weight = holders.reduce((sum, count) => sum + Math.max(1e-6, Math.log((total - count + 0.5) / (count + 0.5))), 0)
  const scores = isCounted && !isScored ? scoresFrom(database, text, rows.at(-1)?.doc as number | undefined) : undefined
  return rows.map(({ doc, at, score }) => ({
    doc: doc as number,
    at: at as number,
    score: isCounted ? ((score as number | undefined) ?? scores?.get(doc as number) ?? 0) : weight,
  }))
}

/** Of the texts that match, from one on. */
function scoresFrom(database: Database, text: string, oldest: number | undefined): Map<number, number> {
  if (oldest === undefined) return new Map()
  const ranked = database.all(
    `SELECT ${integer('rowid', 'doc')}, ${BM25} AS score FROM words WHERE words MATCH ? AND rowid >= ? ORDER BY rowid DESC LIMIT ${3 * CANDIDATES}`,
    text,
    oldest,
  )
  return new Map(ranked.map(({ doc, score }) => [doc as number, score as number]))
}

/** About how many texts have a term: as many as have one of its forms; and of words in a row, no more than have the rarest of them. */
function holdersOf(database: Database, { forms, prefix }: Term, total: number): number {
  const single = forms.filter((form) => wordsOf(form).length === 1)
  const least = forms
    .filter((form) => wordsOf(form).length > 1)
    .map((form) => Math.min(...wordsOf(form).map((word) => sampled(database, { forms: [word], prefix: false }, total))))
  return least.reduce((sum, count) => sum + count, single.length === 0 ? 0 : sampled(database, { forms: single, prefix }, total))
}

/** As the index has them, but for the last one of a beginning, which may go on. */
function wordsOf(form: string): string[] {
  return spaced(form).match(/[\p{L}\p{M}\p{N}\p{Co}]+/gu) ?? []
}

/** How far back the newest of them reach tells how many there are. */
function sampled(database: Database, term: Term, total: number): number {
  const newest = database.get(
    `SELECT ${integer('count(*)', 'n')}, ${integer('min(rowid)', 'oldest')} FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${SAMPLE})`,
    `text : ${termOf(term)}`,
  )
  const count = (newest?.n as number | undefined) ?? 0
  return count < SAMPLE ? count : Math.round((SAMPLE * total) / (total - (newest?.oldest as number) + 1))
}
