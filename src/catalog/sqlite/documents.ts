/** Texts that can be found: a row of `documents` and the words of it, always both. */
import { crc32 } from 'node:zlib'
import { spaced } from '../../dialect/words.ts'
import type { DocumentKind } from '../../engine/catalog.ts'
import type { Database } from './database.ts'

export const KINDS: readonly DocumentKind[] = ['message', 'session', 'summary', 'memory']
export const ROLES: readonly string[] = ['', 'system', 'user', 'assistant', 'tool']

export interface Document {
  readonly sid: number
  readonly space: string
  readonly kind: DocumentKind
  readonly position: number
  readonly place: number
  readonly source: number
  readonly run: number
  readonly depth: number
  readonly role: string
  readonly at: number
  readonly archive: number | null
  readonly off: boolean
  readonly text: string
}

/** Words of the column `marks`, none of which can stand in a text's own column. */
export const sessionMark = (sid: number): string => `s${sid}`
export const kindMark = (kind: DocumentKind): string => `k${KINDS.indexOf(kind)}`
export const roleMark = (role: string): string => `r${ROLES.indexOf(role)}`
/** Two spaces may share one; the row tells. */
export const spaceMark = (space: string): string => `x${crc32(space).toString(16)}`

/** Puts a text, in place of what stood at its place. One without words is not put. */
export function putDocument(database: Database, document: Document, isNew: boolean): void {
  const { sid, space, kind, position, place, source, run, depth, role, at, archive, off, text } = document
  if (!isNew) removeDocuments(database, 'sid = ? AND kind = ? AND position = ? AND place = ?', sid, KINDS.indexOf(kind), position, place)
  if (text === '') return
  const { id } = database.run(
    'INSERT INTO documents (sid, kind, position, place, source, run, depth, role, at, archive, off) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    sid,
    KINDS.indexOf(kind),
    position,
    place,
    source,
    run,
    depth,
    Math.max(0, ROLES.indexOf(role)),
    at,
    archive,
    off ? 1 : 0,
  )
  const marks = `${sessionMark(sid)} ${kindMark(kind)} ${roleMark(role)} ${spaceMark(space)}`
  database.run('INSERT INTO words (rowid, text, marks) VALUES (?, ?, ?)', id, spaced(text), marks)
}

export function removeDocuments(database: Database, where: string, ...values: (string | number)[]): void {
  database.run(`DELETE FROM words WHERE rowid IN (SELECT doc FROM documents WHERE ${where})`, ...values)
  database.run(`DELETE FROM documents WHERE ${where}`, ...values)
}
