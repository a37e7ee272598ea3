/** Lists: one statement, which reads its page off an index. */
import type { ListedRow, ListFilter, ListOrder, ListQuery } from '../../../engine/catalog.ts'
import { withNul, withoutNul } from '../../../engine/nul.ts'
import type { Json, JsonObject } from '../../../record/record.ts'
import type { Row, Statement } from '../database.ts'
import { Conditions } from './conditions.ts'
import { fieldMark, modelMark, tagMark } from './rows.ts'

type Asked = Statement & { readonly values: readonly unknown[] }

const COLUMN: Readonly<Record<ListOrder, string>> = { updated: 'updated', created: 'created', title: 'title_key' }

export function listStatement(schema: string, query: ListQuery): Asked {
  const { order, after, limit } = query
  const column = COLUMN[order]
  const where = conditionsOf(query)
  if (after !== undefined) {
    const by = withoutNul(after.by)
    // Told twice: the first half is what an index can begin at.
    const [beyond, from] = order === 'title' ? ['>', '>='] : ['<', '<=']
    where.add(order === 'title' ? `left(title_key, 64) ${from} left(?, 64)` : `${column} ${from} ?`, by)
    where.add(`(${column} ${beyond} ? OR (${column} = ? AND id > ?))`, by, by, withoutNul(after.id))
  }
  const ordered = order === 'title' ? 'left(title_key, 64), title_key' : `${column} DESC`
  const text = `SELECT name, id, info, ${column} AS by FROM ${schema}.catalog_sessions WHERE ${where.text} ORDER BY ${ordered}, id LIMIT ${where.value(limit)}`
  return { text, values: where.values }
}

export function listedRow({ name, id, by, info }: Row): ListedRow {
  return {
    ...{ name: withNul(name as string), id: withNul(id as string), by: withNul(by as string) },
    info: JSON.parse(withNul(info as string)) as JsonObject,
  }
}

export function countStatement(schema: string, filter: ListFilter): Asked {
  const where = conditionsOf(filter)
  return { text: `SELECT count(*) AS n FROM ${schema}.catalog_sessions WHERE ${where.text}`, values: where.values }
}

function conditionsOf(filter: ListFilter): Conditions {
  const { space, words, tag, owner, workspace, parent, model, metadata, status, from, to, times } = filter
  const where = new Conditions().add('space = ?', withoutNul(space)).add('gone = ?', status === 'deleted')
  if (status !== undefined && status !== 'deleted') where.add('status = ?', status)
  if (owner !== undefined) where.add('owner = ?', withoutNul(owner))
  if (workspace !== undefined) {
    const text = withoutNul(workspace)
    where.add('left(workspace, 256) = left(?, 256) AND workspace = ?', text, text)
  }
  if (parent !== undefined) where.add('parent = ?', withoutNul(parent))
  const marks = Object.entries(metadata).map(([field, value]) => fieldMark(field, value as Json))
  if (tag !== undefined) marks.push(tagMark(tag))
  if (model !== undefined) marks.push(modelMark(model))
  if (marks.length > 0) where.add('marks @> ?::text[]', marks)
  if (from !== undefined) where.add(`${times} >= ?`, from)
  if (to !== undefined) where.add(`${times} < ?`, to)
  for (const word of words) where.add('strpos(haystack, ?) > 0', withoutNul(word))
  return where
}
