/** Rows of archives: their tasks, and the memories that were extracted from them. */
import type { ExtractionRow, TaskQuery, TaskRow } from '../../engine/catalog.ts'
import type { ExtractedMemory } from '../../session/records.ts'
import type { TaskStatus } from '../../session/state.ts'
import { type Database, integer, type Row, text, type Value } from './database.ts'
import { requireSum } from './sums.ts'

type Columns = Readonly<Record<string, typeof text | typeof integer>>

const TASK: Columns = {
  ...{ sid: integer, archive: integer, space: text, task: text, status: text, attempts: integer, created: text, updated: text },
  ended: integer,
}
const EXTRACTION: Columns = {
  ...{ sid: integer, archive: integer, place: integer, space: text, owner: text, at: text, key: text, memory: text },
}

export const TASK_COLUMNS = columnsOf('t', TASK)
export const EXTRACTION_COLUMNS = columnsOf('e', EXTRACTION)

function columnsOf(table: string, columns: Columns): string {
  return [...Object.entries(columns).map(([name, select]) => select(`${table}.${name}`)), integer(`${table}.sum`)].join(', ')
}

/** Throws CatalogBroken if the row is not what was written. */
export function checkTask(row: Row): void {
  requireSum(row, Object.keys(TASK), 'sum')
}

/** Throws CatalogBroken if the row is not what was written. */
export function checkExtraction(row: Row): void {
  requireSum(row, Object.keys(EXTRACTION), 'sum')
}

export function taskRows(database: Database, { space, session, status, newestFirst, limit }: TaskQuery): TaskRow[] {
  const conditions = ['t.space = ?', 's.gone = 0']
  const values: Value[] = [space]
  if (session !== undefined) {
    conditions.push('s.id = ?')
    values.push(session)
  }
  if (status !== undefined) {
    conditions.push('t.status = ?')
    values.push(status)
  }
  const order = newestFirst ? 'DESC' : 'ASC'
  const rows = database.all(
    `SELECT ${text('s.id')}, ${TASK_COLUMNS} FROM tasks t JOIN sessions s ON s.sid = t.sid
     WHERE ${conditions.join(' AND ')} ORDER BY t.created ${order}, s.id, t.archive LIMIT ?`,
    ...values,
    limit,
  )
  return rows.map((row) => {
    checkTask(row)
    return {
      session: row.id as string,
      archive: row.archive as number,
      task: row.task as string,
      status: row.status as TaskStatus,
      attempts: row.attempts as number,
      createdAt: row.created as string,
      updatedAt: row.updated as string,
      ended: row.ended as number | null,
    }
  })
}

export function extractionRows(database: Database, space: string, owner: string | null, keys?: readonly string[]): ExtractionRow[] {
  const only = keys === undefined ? '' : `AND e.key IN (${keys.map(() => '?').join(', ')})`
  const rows = database.all(
    `SELECT ${text('s.id')}, ${EXTRACTION_COLUMNS} FROM extractions e JOIN sessions s ON s.sid = e.sid
     WHERE e.space = ? AND e.owner IS ? AND s.gone = 0 ${only} ORDER BY e.sid, e.archive, e.place`,
    space,
    owner,
    ...(keys ?? []),
  )
  return rows.map((row) => {
    checkExtraction(row)
    return {
      session: row.id as string,
      archive: row.archive as number,
      owner: row.owner as string | null,
      at: row.at as string,
      memory: JSON.parse(row.memory as string) as ExtractedMemory,
    }
  })
}
