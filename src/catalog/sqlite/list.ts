/**
 * Lists: one statement, which reads its page off an index. An index may be damaged too, so each row is checked against what was asked for. A row that
 * is missing in an index shows only when the whole catalog is checked (check.ts).
 */
import { canonical, digest } from '../../engine/canonical.ts'
import type { ListedRow, ListFilter, ListOrder, ListQuery } from '../../engine/catalog.ts'
import type { Json } from '../../record/record.ts'
import { type Database, integer, text, type Value } from './database.ts'
import { type Shown, shownIn } from './session-columns.ts'
import { notWritten } from './sums.ts'

const COLUMN = { updated: 'updated', created: 'created', title: 'title_key' } as const satisfies Record<ListOrder, keyof Shown>

export function listRows(database: Database, query: ListQuery): ListedRow[] {
  const { order, after, limit } = query
  const column = COLUMN[order]
  const [conditions, values] = conditionsOf(query)
  if (after !== undefined) {
    // Told twice: the first half is what an index can begin at.
    const [beyond, from] = order === 'title' ? ['>', '>='] : ['<', '<=']
    conditions.push(`${column} ${from} ?`, `(${column} ${beyond} ? OR id > ?)`)
    values.push(after.by, after.by, after.id)
  }
  const rows = database.all(
    `SELECT ${text('shown')} FROM sessions WHERE ${conditions.join(' AND ')}
     ORDER BY sessions.${column} ${order === 'title' ? 'ASC' : 'DESC'}, sessions.id LIMIT ?`,
    ...values,
    limit,
  )
  return rows.map((row) => {
    const shown = shownIn(row)
    if (!isAskedFor(shown, query)) throw notWritten()
    return { name: shown.name, id: shown.id, by: shown[column], info: shown.info }
  })
}

function isAskedFor(shown: Shown, { space, status, owner, workspace, parent, tag, model, metadata }: ListFilter): boolean {
  const [tags, fields, usage] = shown.filters
  return (
    shown.space === space &&
    (shown.status === 'deleted') === (status === 'deleted') &&
    (status === undefined || shown.status === status) &&
    (owner === undefined || shown.owner === owner) &&
    (workspace === undefined || shown.workspace === workspace) &&
    (parent === undefined || shown.parent === parent) &&
    (tag === undefined || tags.includes(tag)) &&
    (model === undefined || usage.some((one) => one.model === model)) &&
    Object.entries(metadata).every(([field, value]) => canonical(fields[field] ?? null) === canonical(value as Json))
  )
}

export function countRows(database: Database, filter: ListFilter): number {
  const [conditions, values] = conditionsOf(filter)
  return database.get(`SELECT ${integer('count(*)', 'n')} FROM sessions WHERE ${conditions.join(' AND ')}`, ...values)?.n as number
}

function conditionsOf(filter: ListFilter): [string[], Value[]] {
  const conditions: string[] = []
  const values: Value[] = []
  const add = (condition: string, ...more: Value[]): void => {
    conditions.push(condition)
    values.push(...more)
  }
  const { space, words, tag, owner, workspace, parent, model, metadata, status, from, to, times } = filter
  add('space = ?', space)
  // Few sessions have the same owner, workspace or parent: a plus keeps the planner from going by what most sessions have in common.
  const isNarrow = owner !== undefined || workspace !== undefined || parent !== undefined
  add(`${isNarrow ? '+' : ''}gone = ?`, status === 'deleted' ? 1 : 0)
  if (status !== undefined && status !== 'deleted') add('status = ?', status)
  if (owner !== undefined) add('owner = ?', owner)
  if (workspace !== undefined) add('workspace = ?', workspace)
  if (parent !== undefined) add('parent = ?', parent)
  if (tag !== undefined) add('sid IN (SELECT sid FROM tags WHERE tags.space = ? AND tag = ?)', space, tag)
  if (model !== undefined) add('sid IN (SELECT sid FROM models WHERE models.space = ? AND model = ?)', space, model)
  for (const [field, value] of Object.entries(metadata))
    add('sid IN (SELECT sid FROM fields WHERE fields.space = ? AND field = ? AND value = ?)', space, field, digest(value as Json))
  if (from !== undefined) add(`${times} >= ?`, from)
  if (to !== undefined) add(`${times} < ?`, to)
  for (const word of words) add('instr(haystack, ?) > 0', word)
  return [conditions, values]
}
