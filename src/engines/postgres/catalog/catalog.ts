/**
 * The catalog port in the store's own tables: one for all servers, which each question catches up first. A put waits for the disk. If the server crashes
 * between a put and the question that it was made for, the connection is made again, and the question must not be answered with older rows. Moving the
 * cursor does not wait: it comes after the puts that it covers, and if it is lost, they are put again.
 */
import type {
  Catalog,
  ExtractionRow,
  FoundDocument,
  Known,
  Lag,
  ListedRow,
  ListFilter,
  ListQuery,
  SearchQuery,
  SessionPut,
  SessionStatus,
  StatsRow,
  TaskQuery,
  TaskRow,
  TextPut,
} from '../../../engine/catalog.ts'
import { sessionSums } from '../../../engine/catalog.ts'
import type { Clock } from '../../../engine/clock.ts'
import { withNul, withoutNul } from '../../../engine/nul.ts'
import type { ExtractedMemory } from '../../../session/records.ts'
import type { Stretch, TaskStatus, Usage } from '../../../session/state.ts'
import { type Database, Retry, type Row, type Statement } from '../database.ts'
import { failureOf, isLost, isPassing } from '../failures.ts'
import { quoted } from '../migrate.ts'
import { DURABLE } from '../statements.ts'
import { Conditions } from './conditions.ts'
import { countStatement, listedRow, listStatement } from './list.ts'
import { Put } from './put.ts'
import { documentsOf, type NextDoc } from './rows.ts'
import { searchTexts } from './search.ts'

const TABLES = ['catalog', 'catalog_sessions', 'catalog_usage', 'catalog_tasks', 'catalog_extractions', 'catalog_days', 'catalog_texts']

/** A commit that does not wait for the disk. */
const LAZY = `lazy AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))`

export class PostgresCatalog implements Catalog {
  readonly #database: Database
  readonly #clock: Clock
  readonly #schema: string

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#schema = quoted(database.schema)
  }

  /** Forgets everything. */
  clear(): Promise<void> {
    return this.#write(async (_, query) => {
      for (const table of TABLES) await query(`DELETE FROM ${this.#schema}.${table}`)
    })
  }

  async cursor(): Promise<string | null> {
    const [row] = await this.#all({ name: 'cursor', text: `SELECT value FROM @.catalog WHERE key = 'cursor'` })
    return (row?.value as string | undefined) ?? null
  }

  async advance(from: string | null, to: string): Promise<void> {
    if (from === to) return
    const { text, values } =
      from === null
        ? { text: `WITH ${LAZY} INSERT INTO @.catalog SELECT 'cursor', $1 FROM lazy ON CONFLICT DO NOTHING`, values: [to] }
        : { text: `WITH ${LAZY} UPDATE @.catalog SET value = $1 FROM lazy WHERE key = 'cursor' AND value = $2`, values: [to, from] }
    await this.#all({ text }, values)
  }

  async known(names: readonly string[]): Promise<(Known | undefined)[]> {
    const text =
      'SELECT name, ends, crc, status, space, born, generation, text_end, text_at, text_crc, branch FROM @.catalog_sessions WHERE name = ANY($1)'
    const rows = await this.#all({ name: 'known', text }, [names.map(withoutNul)])
    const known = new Map(rows.map((row) => [withNul(row.name as string), knownOf(row)]))
    return names.map((name) => known.get(name))
  }

  names(): Promise<string[]> {
    return this.#names('true')
  }

  unreadable(): Promise<string[]> {
    return this.#names(`status IN ('damaged', 'unreadable') AND (ends = -1 OR space = '')`)
  }

  due(): Promise<string[]> {
    return this.#names('due')
  }

  async backlog(limit: number): Promise<string[]> {
    return this.#names('text_end < ends ORDER BY updated LIMIT $1', limit)
  }

  async put(rows: readonly SessionPut[]): Promise<string[]> {
    return rows.length === 0 ? [] : this.#write((put) => put.rows(rows), documentsOf(rows))
  }

  async forget(names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#write((put) => put.forget(names))
  }

  async putText(puts: readonly TextPut[]): Promise<void> {
    const documents = puts.reduce((sum, { messages }) => sum + messages.length, 0)
    if (puts.length > 0) await this.#write((put) => put.texts(puts), documents)
  }

  async lag(space?: string): Promise<Lag | null> {
    const where = new Conditions().add('text_end < ends')
    if (space !== undefined) where.add('space = ?', withoutNul(space))
    const text = `SELECT count(*) AS sessions, coalesce(sum(ends - text_end), 0)::bigint AS bytes FROM @.catalog_sessions WHERE ${where.text}`
    const [row] = await this.#all({ text }, where.values)
    return row === undefined || row.sessions === 0 ? null : { sessions: row.sessions as number, bytes: row.bytes as number }
  }

  async list(query: ListQuery): Promise<ListedRow[]> {
    const { values, ...statement } = listStatement(this.#schema, query)
    return (await this.#all(statement, values)).map(listedRow)
  }

  async count(filter: ListFilter): Promise<number> {
    const { values, ...statement } = countStatement(this.#schema, filter)
    return (await this.#all(statement, values))[0]?.n as number
  }

  search(query: SearchQuery): Promise<FoundDocument[]> {
    return searchTexts(this.#database, query)
  }

  async tasks({ space, session, status, newestFirst, limit }: TaskQuery): Promise<TaskRow[]> {
    const where = new Conditions().add('t.space = ? AND NOT s.gone', withoutNul(space))
    if (session !== undefined) where.add('s.id = ?', withoutNul(session))
    if (status !== undefined) where.add('t.status = ?', status)
    const text = `SELECT s.id, t.archive, t.task, t.status, t.attempts, t.created, t.updated, t.ended FROM @.catalog_tasks t
      JOIN @.catalog_sessions s ON s.name = t.name WHERE ${where.text}
      ORDER BY t.created ${newestFirst ? 'DESC' : 'ASC'}, s.id, t.archive LIMIT ${where.value(limit)}`
    const rows = await this.#all({ text }, where.values)
    return rows.map((row) => ({
      session: withNul(row.id as string),
      ...{ archive: row.archive as number, task: withNul(row.task as string), status: row.status as TaskStatus },
      ...{ attempts: row.attempts as number, createdAt: row.created as string, updatedAt: row.updated as string },
      ended: row.ended as number | null,
    }))
  }

  async extractions(space: string, owner: string | null, keys?: readonly string[]): Promise<ExtractionRow[]> {
    const where = new Conditions().add('e.space = ? AND NOT s.gone', withoutNul(space))
    if (owner === null) where.add('e.owner IS NULL')
    else where.add('e.owner = ?', withoutNul(owner))
    if (keys !== undefined) where.add('e.key = ANY(?)', keys.map(withoutNul))
    const text = `SELECT s.id, e.archive, e.owner, e.at, e.memory FROM @.catalog_extractions e JOIN @.catalog_sessions s ON s.name = e.name
      WHERE ${where.text} ORDER BY e.name, e.archive, e.place`
    const rows = await this.#all({ text }, where.values)
    return rows.map((row) => ({
      ...{ session: withNul(row.id as string), archive: row.archive as number, owner, at: row.at as string },
      memory: JSON.parse(withNul(row.memory as string)) as ExtractedMemory,
    }))
  }

  async stats(space: string): Promise<StatsRow> {
    const rows = await this.#all(
      {
        name: 'stats',
        text: `SELECT status, count(*) AS n, sum(live)::bigint AS live, sum(archived)::bigint AS archived, sum(tokens)::bigint AS tokens,
          sum(bytes)::bigint AS bytes FROM @.catalog_sessions WHERE space = $1 GROUP BY status`,
      },
      [withoutNul(space)],
    )
    const [tasks, usage, days] = await Promise.all([this.#taskCounts(space), this.#usage(space), this.#days(space)])
    return { ...sessionSums(rows), tasks, usage, days }
  }

  /** What was removed is gone for every reader; its pages are freed by the server's vacuum, which only the owner of the tables may hurry. */
  async scrub(): Promise<void> {}

  /** The connections belong to the engine. */
  async close(): Promise<void> {}

  async #taskCounts(space: string): Promise<Record<TaskStatus, number>> {
    const counts = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0 }
    const text = `SELECT t.status, count(*) AS n FROM @.catalog_tasks t JOIN @.catalog_sessions s ON s.name = t.name
      WHERE t.space = $1 AND NOT s.gone GROUP BY t.status`
    for (const { status, n } of await this.#all({ name: 'stats_tasks', text }, [withoutNul(space)]))
      counts[status as TaskStatus] = n as number
    return counts
  }

  async #usage(space: string): Promise<Usage[]> {
    const text = `SELECT model, sum(calls)::bigint AS calls, sum(input)::bigint AS input, sum(output)::bigint AS output
      FROM @.catalog_usage u JOIN @.catalog_sessions s ON s.name = u.name WHERE u.space = $1 AND NOT s.gone GROUP BY model ORDER BY model`
    const rows = await this.#all({ name: 'stats_usage', text }, [withoutNul(space)])
    return rows.map(({ model, calls, input, output }) => ({
      model: withNul(model as string),
      ...{ calls: calls as number, inputTokens: input as number, outputTokens: output as number },
    }))
  }

  async #days(space: string): Promise<StatsRow['days']> {
    const text = `SELECT day, sum(sessions)::bigint AS sessions, sum(messages)::bigint AS messages, sum(tokens)::bigint AS tokens FROM (
        SELECT left(created, 10) AS day, count(*) AS sessions, 0 AS messages, 0 AS tokens
        FROM @.catalog_sessions WHERE space = $1 AND NOT gone AND created <> '' GROUP BY 1
        UNION ALL
        SELECT day, 0, sum(messages), sum(d.tokens) FROM @.catalog_days d JOIN @.catalog_sessions s ON s.name = d.name
        WHERE d.space = $1 AND NOT s.gone GROUP BY day
      ) counted GROUP BY day ORDER BY day`
    const rows = await this.#all({ name: 'stats_days', text }, [withoutNul(space)])
    return rows.map(({ day, sessions, messages, tokens }) => ({
      ...{ day: day as string, sessions: sessions as number, messages: messages as number, tokens: tokens as number },
    }))
  }

  async #names(condition: string, ...values: unknown[]): Promise<string[]> {
    const rows = await this.#all({ text: `SELECT name FROM @.catalog_sessions WHERE ${condition}` }, values)
    return rows.map(({ name }) => withNul(name as string))
  }

  #all({ text, ...statement }: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const named = statement.name === undefined ? {} : { name: `catalog_${statement.name}` }
    return this.#database.repeat({ ...named, text: text.replaceAll('@.', `${this.#schema}.`) }, values, 'The catalog could not be read')
  }

  /**
   * All or nothing; again if the connection was lost, because what was put already is refused then, and refused is put. `documents`: how many texts it
   * may put.
   */
  async #write<T>(work: (put: Put, query: (sql: string) => Promise<unknown>) => Promise<T>, documents = 0): Promise<T> {
    const retry = new Retry(this.#clock)
    for (;;) {
      try {
        const next = await this.#numbers(documents)
        return await this.#database.transaction(async (client) => {
          await client.query(`WITH ${DURABLE} SELECT * FROM durable`)
          return work(new Put(client, this.#schema, next), (sql) => client.query(sql))
        })
      } catch (error) {
        if (!(isLost(error) || isPassing(error)) || !(await retry.pause()))
          throw failureOf(error, 'The catalog could not be written', 'write')
      }
    }
  }

  /** Numbers for so many texts, higher than all before. Taken beforehand: whoever puts must not hold up others who want some. */
  async #numbers(count: number): Promise<NextDoc> {
    let next = 0
    if (count > 0) {
      const text = `WITH ${LAZY} INSERT INTO ${this.#schema}.catalog AS c (key, value) SELECT 'docs', $1::text FROM lazy
        ON CONFLICT (key) DO UPDATE SET value = (c.value::bigint + $1::bigint)::text RETURNING value`
      const [row] = await this.#database.run({ name: 'catalog_numbers', text }, [count])
      next = Number(row?.value) - count
    }
    return () => next++
  }
}

function knownOf(row: Row): Known {
  return {
    mark: { end: row.ends as number, crc: row.crc as string },
    status: row.status as SessionStatus,
    ...{ space: withNul(row.space as string), born: row.born as number, generation: row.generation as number },
    text: { end: row.text_end as number, at: row.text_at as number, crc: row.text_crc as string },
    branch: JSON.parse(row.branch as string) as Stretch[],
  }
}
