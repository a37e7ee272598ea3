/** The same answers without a catalog, by looking at every session: slow, and right. For when a catalog cannot be used. */
import { canonical } from '../engine/canonical.ts'
import type { ExtractionRow, ListedRow, ListFilter, ListQuery, SessionPut, StatsRow, TaskQuery, TaskRow } from '../engine/catalog.ts'
import type { Json } from '../record/record.ts'
import type { Usage } from '../session/state.ts'
import { Examiner, type ExaminerOptions } from './examiner.ts'
import { comparePlaces, compareTexts, placeOf } from './list-order.ts'

const BATCH = 128

/** The rows of all sessions of a space, in no particular order. Those that cannot be read are among them, flagged. */
async function* rowsOf(options: ExaminerOptions, space: string): AsyncGenerator<SessionPut> {
  const examiner = new Examiner(options, new Set([space]))
  let batch: { name: string; known: undefined }[] = []
  const flush = async function* (): AsyncGenerator<SessionPut> {
    for (const row of await examiner.rows(batch, 'swept')) if (row !== undefined) yield row
    batch = []
  }
  for await (const name of options.engine.names(space)) {
    batch.push({ name, known: undefined })
    if (batch.length === BATCH) yield* flush()
  }
  yield* flush()
}

export async function scanList(
  options: ExaminerOptions,
  { count, ...query }: ListQuery & { readonly count: boolean },
): Promise<{ rows: ListedRow[]; total: number | null }> {
  const { order, after, limit } = query
  const rows: ListedRow[] = []
  let total = 0
  for await (const row of rowsOf(options, query.space)) {
    if (!matches(row, query)) continue
    total++
    const listed = { name: row.name, ...placeOf(row, order), info: row.info }
    if (after === undefined || comparePlaces(listed, after, order) > 0) rows.push(listed)
  }
  rows.sort((a, b) => comparePlaces(a, b, order))
  return { rows: rows.slice(0, limit), total: count ? total : null }
}

export async function scanTasks(options: ExaminerOptions, { space, session, status, newestFirst, limit }: TaskQuery): Promise<TaskRow[]> {
  const tasks: TaskRow[] = []
  for await (const row of rowsOf(options, space)) {
    if (row.status === 'deleted' || (session !== undefined && row.id !== session)) continue
    for (const task of row.tasks) if (status === undefined || task.status === status) tasks.push({ ...task, session: row.id })
  }
  const direction = newestFirst ? -1 : 1
  tasks.sort((a, b) => direction * compareTexts(a.createdAt, b.createdAt) || compareTexts(a.session, b.session) || a.archive - b.archive)
  return tasks.slice(0, limit)
}

export async function scanExtractions(
  options: ExaminerOptions,
  { space, owner, keys }: { readonly space: string; readonly owner: string | null; readonly keys?: readonly string[] },
): Promise<ExtractionRow[]> {
  const rows: ExtractionRow[] = []
  for await (const { id, status, summaries } of rowsOf(options, space)) {
    if (status === 'deleted') continue
    for (const { memories, archive, at, owner: whose } of summaries) {
      if (whose !== owner) continue
      for (const memory of memories)
        if (keys === undefined || keys.includes(memory.key)) rows.push({ session: id, archive, at, owner, memory })
    }
  }
  return rows
}

/** Without what was appended on which day: that would take reading all messages. */
export async function scanStats(options: ExaminerOptions, { space }: { space: string }): Promise<StatsRow> {
  const sessions = { ok: 0, damaged: 0, unreadable: 0, deleted: 0 }
  const tasks = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0 }
  const sums = { live: 0, archived: 0, tokens: 0, bytes: 0 }
  const models = new Map<string, Usage>()
  const begun = new Map<string, number>()
  for await (const row of rowsOf(options, space)) {
    sessions[row.status]++
    sums.bytes += row.bytes
    if (row.status === 'deleted') continue
    for (const part of ['live', 'archived', 'tokens'] as const) sums[part] += row[part]
    for (const { status } of row.tasks) tasks[status]++
    for (const usage of row.usage) models.set(usage.model, added(models.get(usage.model), usage))
    const day = row.createdAt.slice(0, 10)
    if (day !== '') begun.set(day, (begun.get(day) ?? 0) + 1)
  }
  const days = [...begun].sort(([a], [b]) => compareTexts(a, b)).map(([day, n]) => ({ day, sessions: n, messages: 0, tokens: 0 }))
  return { sessions, ...sums, tasks, usage: [...models.values()].sort((a, b) => compareTexts(a.model, b.model)), days }
}

function added(before: Usage | undefined, usage: Usage): Usage {
  if (before === undefined) return usage
  return {
    model: usage.model,
    calls: before.calls + usage.calls,
    inputTokens: before.inputTokens + usage.inputTokens,
    outputTokens: before.outputTokens + usage.outputTokens,
  }
}

function matches(row: SessionPut, filter: ListFilter): boolean {
  const { words, tag, owner, workspace, parent, model, metadata, status, from, to, times } = filter
  if ((row.status === 'deleted') !== (status === 'deleted')) return false
  if (status !== undefined && row.status !== status) return false
  if (tag !== undefined && !row.tags.includes(tag)) return false
  if (owner !== undefined && row.owner !== owner) return false
  if (workspace !== undefined && row.workspace !== workspace) return false
  if (parent !== undefined && row.parent !== parent) return false
  if (model !== undefined && !row.usage.some((usage) => usage.model === model)) return false
  const time = times === 'updated' ? row.updatedAt : row.createdAt
  if ((from !== undefined && time < from) || (to !== undefined && time >= to)) return false
  const haystack = `${row.id}\n${row.title ?? ''}\n${row.tags.join('\n')}`.toLowerCase()
  if (!words.every((word) => haystack.includes(word))) return false
  return Object.entries(metadata).every(
    ([field, value]) => Object.hasOwn(row.metadata, field) && canonical(row.metadata[field] as Json) === canonical(value),
  )
}
