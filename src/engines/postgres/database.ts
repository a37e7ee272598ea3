/**
 * The way to the database: a bounded pool of connections, one statement a call, and what to do when a connection is lost.
 *
 * Each statement is a transaction of its own, so that a pooler may give every one to another server process; nothing is set for a session.
 * Statements are prepared under names, which saves the server planning them each time, until a pooler shows that it cannot keep names apart.
 */
import pg from 'pg'
import type { Clock } from '../../engine/clock.ts'
import { failureOf, isForgottenStatement, isLost, isPassing, NotConnected } from './failures.ts'
import { type PostgresPlace, readPlace } from './place.ts'

export interface Statement {
  /** Prepared under this name; without one, planned each time. */
  readonly name?: string
  readonly text: string
  /** What to set for this statement alone, as `SET LOCAL` takes it: in a transaction around it, which a pooler keeps together. */
  readonly settings?: readonly string[]
}

/** Runs a statement in a transaction. */
export type Run = (statement: Statement, values: readonly unknown[]) => Promise<Row[]>

export type Row = Readonly<Record<string, unknown>>

/** How long something that can be repeated is repeated while the database cannot be reached: as long as a failover takes. */
const PATIENCE_MS = 20_000
const PAUSE_MS = { first: 20, most: 1000 }

const INT8 = 20
/** Positions are below 2^53; what the driver makes of them by itself is text. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export class Database {
  readonly schema: string
  readonly #pool: pg.Pool
  readonly #isOwn: boolean
  readonly #clock: Clock
  readonly #heard = new WeakSet<pg.PoolClient>()
  #areNamed = true

  constructor(place: PostgresPlace, clock: Clock) {
    const { schema, config } = readPlace(place)
    this.schema = schema
    this.#clock = clock
    this.#isOwn = config !== undefined
    this.#pool = config === undefined ? (place.pool as pg.Pool) : new pg.Pool(config)
    // A connection that breaks while nobody uses it is no news: the next one is made when it is needed.
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', (client) => this.#hear(client))
  }

  /** Connections that this process may have at most. */
  get connections(): number {
    return this.#pool.options.max
  }

  /** Runs a statement once. Throws what the driver throws, or NotConnected if nothing was sent. */
  async run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const client = await this.connect()
    try {
      const { settings } = statement
      if (settings !== undefined) await client.query(['BEGIN', ...settings.map((setting) => `SET LOCAL ${setting}`)].join('; '))
      const { rows } = await this.#query(client, statement, values)
      if (settings !== undefined) await client.query('COMMIT')
      client.release()
      return rows
    } catch (error) {
      // What still runs on a connection that was given up must not be waited for by the next one who gets it.
      client.release(isLost(error) || statement.settings !== undefined)
      throw error
    }
  }

  async #query(client: pg.PoolClient, { name, text }: Statement, values: readonly unknown[]): Promise<{ rows: Row[] }> {
    const query = { text, values: [...values], types: TYPES }
    if (!this.#areNamed || name === undefined) return client.query(query)
    try {
      return await client.query({ ...query, name: `holdfast_${this.schema}_${name}`.slice(0, 63) })
    } catch (error) {
      if (!isForgottenStatement(error)) throw error
      this.#areNamed = false
      return client.query(query)
    }
  }

  /** A connection to be released by whoever asked. Throws NotConnected. */
  async connect(): Promise<pg.PoolClient> {
    try {
      const client = await this.#pool.connect()
      // A pool that somebody brought may have connections from before.
      this.#hear(client)
      return client
    } catch (error) {
      throw new NotConnected('The database cannot be reached.', { cause: error })
    }
  }

  /**
   * A connection that breaks tells whoever waits for an answer; told to nobody, the same would end the process. So it is heard from the moment that it is
   * made: the server may greet it and end it in the same packet, before whoever asked for it has it.
   */
  #hear(client: pg.PoolClient): void {
    if (!this.#heard.has(client)) client.on('error', () => undefined)
    this.#heard.add(client)
  }

  /** Reads, or does what may be done twice: again while the connection gets lost. UNREADABLE, or UNAVAILABLE for what writes. */
  async repeat(statement: Statement, values: readonly unknown[], what: string, kind: 'read' | 'write' = 'read'): Promise<Row[]> {
    const retry = new Retry(this.#clock)
    for (;;) {
      try {
        return await this.run(statement, values)
      } catch (error) {
        if (!(isLost(error) || isPassing(error)) || !(await retry.pause())) throw failureOf(error, what, kind)
      }
    }
  }

  /** Several statements, all or nothing. */
  async transaction<T>(work: (client: pg.PoolClient, run: Run) => Promise<T>): Promise<T> {
    const client = await this.connect()
    try {
      await client.query('BEGIN')
      // Without names: a pooler that forgot one would fail all of the transaction.
      const result = await work(client, async ({ text }, values) => (await this.#query(client, { text }, values)).rows)
      await client.query('COMMIT')
      client.release()
      return result
    } catch (error) {
      // The server takes back what was begun when the connection ends.
      client.release(true)
      throw error
    }
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#pool.end()
  }
}

/** Pauses that grow, until patience ends. */
export class Retry {
  readonly #clock: Clock
  readonly #until: number
  #pauseMs = PAUSE_MS.first

  constructor(clock: Clock) {
    this.#clock = clock
    this.#until = clock.monotonicMs() + PATIENCE_MS
  }

  /** False if it was tried long enough. */
  async pause(): Promise<boolean> {
    if (this.#clock.monotonicMs() + this.#pauseMs > this.#until) return false
    await this.#clock.sleep(this.#pauseMs)
    this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS.most)
    return true
  }
}
