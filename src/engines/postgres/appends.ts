/**
 * Appends of all sessions of this process, many in one statement. While some are under way, those that come are gathered, and go together.
 *
 *   waiting ──sent──▶ answered: placed, or moved
 *      ▲        └──connection lost──▶ unsure
 *      └─────────────sent again──────────┘
 *
 * What was lost may have been done, or may still be: so it is sent again, unchanged. The end of the journal decides: whoever comes second finds
 * it moved. If that is this one, and its own lines stand at their place, the first was it.
 */
import type { Clock } from '../../engine/clock.ts'
import type { Appended } from '../../engine/port.ts'
import { isBlank, splitLines } from '../../record/line.ts'
import { copyLines } from './copy-lines.ts'
import { type Database, Retry, type Row } from './database.ts'
import { failureOf, isLost, isPassing } from './failures.ts'
import { quoted } from './migrate.ts'
import type { Statements } from './statements.ts'

export interface JournalKey {
  readonly space: string
  readonly session: string
  readonly name: string
}

/** A name is made of both hashes. */
export function keyOf(name: string): JournalKey {
  return { space: name.slice(0, 32), session: name.slice(-32), name }
}

interface Waiting {
  readonly journal: JournalKey
  readonly segment: number
  readonly at: number
  readonly group: Uint8Array
  /** It was sent, and no answer came. */
  unsure: boolean
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: unknown) => void
}

const MOVED: Appended = { moved: true, placed: 0 }
/** Statements that are under way at once: one is on its way or planned while the other waits for the disk. */
const LANES = 2
/** What goes into one statement: others must not wait long for a large one. */
const TOGETHER = { appends: 256, bytes: 4 * 1024 * 1024 }
/** From so much together on, lines go by COPY: a third less work for the server, and three round trips more. */
const COPIED_BYTES = 384 * 1024

export class Appends {
  readonly #database: Database
  readonly #statements: Statements
  readonly #clock: Clock
  #waiting: Waiting[] = []
  /** Journals with an append under way: a second one has to wait, because the first decides where it may stand. */
  readonly #busy = new Set<string>()
  #lanes = 0

  constructor(database: Database, statements: Statements, clock: Clock) {
    this.#database = database
    this.#statements = statements
    this.#clock = clock
  }

  append(journal: JournalKey, segment: number, at: number, group: Uint8Array): Promise<Appended> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ journal, segment, at, group, unsure: false, resolve, reject })
      if (this.#lanes < LANES) {
        this.#lanes++
        // What is appended in the same turn of the event loop goes together.
        setImmediate(() => void this.#drain())
      }
    })
  }

  /** Never rejects: every failure is told to those whose appends it was. */
  async #drain(): Promise<void> {
    for (let batch = this.#next(); batch.length > 0; batch = this.#next()) {
      await this.#settle(batch)
      for (const { journal } of batch) this.#busy.delete(journal.name)
    }
    this.#lanes--
  }

  #next(): Waiting[] {
    const batch: Waiting[] = []
    const rest: Waiting[] = []
    let bytes = 0
    for (const item of this.#waiting) {
      const fits = batch.length === 0 || (batch.length < TOGETHER.appends && bytes + item.group.length <= TOGETHER.bytes)
      if (!fits || this.#busy.has(item.journal.name)) rest.push(item)
      else {
        this.#busy.add(item.journal.name)
        batch.push(item)
        bytes += item.group.length
      }
    }
    this.#waiting = rest
    return batch.sort(byKey)
  }

  async #settle(batch: readonly Waiting[]): Promise<void> {
    const retry = new Retry(this.#clock)
    for (;;) {
      try {
        const rows = isLarge(batch) ? await this.#copy(batch) : await this.#database.run(this.#statements.append, valuesOf(batch))
        const placed = new Set(rows.map(({ n }) => n as number))
        await Promise.all(batch.map((item, i) => this.#answer(item, placed.has(i + 1))))
        return
      } catch (error) {
        if (isLost(error)) for (const item of batch) item.unsure = true
        else if (!isPassing(error)) return refuse(batch, error)
        if (!(await retry.pause())) return refuse(batch, error)
      }
    }
  }

  /** Much at once, as an import or a copy has it: the ends are moved, and the lines follow by COPY in the same transaction. */
  async #copy(batch: readonly Waiting[]): Promise<Row[]> {
    return this.#database.transaction(async (client, run) => {
      const rows = await run(this.#statements.place, placesOf(batch))
      const placed = rows.map(({ n }) => batch[(n as number) - 1] as Waiting)
      const lines = placed.flatMap(({ journal: { space, session }, segment, at, group }) =>
        linesOf(group, at).map(({ at: position, bytes }) => ({ space, session, segment, position, line: bytes })),
      )
      await copyLines(client, `${quoted(this.#database.schema)}.lines`, lines)
      return rows
    })
  }

  async #answer(item: Waiting, isPlaced: boolean): Promise<void> {
    const { group, resolve, reject } = item
    if (isPlaced) return resolve({ moved: false, placed: group.length })
    if (!item.unsure) return resolve(MOVED)
    try {
      resolve((await this.#stands(item)) ? { moved: false, placed: group.length } : MOVED)
    } catch (error) {
      reject(error)
    }
  }

  /** Whether the lines of an append stand where it would have put them. */
  async #stands({ journal, segment, at, group }: Waiting): Promise<boolean> {
    const what = 'Whether the append was done could not be read'
    const values = [journal.space, journal.session, segment, at, at + group.length]
    const rows = await this.#database.repeat(this.#statements.read, values, what).catch((error: unknown) => {
      throw failureOf(error, what, 'write', 'unknown')
    })
    if (rows.length === 0) throw failureOf(new Error('the segment was purged meanwhile'), what, 'write', 'unknown')
    const lines = linesOf(group, at)
    return lines.length > 0 && lines.every(({ at: position, bytes }) => rows.some((row) => isSame(row, position, bytes)))
  }
}

function isSame({ position, line }: Row, at: number, bytes: Uint8Array): boolean {
  return position === at && Buffer.compare(line as Buffer, bytes) === 0
}

/** Blank lines are gaps, and gaps are not stored. */
function linesOf(group: Uint8Array, at: number) {
  return splitLines(group, at).lines.filter(({ bytes }) => !isBlank(bytes))
}

/** The lines of one group among the parameters of a statement: whose they are, where they stand, and where they are found in the bytes. */
export function lineColumns(groups: readonly { readonly at: number; readonly group: Uint8Array }[]) {
  const [numbers, positions, begins, lengths]: number[][] = [[], [], [], []]
  let offset = 1
  for (const [i, { at, group }] of groups.entries()) {
    for (const { at: position, bytes } of linesOf(group, at)) {
      numbers?.push(i + 1)
      positions?.push(position)
      begins?.push(offset + position - at)
      lengths?.push(bytes.length)
    }
    offset += group.length
  }
  return [numbers, positions, begins, lengths, Buffer.concat(groups.map(({ group }) => group))]
}

function isLarge(batch: readonly Waiting[]): boolean {
  return batch.reduce((sum, { group }) => sum + group.length, 0) >= COPIED_BYTES
}

/** Where appends want to stand. */
function placesOf(batch: readonly Waiting[]): unknown[] {
  return [
    batch.map(({ journal }) => journal.space),
    batch.map(({ journal }) => journal.session),
    batch.map(({ journal }) => journal.name),
    batch.map(({ segment }) => segment),
    batch.map(({ at }) => at),
    batch.map(({ at, group }) => at + group.length),
  ]
}

function valuesOf(batch: readonly Waiting[]): unknown[] {
  return [...placesOf(batch), ...lineColumns(batch)]
}

function byKey(a: Waiting, b: Waiting): number {
  const [one, other] = [a.journal.space + a.journal.session, b.journal.space + b.journal.session]
  return one < other ? -1 : one > other ? 1 : 0
}

/** Refused as a whole where nothing can have happened, so that who only wanted to read is not refused with it. */
function refuse(batch: readonly Waiting[], error: unknown): void {
  for (const { unsure, resolve, reject } of batch) {
    const failure = failureOf(error, 'The journal could not be written', 'write', unsure ? 'unknown' : 'none')
    if (unsure) reject(failure)
    else resolve({ moved: false, placed: 0, refusal: failure })
  }
}
