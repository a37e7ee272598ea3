/** Putting what was seen of sessions. Each function runs inside a transaction of its caller. */
import { digest } from '../../engine/canonical.ts'
import type { SessionPut, SummaryPut, TextPut } from '../../engine/catalog.ts'
import type { Stretch } from '../../session/state.ts'
import type { Database } from './database.ts'
import { type Document, KINDS, noteRemains, putDocuments, removeDocuments, replaceDocument } from './documents.ts'

const MESSAGE = KINDS.indexOf('message')

/** False if what the catalog holds is not what the row was made for. */
export function putRow(database: Database, row: SessionPut): boolean {
  const stored = database.get('SELECT sid, end, crc, filters, title FROM sessions WHERE name = ?', row.name)
  if (stored === undefined ? row.seen !== null : stored.end !== row.seen?.end || stored.crc !== row.seen?.crc) return false
  const known = stored?.sid as number | undefined
  if (known !== undefined && row.rebuilt) wipe(database, known)
  const filters = JSON.stringify([row.tags, row.metadata, row.usage])
  const sid = known === undefined ? insert(database, row, filters) : update(database, known, row, filters)
  if (known === undefined || row.rebuilt || stored?.filters !== filters) putFilters(database, sid, row, known !== undefined)
  if (known === undefined || row.rebuilt || stored?.filters !== filters || stored.title !== row.title)
    putTitle(database, sid, row, known !== undefined)
  for (const task of row.tasks) {
    const { archive, task: id, status, attempts, createdAt, updatedAt, ended } = task
    database.run(
      'INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      sid,
      archive,
      row.space,
      id,
      status,
      attempts,
      createdAt,
      updatedAt,
      ended,
    )
  }
  for (const summary of row.summaries) putSummary(database, sid, row.space, summary)
  for (const archive of row.erased)
    removeDocuments(database, 'sid = ? AND kind = ? AND archive = ?', sid, KINDS.indexOf('summary'), archive)
  for (const archive of [...row.retracted, ...row.erased]) {
    removeDocuments(database, 'sid = ? AND kind = ? AND archive = ?', sid, KINDS.indexOf('memory'), archive)
    database.run('DELETE FROM extractions WHERE sid = ? AND archive = ?', sid, archive)
  }
  return true
}

const COLUMNS = [
  'name space id status gone title title_key haystack filters owner workspace parent created updated info live archived tokens bytes due past',
  'end crc born',
]
  .join(' ')
  .split(' ')

function valuesOf(row: SessionPut, filters: string): (string | number | null)[] {
  const { name, space, id, status, title, tags, owner, workspace, parent, createdAt, updatedAt, info, live, archived } = row
  const haystack = `${id}\n${title ?? ''}\n${tags.join('\n')}`.toLowerCase()
  return [
    ...[name, space, id, status, status === 'deleted' ? 1 : 0, title, (title ?? '').toLowerCase(), haystack, filters],
    ...[owner, workspace, parent, createdAt, updatedAt, JSON.stringify(info), live, archived, row.tokens, row.bytes, row.due ? 1 : 0],
    ...[JSON.stringify(row.past), row.mark.end, row.mark.crc, row.born],
  ]
}

function insert(database: Database, row: SessionPut, filters: string): number {
  const places = COLUMNS.map(() => '?').join(', ')
  return database.run(`INSERT INTO sessions (${COLUMNS.join(', ')}) VALUES (${places})`, ...valuesOf(row, filters)).id
}

function update(database: Database, sid: number, row: SessionPut, filters: string): number {
  database.run(`UPDATE sessions SET ${COLUMNS.map((column) => `${column} = ?`).join(', ')} WHERE sid = ?`, ...valuesOf(row, filters), sid)
  return sid
}

function putFilters(database: Database, sid: number, { space, tags, metadata, usage }: SessionPut, isKnown: boolean): void {
  if (isKnown) for (const table of ['tags', 'fields', 'models']) database.run(`DELETE FROM ${table} WHERE sid = ?`, sid)
  for (const tag of new Set(tags)) database.run('INSERT INTO tags VALUES (?, ?, ?)', space, tag, sid)
  for (const [field, value] of Object.entries(metadata))
    database.run('INSERT INTO fields VALUES (?, ?, ?, ?)', space, field, digest(value), sid)
  for (const { model, calls, inputTokens, outputTokens } of usage)
    database.run('INSERT INTO models VALUES (?, ?, ?, ?, ?, ?)', space, model, sid, calls, inputTokens, outputTokens)
}

function putTitle(database: Database, sid: number, { space, title, tags }: SessionPut, isKnown: boolean): void {
  const text = [title ?? '', ...tags].join('\n').trim()
  const place = { position: 0, place: 0, source: 0, run: 0, depth: 0, role: '', at: 0, archive: null, off: false }
  const document: Document = { sid, space, kind: 'session', ...place, text }
  if (isKnown) replaceDocument(database, document)
  else putDocuments(database, [document])
}

function putSummary(database: Database, sid: number, space: string, { archive, position, at, text, owner, memories }: SummaryPut): void {
  const shared = { sid, space, position, source: position, run: 0, depth: 0, role: '', at: millisecondsOf(at), archive, off: false }
  replaceDocument(database, { ...shared, kind: 'summary', place: 0, text })
  for (const [place, memory] of memories.entries()) {
    database.run(
      'INSERT OR REPLACE INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      ...[sid, archive, place, space, owner, at, memory.key, JSON.stringify(memory)],
    )
    replaceDocument(database, { ...shared, kind: 'memory', place, text: memory.text ?? '' })
  }
}

/** Passed over if the text was put by another process meanwhile, or everything was forgotten. */
export function putText(database: Database, put: TextPut): void {
  const stored = database.get('SELECT sid, space, generation, text_end FROM sessions WHERE name = ?', put.name)
  if (stored === undefined || stored.generation !== put.seen.generation || stored.text_end !== put.seen.end) return
  const [sid, space] = [stored.sid as number, stored.space as string]
  if (put.rebuilt) wipeText(database, sid)
  for (const { archive, stretches } of put.archives) {
    for (const stretch of stretches) mark(database, sid, stretch, 'archive = ?', 'AND archive IS NULL', archive)
  }
  for (const stretch of put.left) mark(database, sid, stretch, 'off = 1', '')
  for (const stretch of put.back) mark(database, sid, stretch, 'off = 0', '')
  const fresh: Document[] = []
  const replaced: Document[] = []
  for (const { position, index: place, source, run, depth, role, at, archive, onBranch, text } of put.messages) {
    const isNew = position === source && (put.rebuilt || position >= put.seen.end)
    const into = isNew ? fresh : replaced
    into.push({ sid, space, kind: 'message', position, place, source, run, depth, role, at, archive, off: !onBranch, text })
  }
  putDocuments(database, fresh)
  for (const document of replaced) replaceDocument(database, document)
  for (const { day, messages, tokens } of put.days) {
    database.run(
      'INSERT INTO days VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET messages = messages + excluded.messages, tokens = tokens + excluded.tokens',
      ...[sid, day, space, messages, tokens],
    )
  }
  const { end, at, crc } = put.text
  database.run(
    'UPDATE sessions SET text_end = ?, text_at = ?, text_crc = ?, branch = ? WHERE sid = ?',
    ...[end, at, crc, JSON.stringify(put.branch), sid],
  )
}

function mark(
  database: Database,
  sid: number,
  { run, from, to, first, last }: Stretch,
  change: string,
  only: string,
  ...values: number[]
): void {
  database.run(
    `UPDATE documents SET ${change} WHERE sid = ? AND kind = ${MESSAGE} AND position BETWEEN ? AND ? AND run = ? AND depth > ? AND depth <= ? ${only}`,
    ...[...values, sid, first, last, run, from, to],
  )
}

export function forget(database: Database, name: string): void {
  const sid = database.get('SELECT sid FROM sessions WHERE name = ?', name)?.sid as number | undefined
  if (sid === undefined) return
  wipe(database, sid)
  database.run('DELETE FROM sessions WHERE sid = ?', sid)
}

function wipe(database: Database, sid: number): void {
  // Titles, tags and whatever was changed before.
  noteRemains(database)
  removeDocuments(database, 'sid = ?', sid)
  for (const table of ['tags', 'fields', 'models', 'tasks', 'extractions', 'days']) database.run(`DELETE FROM ${table} WHERE sid = ?`, sid)
  database.run(
    `UPDATE sessions SET generation = generation + 1, text_end = 0, text_at = 0, text_crc = '', branch = '[]' WHERE sid = ?`,
    sid,
  )
}

function wipeText(database: Database, sid: number): void {
  removeDocuments(database, 'sid = ? AND kind = ?', sid, MESSAGE)
  database.run('DELETE FROM days WHERE sid = ?', sid)
}

function millisecondsOf(time: string): number {
  return Date.parse(time) || 0
}
