/** Statistics of a space: sums over many rows. A row that is not what was written is counted by the same statement, and makes the catalog broken. */
import { crc32 } from 'node:zlib'
import { type StatsRow, sessionSums } from '../../engine/catalog.ts'
import type { TaskStatus, Usage } from '../../session/state.ts'
import { type Database, integer, type Row, text } from './database.ts'
import { daySum } from './put.ts'
import { COUNTED, COUNTED_SQL } from './session-columns.ts'
import { linearSql, notWritten } from './sums.ts'

const STATUSES = ['ok', 'damaged', 'unreadable', 'deleted']
export const MODEL_SQL = linearSql(['models.sid', 'models.model_crc', 'models.calls', 'models.input', 'models.output'])

/** How many rows are not what was written. */
function wrong(sum: string, column: string): string {
  return integer(`sum((${sum}) IS NOT ${column})`, 'wrong')
}

export function statsRow(database: Database, space: string): StatsRow {
  const sums = COUNTED.map((column) => integer(`sum(${column})`, column)).join(', ')
  const rows = database.all(
    `SELECT ${text('status')}, ${integer('count(*)', 'n')}, ${sums}, ${wrong(COUNTED_SQL, 'counted_sum')}
     FROM sessions WHERE space = ? GROUP BY status`,
    space,
  )
  requireRight(rows.every(({ status }) => STATUSES.includes(status as string)) && rows.every(isRight))
  return { ...sessionSums(rows), tasks: taskCounts(database, space), usage: usageOf(database, space), days: daysOf(database, space) }
}

function isRight(row: Row): boolean {
  return row.wrong === 0
}

function requireRight(isWhole: boolean): void {
  if (!isWhole) throw notWritten()
}

function taskCounts(database: Database, space: string): Record<TaskStatus, number> {
  const counts = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0 }
  const rows = database.all(
    `SELECT ${text('t.status')}, ${integer('count(*)', 'n')} FROM tasks t JOIN sessions s ON s.sid = t.sid
     WHERE t.space = ? AND s.gone = 0 GROUP BY t.status`,
    space,
  )
  requireRight(rows.every(({ status }) => Object.hasOwn(counts, status as string)))
  for (const { status, n } of rows) counts[status as TaskStatus] = n as number
  return counts
}

function usageOf(database: Database, space: string): Usage[] {
  const rows = database.all(
    `SELECT ${text('model')}, ${integer('model_crc')}, ${integer('sum(calls)', 'calls')}, ${integer('sum(input)', 'input')},
       ${integer('sum(output)', 'output')}, ${wrong(MODEL_SQL, 'models.sum')}
     FROM models JOIN sessions s ON s.sid = models.sid WHERE models.space = ? AND s.gone = 0 GROUP BY model, model_crc ORDER BY model`,
    space,
  )
  requireRight(rows.every((row) => isRight(row) && row.model_crc === crc32(row.model as string)))
  return rows.map(({ model, calls, input, output }) => ({
    model: model as string,
    calls: calls as number,
    inputTokens: input as number,
    outputTokens: output as number,
  }))
}

function daysOf(database: Database, space: string): StatsRow['days'] {
  const rows = database.all(
    `SELECT ${text('day')}, ${integer('sum(sessions)', 'sessions')}, ${integer('sum(messages)', 'messages')},
       ${integer('sum(tokens)', 'tokens')}, ${integer('sum(wrong)', 'wrong')} FROM (
       SELECT substr(created, 1, 10) AS day, count(*) AS sessions, 0 AS messages, 0 AS tokens, 0 AS wrong
       FROM sessions WHERE space = ?1 AND gone = 0 AND created <> '' GROUP BY 1
       UNION ALL
       SELECT day, 0, sum(messages), sum(days.tokens), sum((${daySum()}) IS NOT days.sum) FROM days JOIN sessions s ON s.sid = days.sid
       WHERE s.space = ?1 AND s.gone = 0 GROUP BY day
     ) GROUP BY day ORDER BY day`,
    space,
  )
  requireRight(rows.every(isRight))
  return rows.map(({ day, sessions, messages, tokens }) => ({
    day: day as string,
    sessions: sessions as number,
    messages: messages as number,
    tokens: tokens as number,
  }))
}
