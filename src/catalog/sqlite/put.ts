/** Putting what was seen of sessions. Each function runs inside a transaction of its caller. */

import { crc32 } from 'node:zlib'
import { digest } from '../../engine/canonical.ts'
import type { SessionPut, SummaryPut, TaskPut, TextPut } from '../../engine/catalog.ts'
import type { Stretch } from '../../session/state.ts'
import { type Database, integer, text } from './database.ts'
import { type Document, documentSum, KINDS, noteRemains, putDocuments, removeDocuments, replaceDocument } from './documents.ts'
import { filtersOf, type SessionValues, shownIn, TEXT, textValues, valuesOf } from './session-columns.ts'
import { linearSql, linearSum, sumOf } from './sums.ts'

const MESSAGE = KINDS.indexOf('message')

/** False if what the catalog holds is not what the row was made for. */
export function putRow(database: Database, row: SessionPut): boolean {
  const stored = database.get(
    `SELECT ${integer('sid')}, ${integer('end')}, ${text('crc')}, ${text('shown')} FROM sessions WHERE name = ?`,
    row.name,
  )
  if (stored === undefined ? row.basedOn !== null : stored.end !== row.basedOn?.end || stored.crc !== row.basedOn?.crc) return false
  const isKnown = stored !== undefined
  if (isKnown && row.rebuilt) wipe(database, stored.sid as number)
  const values = valuesOf(row)
  const sid = isKnown ? update(database, stored.sid as number, values) : insert(database, values)
  const before = isKnown && !row.rebuilt ? shownIn(stored) : undefined
  const isOther = JSON.stringify(before?.filters) !== JSON.stringify(filtersOf(row))
  if (isOther) putFilters(database, sid, row, isKnown)
  if (isOther || before?.title !== row.title) putTitle(database, sid, row, isKnown)
  for (const task of row.tasks) putTask(database, sid, row.space, task)
  for (const summary of row.summaries) putSummary(database, sid, row.space, summary)
  for (const archive of row.erased)
    removeDocuments(database, 'sid = ? AND kind = ? AND archive = ?', sid, KINDS.indexOf('summary'), archive)
  for (const archive of [...row.retracted, ...row.erased]) {
    removeDocuments(database, 'sid = ? AND kind = ? AND archive = ?', sid, KINDS.indexOf('memory'), archive)
    database.run('DELETE FROM extractions WHERE sid = ? AND archive = ?', sid, archive)
  }
  return true
}

function insert(database: Database, values: SessionValues): number {
  const all = { ...values, ...textValues({ ...NO_TEXT, name: values.name as string, generation: 0 }) }
  const columns = Object.keys(all)
  return database.run(`INSERT INTO sessions (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`, ...Object.values(all))
    .id
}

function update(database: Database, sid: number, values: SessionValues): number {
  const changes = Object.keys(values).map((column) => `${column} = ?`)
  database.run(`UPDATE sessions SET ${changes.join(', ')} WHERE sid = ?`, ...Object.values(values), sid)
  return sid
}

const NO_TEXT = { text_end: 0, text_at: 0, text_crc: '', branch: '[]' }

function putTask(database: Database, sid: number, space: string, task: TaskPut): void {
  const { archive, task: id, status, attempts, createdAt, updatedAt, ended } = task
  const values = [sid, archive, space, id, status, attempts, createdAt, updatedAt, ended]
  database.run('INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', ...values, sumOf(values))
}

function putFilters(database: Database, sid: number, { space, tags, metadata, usage }: SessionPut, isKnown: boolean): void {
  if (isKnown) for (const table of ['tags', 'fields', 'models']) database.run(`DELETE FROM ${table} WHERE sid = ?`, sid)
  for (const tag of new Set(tags)) database.run('INSERT INTO tags VALUES (?, ?, ?)', space, tag, sid)
  for (const [field, value] of Object.entries(metadata))
    database.run('INSERT INTO fields VALUES (?, ?, ?, ?)', space, field, digest(value), sid)
  for (const { model, calls, inputTokens, outputTokens } of usage) {
    const counts = [sid, crc32(model), calls, inputTokens, outputTokens]
    database.run('INSERT INTO models VALUES (?, ?, ?, ?, ?, ?, ?, ?)', space, model, ...counts, linearSum(counts))
  }
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
    const values = [sid, archive, place, space, owner, at, memory.key, JSON.stringify(memory)]
    database.run('INSERT OR REPLACE INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)', ...values, sumOf(values))
    replaceDocument(database, { ...shared, kind: 'memory', place, text: memory.text ?? '' })
  }
}

/** Passed over if the text was put by another process meanwhile, or everything was forgotten. */
export function putText(database: Database, put: TextPut): void {
  const stored = database.get(`SELECT ${integer('sid')}, ${text('space')}, ${TEXT.select()} FROM sessions WHERE name = ?`, put.name)
  if (stored === undefined) return
  const before = TEXT.read(stored)
  const { generation, end: known } = put.basedOn
  if (before.generation !== generation || before.text_end !== known) return
  const [sid, space] = [stored.sid as number, stored.space as string]
  if (put.rebuilt) wipeText(database, sid)
  for (const { archive, stretches } of put.archives) {
    for (const stretch of stretches) mark(database, sid, stretch, { archive }, 'AND archive IS NULL')
  }
  for (const stretch of put.left) mark(database, sid, stretch, { off: 1 })
  for (const stretch of put.back) mark(database, sid, stretch, { off: 0 })
  const fresh: Document[] = []
  const replaced: Document[] = []
  for (const { position, index: place, source, run, depth, role, at, archive, onBranch, text } of put.messages) {
    const isNew = position === source && (put.rebuilt || position >= put.basedOn.end)
    const into = isNew ? fresh : replaced
    into.push({ sid, space, kind: 'message', position, place, source, run, depth, role, at, archive, off: !onBranch, text })
  }
  putDocuments(database, fresh)
  for (const document of replaced) replaceDocument(database, document)
  for (const { day, messages, tokens } of put.days) {
    database.run(PUT_DAY, sid, day, messages, tokens, linearSum([sid, dayNumber(day), messages, tokens]))
  }
  const { end, at, crc } = put.text
  const branch = JSON.stringify(put.branch)
  update(database, sid, textValues({ name: put.name, generation, text_end: end, text_at: at, text_crc: crc, branch }))
}

/** The checksum of a day, as an expression. */
export function daySum(messages = 'days.messages', tokens = 'days.tokens'): string {
  return linearSql(['days.sid', `CAST(replace(days.day, '-', '') AS INTEGER)`, messages, tokens])
}

const PUT_DAY = `INSERT INTO days VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET messages = messages + excluded.messages,
  tokens = tokens + excluded.tokens, sum = ${daySum('days.messages + excluded.messages', 'days.tokens + excluded.tokens')}`

function dayNumber(day: string): number {
  return Number(day.replaceAll('-', ''))
}

function mark(
  database: Database,
  sid: number,
  { run, from, to, first, last }: Stretch,
  change: { readonly archive: number } | { readonly off: 0 | 1 },
  only = '',
): void {
  const [column, value] = Object.entries(change)[0] as ['archive' | 'off', number]
  database.run(
    `UPDATE documents SET ${column} = ?1, sum = ${documentSum('documents', { [column]: '?1' })}
     WHERE sid = ?2 AND kind = ${MESSAGE} AND position BETWEEN ?3 AND ?4 AND run = ?5 AND depth > ?6 AND depth <= ?7 ${only}`,
    ...[value, sid, first, last, run, from, to],
  )
}

export function forget(database: Database, name: string): void {
  const sid = database.get(`SELECT ${integer('sid')} FROM sessions WHERE name = ?`, name)?.sid as number | undefined
  if (sid === undefined) return
  wipe(database, sid)
  database.run('DELETE FROM sessions WHERE sid = ?', sid)
}

function wipe(database: Database, sid: number): void {
  // Titles, tags and whatever was changed before.
  noteRemains(database)
  removeDocuments(database, 'sid = ?', sid)
  for (const table of ['tags', 'fields', 'models', 'tasks', 'extractions', 'days']) database.run(`DELETE FROM ${table} WHERE sid = ?`, sid)
  const stored = database.get(`SELECT ${text('name')}, ${integer('generation')} FROM sessions WHERE sid = ?`, sid)
  const generation = ((stored?.generation as number | undefined) ?? 0) + 1
  update(database, sid, textValues({ ...NO_TEXT, name: (stored?.name ?? '') as string, generation }))
}

function wipeText(database: Database, sid: number): void {
  removeDocuments(database, 'sid = ? AND kind = ?', sid, MESSAGE)
  database.run('DELETE FROM days WHERE sid = ?', sid)
}

function millisecondsOf(time: string): number {
  return Date.parse(time) || 0
}
