/**
 * The PostgreSQL engine: a store in a database, for any number of machines. The same lines stand at the same positions as on every engine.
 * migrations.ts describes the tables, appends.ts how they are written to, feed.ts how others notice; docs/postgres.md how to run it.
 */

import { Calls } from '../../engine/calls.ts'
import type { Catalog } from '../../engine/catalog.ts'
import { type Clock, systemClock } from '../../engine/clock.ts'
import { bareName, isJournalName, journalName, spaceName } from '../../engine/names.ts'
import type { Changes, Engine, Journal, JournalPosition } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import type { KeysOf } from '../../record/key-hash.ts'
import type { Line } from '../../record/line.ts'
import { Appends, keyOf } from './appends.ts'
import { Database, type Row, type Statement } from './database.ts'
import { failureOf } from './failures.ts'
import { Feed } from './feed.ts'
import { hexOf, type JournalParts, PostgresJournal } from './journal.ts'
import { LatestTime } from './latest-time.ts'
import { migrate, requireMigrated } from './migrate.ts'
import type { PostgresPlace } from './place.ts'
import { statementsOf } from './statements.ts'

export interface PostgresEngineOptions extends PostgresPlace {
  /** Which keys a record holds, for the table of keys. */
  readonly keysOf: KeysOf
  /** Which session a line belongs to, if the line holds that. Finds the name of a session whose row was deleted. */
  readonly identityOf?: IdentityOf
  /** False: the tables are left as they are. A store whose tables are missing or old is refused then. */
  readonly migrate?: boolean
  readonly clock?: Clock
}

export type IdentityOf = (line: Uint8Array) => { readonly space: string; readonly id: string } | undefined

const NAMES_PAGE = 1000
/** Sessions that one statement looks at for a lost row. It returns few of them. */
const LOOKED_AT = 10_000
const NOBODY = '00000000-0000-0000-0000-000000000000'

/** Opens the store, and makes its tables if need be. TypeError for an address that is none; UNAVAILABLE, UNSUPPORTED_VERSION, FAILED_PRECONDITION. */
export async function openPostgresEngine({
  keysOf,
  identityOf = () => undefined,
  migrate: mayMigrate = true,
  clock = systemClock,
  ...place
}: PostgresEngineOptions): Promise<Engine> {
  const database = new Database(place, clock)
  try {
    if (mayMigrate) await migrate(database)
    else await requireMigrated(database)
    const statements = statementsOf(database.schema)
    const [store] = (await database.run(statements.store)) as [StoreRow]
    if (store.id === null) throw new HoldfastError('DAMAGED', 'The table `store` of this store is empty. Restore it from a backup.')
    const feed = new Feed({ database, clock, storeId: store.id, told: store.told, version: store.version })
    const appends = new Appends(database, statements, clock)
    const parts = { database, statements, appends, feed, keysOf, calls: new Calls() }
    return new PostgresEngine(warningsOf(store), parts, { clock, identityOf })
  } catch (error) {
    await database.close().catch(() => undefined)
    throw error instanceof TypeError ? error : failureOf(error, 'The store could not be opened', 'write')
  }
}

interface StoreRow extends Row {
  readonly id: string | null
  readonly fsync: string
  readonly recovering: boolean
  readonly told: boolean
  readonly version: number
}

function warningsOf({ fsync, recovering }: StoreRow): string[] {
  const warnings: string[] = []
  if (fsync === 'off') warnings.push('The database does not sync to the disk (fsync = off): a power loss may cost what was acknowledged.')
  if (recovering) warnings.push('The database is a replica: it can be read, a little late, and not be written.')
  return warnings
}

class PostgresEngine implements Engine {
  readonly supports = { durable: true, shared: true }
  readonly warnings: readonly string[]
  readonly #parts: JournalParts
  readonly #clock: Clock
  readonly #identityOf: IdentityOf
  readonly #latest: LatestTime

  constructor(warnings: readonly string[], parts: JournalParts, { clock, identityOf }: { clock: Clock; identityOf: IdentityOf }) {
    this.warnings = warnings
    this.#clock = clock
    this.#identityOf = identityOf
    this.#parts = parts
    this.#latest = new LatestTime(parts.database, parts.statements.latest, clock)
  }

  name(space: string, id: string): string {
    return journalName(space, id)
  }

  journal(name: string): Journal {
    if (!isJournalName(name)) throw new TypeError(`"${name}" is not the name of a journal. Names come from name() and names().`)
    return new PostgresJournal(name, this.#parts)
  }

  /** Page by page, in the order of keys that never change: one that was there at the call is met. Sessions that lost their row come last. */
  async *names(space?: string): AsyncGenerator<string> {
    const { statements } = this.#parts
    const [rows, rowless] =
      space === undefined ? [statements.names, statements.rowless] : [statements.namesOfSpace, statements.rowlessOfSpace]
    const start: Row = { space: space === undefined ? NOBODY : spaceName(space), session: NOBODY }
    for (let after: Row | undefined = start; after !== undefined; ) {
      const page = await this.#page(rows, after, NAMES_PAGE)
      for (const { name } of page) yield name as string
      after = page.length < NAMES_PAGE ? undefined : page.at(-1)
    }
    for (let after: Row | undefined = start; after !== undefined; ) {
      const page = await this.#page(rowless, after, LOOKED_AT)
      for (const lines of bySession(page.filter(({ line }) => line !== null))) yield this.#nameOf(lines)
      after = page.find(({ line }) => line === null)
    }
  }

  #page(statement: Statement, after: Row, limit: number): Promise<Row[]> {
    const { calls, database } = this.#parts
    return calls.track(() => database.repeat(statement, [after.space, after.session, limit], 'The store could not be read'))
  }

  /** The name of a session by its first lines; of an encrypted one, by the catalog. If neither has it, it lacks the part that is for people. */
  #nameOf(lines: readonly Row[]): string {
    const [space, session] = [hexOf(lines[0]?.space), hexOf(lines[0]?.session)]
    const known = lines.map(({ line }) => this.#identityOf(line as Buffer)).find((one) => one !== undefined)
    const name = known === undefined ? (lines[0]?.name as string | null) : journalName(known.space, known.id)
    return name?.endsWith(session) === true ? name : bareName(space, session)
  }

  changes(cursor?: string): Promise<Changes> {
    return this.#parts.calls.track(() => this.#parts.feed.changes(cursor))
  }

  latest(): number | Promise<number> {
    this.#parts.calls.refuseClosed()
    const latest = this.#latest.get()
    return typeof latest === 'number' ? latest : this.#parts.calls.track(() => latest)
  }

  watch(hint: () => void): () => void {
    this.#parts.calls.refuseClosed()
    return this.#parts.feed.watch(hint)
  }

  async catalog({ empty }: { readonly empty: boolean }): Promise<Catalog> {
    this.#parts.calls.refuseClosed()
    // Loaded when it is wanted: a process that only appends has no catalog.
    const { PostgresCatalog } = await import('./catalog/catalog.ts')
    const catalog = new PostgresCatalog(this.#parts.database, this.#clock)
    if (empty) await catalog.clear()
    return catalog
  }

  lines(places: readonly JournalPosition[]): Promise<(Line | undefined)[]> {
    const { calls, database, statements } = this.#parts
    return calls.track(async () => {
      const keys = places.map(({ name }) => keyOf(name))
      const values = [keys.map(({ space }) => space), keys.map(({ session }) => session), places.map(({ position }) => position)]
      const rows = await database.repeat(statements.lines, values, 'The journals could not be read')
      const found = new Map(rows.map(({ n, line }) => [n as number, line as Buffer]))
      return places.map(({ position }, i) => {
        const bytes = found.get(i + 1)
        return bytes === undefined ? undefined : { at: position, bytes }
      })
    })
  }

  async close(): Promise<void> {
    await this.#parts.calls.close()
    await this.#parts.feed.close()
    await this.#parts.database.close()
  }
}

function bySession(rows: readonly Row[]): Iterable<readonly Row[]> {
  const groups = new Map<unknown, Row[]>()
  for (const row of rows) groups.set(row.session, [...(groups.get(row.session) ?? []), row])
  return groups.values()
}
