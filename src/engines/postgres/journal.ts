/** A handle on one journal. It keeps nothing: every call is a statement, and what is read has been committed, which is durable. */
import type { Calls } from '../../engine/calls.ts'
import type { Appended, AppendOptions, Chunk, Journal, Vanished } from '../../engine/port.ts'
import { JournalFold } from '../../record/fold.ts'
import { type KeyEntry, type KeyHash, type KeysOf, keysOfLine } from '../../record/key-hash.ts'
import { LIMITS } from '../../record/limits.ts'
import { LEAD_IN, type Line } from '../../record/line.ts'
import { type Appends, type JournalKey, keyOf, lineColumns } from './appends.ts'
import type { Database, Row } from './database.ts'
import type { Feed } from './feed.ts'
import type { Statements } from './statements.ts'

/** What all handles of one engine share. */
export interface JournalParts {
  readonly database: Database
  readonly statements: Statements
  readonly appends: Appends
  readonly feed: Feed
  readonly calls: Calls
  readonly keysOf: KeysOf
}

const WRITING = 'The journal could not be written'

/** Every record is longer. So a gap of this length was a record, and a shorter one is blank lines, which are not stored. */
const SHORTEST_RECORD = 100

export class PostgresJournal implements Journal {
  readonly name: string
  readonly #parts: JournalParts
  readonly #key: JournalKey
  /** All segments in this range are indexed, as far as this handle knows. */
  #indexed = { from: 0, before: 0 }

  constructor(name: string, parts: JournalParts) {
    this.name = name
    this.#parts = parts
    this.#key = keyOf(name)
  }

  segments(): Promise<number[]> {
    return this.#parts.calls.track(async () => {
      const rows = await this.#ask('segments', [])
      return rows.map(({ first }) => first as number)
    })
  }

  read(segment: number, from: number, limit: number = LIMITS.readBytes): Promise<Chunk | undefined> {
    return this.#parts.calls.track(() => this.#read(segment, from, limit))
  }

  /** Whether lines have vanished is not compared here: it costs a tenth to a quarter of an append. Who loads a journal asks `vanished`. */
  append(segment: number, at: number, group: Uint8Array, { accepting = false }: AppendOptions = {}): Promise<Appended> {
    const { calls, appends, feed } = this.#parts
    return calls.track(async () => {
      if (accepting) await this.#do('adopt', [this.name])
      const appended = await appends.append(this.#key, segment, at, group)
      if (appended.placed > 0) feed.announce()
      return appended
    })
  }

  sync(): Promise<boolean> {
    return this.#parts.calls.track(async () => true)
  }

  roll(first: number, preamble: Uint8Array): Promise<void> {
    return this.#parts.calls.track(async () => {
      await this.#do('roll', [this.name, first, first + preamble.length, ...lineColumns([{ at: first, group: preamble }])])
      this.#parts.feed.announce()
    })
  }

  lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    return this.#parts.calls.track(async () => {
      if (keys.length === 0) return []
      await this.#requireIndexed(from, before)
      const rows = await this.#ask('lookup', [[...new Set(keys)], from, before])
      const entries = new Map(rows.map((row) => [hexOf(row.key), entryOf(row)]))
      return keys.map((key) => entries.get(key))
    })
  }

  /** A segment that is indexed stays so: nothing is asked twice about the same ones. */
  async #requireIndexed(from: number, before: number): Promise<void> {
    if (from >= this.#indexed.from && before <= this.#indexed.before) return
    for (const { first, ends } of await this.#ask('unindexed', [from, before])) await this.#index(first as number, ends as number)
    this.#indexed = { from, before }
  }

  storeKeys(segment: number, _end: number, keys: ReadonlyMap<KeyHash, KeyEntry>): void {
    // A hint: what was not put is found missing when it is looked up.
    this.#parts.calls.track(() => this.#putKeys(segment, keys)).catch(() => undefined)
  }

  overwrite(segment: number, at: number, was: Uint8Array, line: Uint8Array): Promise<boolean> {
    return this.#parts.calls.track(async () => {
      if (was.length !== line.length) throw new TypeError('A line can only be written over by one of the same length.')
      const entries = keysOfLine(line, this.#parts.keysOf)
      const rows = await this.#do('overwrite', [
        ...[segment, at, was, line],
        entries.map(({ key }) => key),
        entries.map(({ at: position }) => position),
        entries.map(({ index }) => index),
        entries.map(({ crc }) => crc),
        entries.map(({ digest }) => digest),
      ])
      return rows.length > 0
    })
  }

  purge(before: number): Promise<number> {
    return this.#parts.calls.track(async () => {
      const [row] = await this.#do('purge', [before])
      const freed = row?.freed as number
      if (freed > 0) this.#parts.feed.announce()
      return freed
    })
  }

  /**
   * An append moves the end in the session's row and inserts its lines in one transaction, so the end is always that of the last line.
   * If it is not, lines or rows were deleted. A line that is missing between two others shows in `read`.
   */
  vanished(): Promise<Vanished | undefined> {
    return this.#parts.calls.track(async () => {
      const [row] = await this.#ask('vanished', [SHORTEST_RECORD])
      if (row === undefined) return undefined
      const from = row.begins as number
      return { from, to: Math.max(row.ends as number, from + 1) }
    })
  }

  async close(): Promise<void> {}

  #ask(statement: 'segments' | 'read' | 'stop' | 'unindexed' | 'lookup' | 'vanished', values: readonly unknown[]): Promise<Row[]> {
    const { database, statements } = this.#parts
    return database.repeat(statements[statement], [this.#key.space, this.#key.session, ...values], 'The journal could not be read')
  }

  /** Something that may be done twice. */
  #do(statement: 'adopt' | 'roll' | 'purge' | 'index' | 'overwrite', values: readonly unknown[]): Promise<Row[]> {
    const { database, statements } = this.#parts
    return database.repeat(statements[statement], [this.#key.space, this.#key.session, ...values], WRITING, 'write')
  }

  async #read(segment: number, from: number, limit: number): Promise<Chunk | undefined> {
    const rows = await this.#ask('read', [segment, from, from + limit])
    if (rows[0] === undefined) return undefined
    const end = await this.#endOf(segment, from, rows)
    const lines: Line[] = []
    let next = from
    for (const row of rows) {
      if (row.position === null) break
      const [at, bytes] = [row.position as number, row.line as Buffer]
      // Beyond the limit only to make one line whole.
      if (lines.length > 0 && at + bytes.length + 1 > from + limit) return chunkOf(lines, end)
      if (at - next >= SHORTEST_RECORD) lines.push(holeBetween(next, at))
      lines.push({ at, bytes })
      next = at + bytes.length + 1
    }
    // The statement returns the next line, however far away it is. So without one, nothing is left up to the end: only blank lines, or a loss.
    const all = from + limit >= end || lines.length === 0
    return all ? { lines, next: Math.max(from, end), end, opened: 0 } : chunkOf(lines, end)
  }

  /**
   * The end in the row is that of the last line. If the row was set back, or the lines are those of another session, lines continue after it:
   * a reader that was sent back to that end would read them again and again.
   */
  async #endOf(segment: number, from: number, rows: readonly Row[]): Promise<number> {
    const last = rows.at(-1) as Row
    const [tail, reached] = [
      last.tail as number,
      last.position === null ? from : (last.position as number) + (last.line as Buffer).length + 1,
    ]
    if (reached <= tail) return tail
    const [row] = await this.#ask('stop', [segment])
    return Math.max(tail, (row?.stop ?? 0) as number)
  }

  /** Folds one segment alone: a line that it carries belongs to it as well, since the segment that it came from may be purged. */
  async #index(first: number, successor: number): Promise<void> {
    const fold = new JournalFold(first, successor)
    const keys = new Map<KeyHash, KeyEntry>()
    for (let from = first; ; ) {
      const chunk = await this.#read(first, from, LIMITS.readBytes)
      if (chunk === undefined || chunk.next === from) break
      for (const line of chunk.lines) {
        const verdict = fold.judge(line)
        if (verdict.kind === 'counted') for (const entry of this.#parts.keysOf(verdict)) keys.set(entry.key, entry)
      }
      from = chunk.next
    }
    await this.#putKeys(first, keys)
  }

  async #putKeys(segment: number, keys: ReadonlyMap<KeyHash, KeyEntry>): Promise<void> {
    const entries = [...keys.values()]
    await this.#do('index', [
      segment,
      entries.map(({ key }) => key),
      entries.map(({ at }) => at),
      entries.map(({ index }) => index),
      entries.map(({ length }) => length),
      entries.map(({ crc }) => crc),
      entries.map(({ digest }) => digest),
    ])
  }
}

/** There is a line at least, and there may be more. */
function chunkOf(lines: readonly Line[], end: number): Chunk {
  const last = lines.at(-1) as Line
  return { lines, next: last.at + last.bytes.length + 1, end, opened: 0 }
}

/**
 * Represents a line that is missing, as zeros, which is how a hole in a file reads: so every reader reports it as damage. It has the
 * place and the length that the line had, between two lead-ins, if it was only one.
 */
function holeBetween(end: number, next: number): Line {
  const at = end + LEAD_IN.length
  return { at, bytes: Buffer.alloc(next - LEAD_IN.length - 1 - at) }
}

function entryOf({ key, position, place, length, crc, digest }: Row): KeyEntry {
  return {
    ...{ key: hexOf(key), at: position as number, length: length as number },
    ...{ crc: crc as string, index: place as number, digest: hexOf(digest) },
  }
}

/** A hash, as PostgreSQL writes a uuid. */
export function hexOf(uuid: unknown): string {
  return (uuid as string).replaceAll('-', '')
}
