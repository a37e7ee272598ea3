/** Texts that can be found: a row of `documents` and the words of it, always both. */
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { DocumentKind, DocumentPlace } from '../../engine/catalog.ts'
import { spaced } from '../../message/words.ts'
import { type Database, integer, type Value } from './database.ts'
import { putMeta } from './meta.ts'
import { linearSql, linearSum } from './sums.ts'

export const KINDS: readonly DocumentKind[] = ['message', 'session', 'summary', 'memory']
export const ROLES: readonly string[] = ['', 'system', 'user', 'assistant', 'tool']

export interface Document extends DocumentPlace {
  readonly sid: number
  readonly text: string
}

/** Words of the column `marks`: a message has its session, role and space; anything else, its session, kind and space. */
export const sessionMark = (sid: number): string => `s${sid}`
export const kindMark = (kind: DocumentKind): string =>
  kind === 'message' ? `(${ROLES.map(roleMark).join(' OR ')})` : `k${KINDS.indexOf(kind)}`
export const roleMark = (role: string): string => `r${Math.max(0, ROLES.indexOf(role))}`
/** Two spaces may share one; the row tells. */
export const spaceMark = (space: string): string => `x${crc32(space).toString(16)}`

const SUMMED = ['doc', 'sid', 'kind', 'position', 'place', 'source', 'run', 'depth', 'role', 'at', 'archive', 'off'] as const
const COLUMNS = [...SUMMED, 'sum'].join(', ')
const ROW = `(${COLUMNS.replace(/\w+/g, '?')})`

/** The checksum of a row as an expression, with other expressions in place of some columns. */
export function documentSum(table: string, others: Partial<Record<(typeof SUMMED)[number], string>> = {}): string {
  return linearSql(SUMMED.map((column) => others[column] ?? `${table}.${column}`))
}
/**
 * Rows that go into one statement: calling SQLite takes longer than inserting a row. `OR FAIL`, because a statement of several rows that could be
 * taken back alone makes a savepoint, for which FTS5 writes out all that it holds; a failure takes the whole transaction back anyway.
 */
const TOGETHER = 20

/** Puts texts at places where nothing stands. One without words is not put. */
export function putDocuments(database: Database, documents: readonly Document[]): void {
  const last = (database.get(`SELECT ${integer('max(doc)', 'last')} FROM documents`)?.last as number | null) ?? 0
  let [doc, rows, values] = [last, 0, [] as Value[]]
  const flush = (): void => {
    if (rows > 0) database.run(insertion(rows), ...values)
    rows = 0
    values = []
  }
  // Hardly ever more than one.
  const spaces = new Map<string, string>()
  for (const { sid, space, kind, position, place, source, run, depth, role, at, archive, off, text } of documents) {
    if (text === '') continue
    const [kindNumber, roleNumber] = [KINDS.indexOf(kind), Math.max(0, ROLES.indexOf(role))]
    const row = [++doc, sid, kindNumber, position, place, source, run, depth, roleNumber, at, archive, off ? 1 : 0]
    values.push(...row, linearSum(row))
    if (++rows === TOGETHER) flush()
    const inSpace = spaces.get(space) ?? spaceMark(space)
    spaces.set(space, inSpace)
    const marks = `${sessionMark(sid)} ${kind === 'message' ? `r${roleNumber}` : kindMark(kind)} ${inSpace}`
    database.run('INSERT INTO words (rowid, text, marks) VALUES (?, ?, ?)', doc, spaced(text), marks)
  }
  flush()
}

const INSERTIONS: string[] = []

function insertion(rows: number): string {
  INSERTIONS[rows] ??= `INSERT OR FAIL INTO documents (${COLUMNS}) VALUES ${Array.from({ length: rows }, () => ROW).join(', ')}`
  return INSERTIONS[rows]
}

/** The same in place of what stood there. */
export function replaceDocument(database: Database, document: Document): void {
  const { sid, kind, position, place } = document
  removeDocuments(database, 'sid = ? AND kind = ? AND position = ? AND place = ?', sid, KINDS.indexOf(kind), position, place)
  putDocuments(database, [document])
}

/** Notes that something is left where nobody finds it. Each note differs, so that a scrub can tell whether there is more since. */
export function noteRemains(database: Database): void {
  putMeta(database, 'remains', randomBytes(8).toString('hex'))
}

/** Notes if something of what was said is left: a title is put anew with every change, and is not meant. */
export function removeDocuments(database: Database, where: string, ...values: (string | number)[]): void {
  const said = `SELECT 1 AS one FROM documents WHERE ${where} AND kind <> ${KINDS.indexOf('session')} LIMIT 1`
  if (database.get(said, ...values) !== undefined) noteRemains(database)
  database.run(`DELETE FROM words WHERE rowid IN (SELECT doc FROM documents WHERE ${where})`, ...values)
  database.run(`DELETE FROM documents WHERE ${where}`, ...values)
}
