/** The faults, and how each is done to the rows of a database that no store has open. */
import { withClient } from '../../postgres/database.ts'
import type { Fault } from './faults.ts'
import { EARLY, ENTRY, LATE, LOST, REPLACED, TITLE } from './subject.ts'

interface Row {
  readonly segment: string
  readonly position: string
  readonly line: Buffer
}

type Client = Parameters<Parameters<typeof withClient>[1]>[0]
type Table = 'journals' | 'segments' | 'lines' | 'keys'

const TABLES: readonly Table[] = ['journals', 'segments', 'lines', 'keys']

/** The rows of one journal. */
class Rows {
  readonly #client: Client
  readonly #where: readonly [space: string, session: string]

  constructor(client: Client, name: string) {
    const [space = '', , journal = ''] = name.split('/')
    this.#client = client
    this.#where = [space, journal.slice(-32)]
  }

  async lines(): Promise<Row[]> {
    const text = 'SELECT segment, position, line FROM holdfast.lines WHERE (space, session) = ($1, $2) ORDER BY segment, position'
    return (await this.#client.query<Row>(text, [...this.#where])).rows
  }

  /** Where its segments begin. */
  async segments(): Promise<string[]> {
    return [...new Set((await this.lines()).map(({ segment }) => segment))]
  }

  async change(text: string, work: (line: Buffer, at: number) => void): Promise<void> {
    const row = (await this.lines()).find(({ line }) => line.includes(text))
    if (row === undefined) throw new Error(`No line has "${text}".`)
    const line = Buffer.from(row.line)
    work(line, line.indexOf(text))
    const update = 'UPDATE holdfast.lines SET line = $5 WHERE (space, session, segment, position) = ($1, $2, $3, $4)'
    await this.#client.query(update, [...this.#where, row.segment, row.position, line])
  }

  /** Deletes rows of a table, of which there must be some. */
  async remove(table: Table, condition = 'true', ...values: readonly unknown[]): Promise<void> {
    const text = `DELETE FROM holdfast.${table} WHERE (space, session) = ($1, $2) AND ${condition}`
    const { rowCount } = await this.#client.query(text, [...this.#where, ...values])
    if (rowCount === 0) throw new Error(`The table ${table} has no such row.`)
  }

  /** Exchanges its rows of some tables with those of another journal. */
  async swap(other: Rows, tables: readonly Table[]): Promise<void> {
    const aside = '00000000-0000-0000-0000-000000000000'
    const [[space, mine], [, theirs]] = [this.#where, other.#where]
    for (const table of tables) {
      const move = `UPDATE holdfast.${table} SET session = $3 WHERE (space, session) = ($1, $2)`
      await this.#client.query(move, [space, mine, aside])
      await this.#client.query(move, [space, theirs, mine])
      await this.#client.query(move, [space, aside, theirs])
    }
  }
}

interface RowFault extends Fault {
  readonly toRows: (rows: Rows, other: Rows) => Promise<void>
}

const flip = (line: Buffer, at: number): void => {
  line[at] = (line[at] as number) ^ 1
}
const zero = (line: Buffer, at: number): void => void line.fill(0, at, at + 4096)

async function changeEach(rows: Rows, texts: readonly string[], work: (line: Buffer, at: number) => void): Promise<void> {
  for (const text of texts) await rows.change(text, work)
}

/** The same faults as those that files can have. */
const SHARED: readonly RowFault[] = [
  {
    name: 'a flipped bit in a message line',
    effect: 'lost',
    message: LOST.late,
    toRows: (rows) => changeEach(rows, [EARLY, LATE], flip),
  },
  { name: 'a flipped bit in one copy of a title', effect: 'copy', message: LOST.late, toRows: (rows) => rows.change(TITLE, flip) },
  {
    name: 'a flipped bit in both copies of a title',
    effect: 'change',
    message: LOST.late,
    toRows: (rows) => changeEach(rows, [TITLE, TITLE], flip),
  },
  { name: 'a flipped bit in an entry', effect: 'change', message: LOST.late, toRows: (rows) => rows.change(ENTRY, flip) },
  { name: 'a flipped bit in a replacement', effect: 'change', message: REPLACED.id, toRows: (rows) => rows.change(REPLACED.by, flip) },
  {
    name: 'a zeroed page in the middle',
    effect: 'lost',
    message: LOST.late,
    toRows: (rows) => changeEach(rows, [EARLY, LATE], zero),
  },
  {
    name: 'a deleted middle segment',
    effect: 'early',
    message: 'm3',
    toRows: async (rows) => {
      const [, second] = await rows.segments()
      await rows.remove('lines', 'segment = $3', second)
      await rows.remove('segments', 'first = $3', second)
    },
  },
  {
    name: 'a last segment cut to half',
    effect: 'vanished',
    message: LOST.late,
    toRows: async (rows) => {
      const last = (await rows.segments()).at(-1)
      const lines = (await rows.lines()).filter(({ segment }) => segment === last)
      const middle = (Number(lines[0]?.position) + Number(lines.at(-1)?.position)) / 2
      await rows.remove('lines', 'segment = $3 AND position > $4', last, Math.floor(middle))
    },
  },
  { name: 'a journal cut to zero', effect: 'gone', message: LOST.late, toRows: (rows) => rows.remove('lines') },
  {
    // The row of the session stays. A session without a row and without a line is one that never was: a database has no other place that
    // knows of it, but for the catalog, which is derived.
    name: 'a deleted journal directory',
    effect: 'gone',
    message: LOST.late,
    toRows: async (rows) => {
      await rows.remove('lines')
      await rows.remove('segments')
    },
  },
  { name: 'two swapped journals', effect: 'swapped', message: LOST.late, toRows: (rows, other) => rows.swap(other, TABLES) },
]

/** Faults that only a database can have: its tables disagree with each other. */
const OWN: readonly RowFault[] = [
  // In place of a first segment without its first bytes. Lines of a database do not move if others are deleted, so those that are left count.
  {
    name: 'a first segment without its first lines',
    effect: 'first',
    message: 'm1',
    toRows: async (rows) => {
      const [first] = await rows.segments()
      const m2 = (await rows.lines()).find(({ line }) => line.includes('Two.'))
      await rows.remove('lines', 'segment = $3 AND position < $4', first, m2?.position)
    },
  },
  {
    name: 'a first segment without lines',
    effect: 'beheaded',
    message: 'm1',
    toRows: async (rows) => rows.remove('lines', 'segment = $3', (await rows.segments())[0]),
  },
  {
    name: 'a middle segment without lines',
    effect: 'beheaded',
    message: 'm3',
    toRows: async (rows) => rows.remove('lines', 'segment = $3', (await rows.segments())[1]),
  },
  { name: 'a deleted row of a session', effect: 'rowless', message: LOST.late, toRows: (rows) => rows.remove('journals') },
  { name: 'two sessions with swapped lines', effect: 'swapped', message: LOST.late, toRows: (rows, other) => rows.swap(other, ['lines']) },
]

export const ROW_FAULTS: readonly RowFault[] = [...SHARED, ...OWN]

/** Faults to files that a database cannot have, each with the one that is done to it in its place. */
export const ONLY_FILES: Readonly<Record<string, string>> = {
  'a first segment without its first 300 bytes': 'a first segment without its first lines',
}

export async function damageRows(url: string, fault: string, name: string, other: string): Promise<void> {
  const { toRows } = ROW_FAULTS.find((one) => one.name === fault) as RowFault
  await withClient(url, (client) => toRows(new Rows(client, name), new Rows(client, other)))
}
