/** Puts the rows and the text of sessions. Each function runs inside a transaction of its caller, whose rows are locked in the order of names. */
import type pg from 'pg'
import type { MessagePut, SessionPut, TextPut } from '../../../engine/catalog.ts'
import { withNul, withoutNul } from '../../../engine/nul.ts'
import type { Stretch } from '../../../session/state.ts'
import {
  COLUMNS,
  extractionRows,
  messageRows,
  type NextDoc,
  sessionRow,
  sidOf,
  summaryRows,
  type Table,
  taskRows,
  titleRows,
  usageRows,
  type Values,
} from './rows.ts'

export class Put {
  readonly #client: pg.ClientBase
  readonly #schema: string
  readonly #next: NextDoc

  /** The schema is quoted. */
  constructor(client: pg.ClientBase, schema: string, next: NextDoc) {
    this.#client = client
    this.#schema = schema
    this.#next = next
  }

  /** Tells the names of those that were refused: what the catalog holds is not what they were made for. */
  async rows(puts: readonly SessionPut[]): Promise<string[]> {
    const stored = await this.#lock(puts, 'ends, crc, marks, usage, title')
    const fits = ({ name, basedOn }: SessionPut): boolean => {
      const row = stored.get(name)
      return row === undefined ? basedOn === null : Number(row.ends) === basedOn?.end && row.crc === basedOn.crc
    }
    const fresh = puts.filter((put) => fits(put) && !stored.has(put.name))
    // Another process may have put the same new row first, in a transaction that is not visible here yet.
    const made = new Set(
      (await this.#insert('sessions', fresh.map(sessionRow), 'DO NOTHING RETURNING name')).map(({ name }) => withNul(name as string)),
    )
    const known = puts.filter((put) => fits(put) && stored.has(put.name))
    const rebuilt = known.filter((put) => put.rebuilt)
    await this.#wipe(rebuilt.map(({ name }) => name))
    await this.#update(known.map(sessionRow))
    const taken = [...fresh.filter(({ name }) => made.has(name)), ...known]
    await this.#children(
      taken,
      taken.filter((put) => put.rebuilt || isDescribedAnew(put, stored.get(put.name))),
    )
    const accepted = new Set(taken)
    return puts.filter((put) => !accepted.has(put)).map(({ name }) => name)
  }

  async #children(puts: readonly SessionPut[], described: readonly SessionPut[]): Promise<void> {
    if (described.length > 0) {
      await this.#run('DELETE FROM @.catalog_usage WHERE name = ANY($1)', namesOf(described))
      await this.#run(`DELETE FROM @.catalog_texts WHERE sid = ANY($1) AND kind = 'session'`, sidsOf(described))
    }
    await this.#insert('usage', described.flatMap(usageRows), 'DO NOTHING')
    await this.#insert('tasks', puts.flatMap(taskRows), updating('tasks', '(name, archive)'))
    const summaries = puts.flatMap((put) => put.summaries.map((summary) => ({ put, summary })))
    for (const { put, summary } of summaries) await this.#removeTexts(put.name, ['summary', 'memory'], summary.archive)
    await this.#insert(
      'extractions',
      summaries.flatMap(({ put, summary }) => extractionRows(put, summary)),
      updating('extractions', '(name, archive, place)'),
    )
    await this.#insert(
      'texts',
      [
        ...described.flatMap((put) => titleRows(put, this.#next)),
        ...summaries.flatMap(({ put, summary }) => summaryRows(put, summary, this.#next)),
      ],
      'DO NOTHING',
    )
    for (const { name, retracted, erased } of puts) {
      for (const archive of erased) await this.#removeTexts(name, ['summary'], archive)
      for (const archive of [...retracted, ...erased]) {
        await this.#removeTexts(name, ['memory'], archive)
        await this.#run('DELETE FROM @.catalog_extractions WHERE name = $1 AND archive = $2', withoutNul(name), archive)
      }
    }
  }

  async forget(names: readonly string[]): Promise<void> {
    await this.#wipe(names)
    await this.#run('DELETE FROM @.catalog_sessions WHERE name = ANY($1)', names.map(withoutNul))
  }

  /** Text that was put by another process meanwhile, or of what was forgotten, is passed over. */
  async texts(puts: readonly TextPut[]): Promise<void> {
    const stored = await this.#lock(puts, 'space, generation, text_end')
    const taken = puts.filter(({ name, basedOn }) => {
      const row = stored.get(name)
      return row !== undefined && row.generation === basedOn.generation && Number(row.text_end) === basedOn.end
    })
    const rebuilt = taken.filter((put) => put.rebuilt)
    if (rebuilt.length > 0) {
      await this.#run(`DELETE FROM @.catalog_texts WHERE sid = ANY($1) AND kind = 'message'`, sidsOf(rebuilt))
      await this.#run('DELETE FROM @.catalog_days WHERE name = ANY($1)', namesOf(rebuilt))
    }
    const spaceOf = (name: string): string => withNul(stored.get(name)?.space as string)
    for (const put of taken) await this.#mark(put)
    await this.#insert(
      'texts',
      taken.flatMap(({ name, messages }) => {
        const [sid, space] = [sidOf(name), spaceOf(name)]
        return lastOf(messages).flatMap((message) => messageRows(sid, space, message, this.#next()))
      }),
      'DO NOTHING',
    )
    await this.#insert(
      'days',
      taken.flatMap(({ name, days }) =>
        days.map(({ day, messages, tokens }) => ({ name: withoutNul(name), day, space: withoutNul(spaceOf(name)), messages, tokens })),
      ),
      '(name, day) DO UPDATE SET messages = t.messages + excluded.messages, tokens = t.tokens + excluded.tokens',
    )
    const values = taken.map(({ name, text, branch }) => ({
      name: withoutNul(name),
      ends: text.end,
      at: text.at,
      crc: text.crc,
      branch: JSON.stringify(branch),
    }))
    await this.#run(
      `UPDATE @.catalog_sessions s SET text_end = r.ends, text_at = r.at, text_crc = r.crc, branch = r.branch
       FROM jsonb_to_recordset($1) AS r(name text, ends bigint, at bigint, crc text, branch text) WHERE s.name = r.name`,
      JSON.stringify(values),
    )
  }

  /** What became of messages that are known, and the removal of those that get other content. */
  async #mark({ name, archives, left, back, messages, basedOn, rebuilt }: TextPut): Promise<void> {
    for (const { archive, stretches } of archives) {
      for (const stretch of stretches) await this.#markStretch(name, stretch, 'archive = $7', 'AND archive IS NULL', archive)
    }
    for (const stretch of left) await this.#markStretch(name, stretch, 'off = true', '')
    for (const stretch of back) await this.#markStretch(name, stretch, 'off = false', '')
    if (rebuilt) return
    for (const { position, index } of messages.filter(({ position: at, source }) => at !== source || at < basedOn.end)) {
      await this.#run(
        `DELETE FROM @.catalog_texts WHERE sid = $1 AND kind = 'message' AND position = $2 AND place = $3`,
        ...[sidOf(name), position, index],
      )
    }
  }

  async #markStretch(
    name: string,
    { run, from, to, first, last }: Stretch,
    change: string,
    only: string,
    ...more: number[]
  ): Promise<void> {
    await this.#run(
      `UPDATE @.catalog_texts SET ${change} WHERE sid = $1 AND kind = 'message' AND position BETWEEN $2 AND $3 AND run = $4
       AND depth > $5 AND depth <= $6 ${only}`,
      ...[sidOf(name), first, last, run, from, to, ...more],
    )
  }

  async #lock(puts: readonly { readonly name: string }[], columns: string): Promise<Map<string, Record<string, unknown>>> {
    const names = puts.map(({ name }) => withoutNul(name))
    const rows = await this.#run(`SELECT name, ${columns} FROM @.catalog_sessions WHERE name = ANY($1) ORDER BY name FOR UPDATE`, names)
    return new Map(rows.map((row) => [withNul(row.name as string), row]))
  }

  async #wipe(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const all = names.map(withoutNul)
    await this.#run('DELETE FROM @.catalog_texts WHERE sid = ANY($1)', names.map(sidOf))
    for (const table of ['usage', 'tasks', 'extractions', 'days'])
      await this.#run(`DELETE FROM @.catalog_${table} WHERE name = ANY($1)`, all)
    await this.#run(
      `UPDATE @.catalog_sessions SET generation = generation + 1, text_end = 0, text_at = 0, text_crc = '', branch = '[]' WHERE name = ANY($1)`,
      all,
    )
  }

  async #removeTexts(name: string, kinds: readonly string[], archive: number): Promise<void> {
    await this.#run('DELETE FROM @.catalog_texts WHERE sid = $1 AND kind = ANY($2) AND archive = $3', sidOf(name), kinds, archive)
  }

  async #update(rows: readonly Values[]): Promise<void> {
    if (rows.length === 0) return
    const columns = Object.keys(COLUMNS.sessions).filter((column) => column !== 'name')
    await this.#run(
      `UPDATE @.catalog_sessions t SET ${columns.map((column) => `${column} = r.${column}`).join(', ')} FROM ${recordset('sessions')} WHERE t.name = r.name`,
      JSON.stringify(rows),
    )
  }

  async #insert(table: Table, rows: readonly Values[], onConflict: string): Promise<Record<string, unknown>[]> {
    if (rows.length === 0) return []
    const columns = Object.keys(COLUMNS[table])
    return this.#run(
      `INSERT INTO @.catalog_${table} AS t (${columns.join(', ')}) SELECT ${columns.map((column) => `r.${column}`).join(', ')}
       FROM ${recordset(table)} ORDER BY 1 ON CONFLICT ${onConflict}`,
      JSON.stringify(rows),
    )
  }

  async #run(text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.#client.query(text.replaceAll('@.', `${this.#schema}.`), values)).rows as Record<string, unknown>[]
  }
}

/** One that got other content comes once more: the last one counts. */
function lastOf(messages: readonly MessagePut[]): MessagePut[] {
  return [...new Map(messages.map((message) => [`${message.position} ${message.index}`, message])).values()]
}

function namesOf(puts: readonly { readonly name: string }[]): string[] {
  return puts.map(({ name }) => withoutNul(name))
}

function sidsOf(puts: readonly { readonly name: string }[]): string[] {
  return puts.map(({ name }) => sidOf(name))
}

function recordset(table: Table): string {
  const columns = Object.entries(COLUMNS[table]).map(([column, type]) => `${column} ${type}`)
  return `jsonb_to_recordset($1::jsonb) AS r(${columns.join(', ')})`
}

function updating(table: Table, key: string): string {
  const columns = Object.keys(COLUMNS[table]).filter((column) => !key.includes(column))
  return `${key} DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`
}

/** Whether what a title is found by, or what models were used, is other than before. */
function isDescribedAnew(put: SessionPut, stored: Record<string, unknown> | undefined): boolean {
  if (stored === undefined) return true
  const { marks, usage, title } = sessionRow(put)
  return JSON.stringify(marks) !== JSON.stringify(stored.marks) || usage !== stored.usage || title !== stored.title
}
