/** The same faults, done to the lines of a database. */
import { withClient } from '../../postgres/database.ts'
import { EARLY, LATE, TITLE } from './subject.ts'

interface Row {
  readonly segment: string
  readonly position: string
  readonly line: Buffer
}

type Client = Parameters<Parameters<typeof withClient>[1]>[0]

/** The lines of one journal. */
class Lines {
  readonly #client: Client
  readonly #where: readonly [space: string, session: string]

  constructor(client: Client, name: string) {
    const [space = '', , journal = ''] = name.split('/')
    this.#client = client
    this.#where = [uuidOf(space), uuidOf(journal.slice(-32))]
  }

  async all(): Promise<Row[]> {
    const text = 'SELECT segment, position, line FROM holdfast.lines WHERE (space, session) = ($1, $2) ORDER BY segment, position'
    return (await this.#client.query<Row>(text, [...this.#where])).rows
  }

  async change(text: string, work: (line: Buffer, at: number) => void): Promise<void> {
    const row = (await this.all()).find(({ line }) => line.includes(text))
    if (row === undefined) throw new Error(`No line has "${text}".`)
    const line = Buffer.from(row.line)
    work(line, line.indexOf(text))
    const update = 'UPDATE holdfast.lines SET line = $5 WHERE (space, session, segment, position) = ($1, $2, $3, $4)'
    await this.#client.query(update, [...this.#where, row.segment, row.position, line])
  }

  async remove(rows: readonly Row[]): Promise<void> {
    const text = 'DELETE FROM holdfast.lines WHERE (space, session, segment, position) = ($1, $2, $3, $4)'
    for (const { segment, position } of rows) await this.#client.query(text, [...this.#where, segment, position])
  }

  /** Hands its lines to the journal that has this number, and takes that one's. */
  async swap(other: Lines): Promise<void> {
    const aside = '00000000-0000-0000-0000-000000000000'
    const move = 'UPDATE holdfast.lines SET session = $3 WHERE (space, session) = ($1, $2)'
    const [[space, mine], [, theirs]] = [this.#where, other.#where]
    await this.#client.query(move, [space, mine, aside])
    await this.#client.query(move, [space, theirs, mine])
    await this.#client.query(move, [space, aside, theirs])
  }
}

const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

type Work = (lines: Lines, other: Lines) => Promise<void>

const flip = (line: Buffer, at: number): void => {
  line[at] = (line[at] as number) ^ 1
}
const zero = (line: Buffer, at: number): void => void line.fill(0, at, at + 4096)
const removeAll: Work = async (lines) => lines.remove(await lines.all())

const WORKS: Readonly<Record<string, Work>> = {
  'a flipped bit in a message line': async (lines) => {
    for (const text of [EARLY, LATE]) await lines.change(text, flip)
  },
  'a flipped bit in one copy of a title': (lines) => lines.change(TITLE, flip),
  'a flipped bit in both copies of a title': async (lines) => {
    for (const text of [TITLE, TITLE]) await lines.change(text, flip)
  },
  'a zeroed page in the middle': async (lines) => {
    for (const text of [EARLY, LATE]) await lines.change(text, zero)
  },
  'a deleted middle segment': async (lines) => {
    const rows = await lines.all()
    const [, second] = [...new Set(rows.map(({ segment }) => segment))]
    await lines.remove(rows.filter(({ segment }) => segment === second))
  },
  'a last segment cut to half': async (lines) => {
    const rows = await lines.all()
    const last = rows.filter(({ segment }) => segment === rows.at(-1)?.segment)
    const [from, to] = [Number(last[0]?.position), Number(last.at(-1)?.position)]
    await lines.remove(last.filter(({ position }) => Number(position) > (from + to) / 2))
  },
  'a journal cut to zero': removeAll,
  // The row of the journal stays: without it, a database knows no more of a session than of one that never was.
  'a deleted journal directory': removeAll,
  'a first segment without its first 300 bytes': async (lines) => {
    await lines.remove((await lines.all()).filter(({ position }) => Number(position) < 300))
  },
  'two swapped journals': (lines, other) => lines.swap(other),
}

export async function damageRows(url: string, fault: string, name: string, other: string): Promise<void> {
  const work = WORKS[fault]
  if (work === undefined) throw new Error(`There is no way to do "${fault}" to a database.`)
  await withClient(url, (client) => work(new Lines(client, name), new Lines(client, other)))
}
