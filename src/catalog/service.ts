/**
 * The catalog of one store, at the service of its callers: opened when it is first needed, caught up before it answers, made anew when it
 * is missing or broken. A search does not wait for that longer than a second. Where it cannot lie beside the store, which may be full or only
 * readable, it lies in a temporary file of its own.
 * It runs in the thread of its caller or in one of its own (threaded.ts).
 */
import {
  CatalogBroken,
  CatalogUnavailable,
  type ExtractionRow,
  type FoundDocument,
  type Lag,
  type ListedRow,
  type ListQuery,
  type SearchQuery,
  type StatsRow,
  type TaskQuery,
  type TaskRow,
} from '../engine/catalog.ts'
import { ChangeWaiter } from '../engine/change-waiter.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import { STORE_SPACE } from '../engine/names.ts'
import { HoldfastError } from '../errors.ts'
import type { ExaminerOptions } from './examiner.ts'
import { breath, Indexer, type Spawned, type Verified } from './indexer.ts'
import { type KnownDue, knownDue } from './known-due.ts'
import { Rebuild } from './rebuild.ts'
import type { CatalogRequests, CatalogStatus, ExtractionQuery } from './requests.ts'
import { SqliteCatalog } from './sqlite/catalog.ts'
import { currentFile, newFile } from './sqlite/file.ts'

/** How often a list looks whether a journal still reaches as far as it did. */
const COMPARE_MS = 5000
/** How long a search waits for what was acknowledged before it. */
const SEARCH_WAIT_MS = 1000
/**
 * Between two looks of a process that keeps the catalog up to date: changes that come together are put together. Four times as long as the look
 * took, and so between two rounds of text, so that those who append have most of the machine; whoever lists or searches meanwhile catches up at once.
 */
const REST_MS = { least: 200, most: 5000, perWork: 4 }
/** After this long, it is tried again whether the catalog can lie where it belongs. */
const ELSEWHERE_MS = 30_000

interface CatalogOptions extends ExaminerOptions {
  readonly clock: Clock
  readonly ids: Ids
  /** Starts a reader in another thread. */
  readonly spawn?: () => Spawned
  /** Nothing of it may reach a disk: the store is encrypted. */
  readonly inMemory?: boolean
}

interface Opened {
  readonly indexer: Indexer
  readonly path: string
}

export class CatalogService implements CatalogRequests {
  readonly #options: CatalogOptions
  readonly #spaces = new Set<string>()
  readonly #closing = new AbortController()
  #opening: Promise<Opened> | undefined
  #opened: Opened | undefined
  /** The catalog lies elsewhere, since when and why. */
  #elsewhere: { readonly sinceMs: number; readonly reason: string } | undefined
  #draining: Promise<void> | undefined
  #keeping: Promise<void> | undefined
  #failure: string | null = null
  #rebuilding: { readonly rebuild: Rebuild; readonly done: Promise<number> } | undefined

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  list({ count, ...query }: ListQuery & { readonly count: boolean }): Promise<{ rows: ListedRow[]; total: number | null }> {
    return this.#caughtUp(query.space, async (indexer) => {
      const { catalog } = indexer
      let rows = await catalog.list(query)
      // Bytes that vanished were never announced.
      if (
        await indexer.lookAtChanged(
          rows.map(({ name }) => name),
          { withinMs: COMPARE_MS },
        )
      )
        rows = await catalog.list(query)
      return { rows, total: count ? await catalog.count(query) : null }
    })
  }

  async damaged(query: Omit<ListQuery, 'status'>): Promise<ListedRow[]> {
    return (await this.#open()).indexer.catalog.list({ ...query, status: 'damaged' })
  }

  search(query: SearchQuery): Promise<{ found: FoundDocument[]; lag: Lag | null }> {
    const { clock } = this.#options
    const until = clock.monotonicMs() + SEARCH_WAIT_MS
    const work = async (indexer: Indexer): Promise<{ found: FoundDocument[]; lag: Lag | null }> => {
      if (!(await this.#isCaughtUp(indexer, until))) return this.#searchAsItIs(indexer, query)
      const lag = await this.#textOf(indexer, query.space, until)
      return { found: await indexer.catalog.search(query), lag }
    }
    return this.#with(query.space, work, false).catch(async (error: unknown) => {
      if (error instanceof CatalogUnavailable && error.reason === 'busy') return this.#searchAsItIs((await this.#open()).indexer, query)
      throw error
    })
  }

  tasks(query: TaskQuery): Promise<TaskRow[]> {
    return this.#caughtUp(query.space, ({ catalog }) => catalog.tasks(query))
  }

  due({ caughtUp }: { readonly caughtUp: boolean }): Promise<KnownDue> {
    return this.#with(undefined, ({ catalog }) => knownDue(catalog), caughtUp)
  }

  extractions({ space, owner, keys, caughtUp }: ExtractionQuery): Promise<ExtractionRow[]> {
    return this.#with(space, ({ catalog }) => catalog.extractions(space, owner, keys), caughtUp)
  }

  stats({ space }: { space: string }): Promise<{ stats: StatsRow; lag: Lag | null }> {
    return this.#caughtUp(space, async (indexer) => {
      const lag = await this.#textOf(indexer, space, this.#options.clock.monotonicMs() + SEARCH_WAIT_MS)
      return { stats: await indexer.catalog.stats(space), lag }
    })
  }

  async status(): Promise<CatalogStatus> {
    const reason = this.#failure ?? this.#elsewhere?.reason ?? null
    if (this.#rebuilding !== undefined) {
      const { sessions, of } = this.#rebuilding.rebuild
      return { state: 'sweeping', sessions, of, reason }
    }
    try {
      const { indexer } = await this.#open()
      if (indexer.sweeping !== undefined) return { state: 'sweeping', sessions: indexer.sweeping.looked, of: indexer.sweeping.of, reason }
      const lag = await indexer.catalog.lag()
      return { state: lag === null ? 'ready' : 'indexing', sessions: lag?.sessions ?? 0, of: null, reason }
    } catch (error) {
      if (!isCatalogs(error)) throw error
      return { state: 'unavailable', sessions: 0, of: null, reason: error.message }
    }
  }

  async keep(): Promise<void> {
    this.#keeping ??= this.#keepUp().catch((error: unknown) => {
      this.#failure = error instanceof Error ? error.message : String(error)
    })
  }

  async rebuild(): Promise<number> {
    try {
      const { directory, catalog } = this.#options.engine
      return await (directory === undefined || catalog !== undefined ? this.#rebuildInPlace() : this.#rebuildBeside(directory))
    } catch (error) {
      if (!isCatalogs(error)) throw error
      throw new HoldfastError('UNAVAILABLE', `The catalog could not be made anew: ${error.message}`, { cause: error })
    }
  }

  /** Calls that come while one is at it share it. */
  #rebuildBeside(directory: string): Promise<number> {
    if (this.#rebuilding !== undefined) return this.#rebuilding.done
    const rebuild = new Rebuild({ ...this.#options, directory, spaces: this.#spaces, signal: this.#closing.signal })
    const done = rebuild
      .run()
      .then(async (sessions) => {
        await this.#caughtUp(undefined, async (indexer) => {
          await this.#putText(indexer)
          // What was erased after its last look, and before this catalog was the one in use, nobody has scrubbed out of it.
          await scrubRemains(indexer)
        })
        return sessions
      })
      .finally(() => {
        this.#rebuilding = undefined
      })
    this.#rebuilding = { rebuild, done }
    return done
  }

  async #putText(indexer: Indexer): Promise<void> {
    while (!this.#closing.signal.aborted && (await indexer.index())) await breath()
  }

  async #rebuildInPlace(): Promise<number> {
    await this.#renew(undefined)
    const sessions = await this.#caughtUp(undefined, async (indexer) => {
      await this.#putText(indexer)
      const names = await indexer.catalog.names()
      // A sweep reads the ends of journals. Damage before them is found, too, where a catalog is made in a file.
      await indexer.lookAgain({ damaged: names, whole: [] })
      return names.length
    })
    if (this.#elsewhere === undefined) return sessions
    throw new CatalogUnavailable('unwritable', this.#elsewhere.reason)
  }

  notice(verified: Verified): Promise<void> {
    return this.#caughtUp(undefined, (indexer) => indexer.lookAgain(verified))
  }

  async scrub({ after }: { readonly after: 'erasure' | 'purge' }): Promise<void> {
    const { directory } = this.#options.engine
    const isThere = this.#opened !== undefined || (directory !== undefined && (await currentFile(directory)) !== undefined)
    if (!isThere) return
    await this.#caughtUp(undefined, async (indexer) => {
      if (after === 'purge') return scrubRemains(indexer)
      await this.#putText(indexer)
      await indexer.catalog.scrub()
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([this.#keeping, this.#draining, this.#rebuilding?.done.catch(() => undefined)])
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    this.#opened ??= opened
    await this.#shut()
  }

  /** Does something with a catalog that has everything that was acknowledged before. One that proves broken is made anew, once. */
  #caughtUp<T>(space: string | undefined, work: (indexer: Indexer) => Promise<T>): Promise<T> {
    return this.#with(space, work, true)
  }

  async #with<T>(space: string | undefined, work: (indexer: Indexer) => Promise<T>, caughtUp: boolean): Promise<T> {
    if (space === STORE_SPACE) throw new CatalogUnavailable('absent', 'The store’s own space is not in the catalog.')
    if (space !== undefined) this.#spaces.add(space)
    for (let tries = 0; ; tries++) {
      if (this.#closing.signal.aborted) throw new HoldfastError('CLOSED', 'The store is closed. Open it again.')
      let opened: Opened | undefined
      try {
        opened = await this.#open()
        if (caughtUp) await opened.indexer.catchUp()
        const result = await work(opened.indexer)
        this.#failure = null
        return result
      } catch (error) {
        if (!isCatalogs(error)) throw error
        this.#failure = error.message
        if (tries >= 3) throw unavailable(error)
        // Another call has opened it anew meanwhile.
        if (opened !== undefined && opened !== this.#opened) continue
        if (error instanceof CatalogBroken) await this.#renew(opened?.path)
        else if (error.reason !== 'unwritable' || this.#elsewhere !== undefined) throw error
        else await this.#moveElsewhere(error.message)
      }
    }
  }

  /** Waits for a while until the rows are caught up; if that takes longer, it goes on in the background, with the text behind it. */
  async #isCaughtUp(indexer: Indexer, until: number): Promise<boolean> {
    const { clock } = this.#options
    const enough = new AbortController()
    const caughtUp = indexer.catchUp().then(() => true)
    const isCaughtUp = await Promise.race([
      caughtUp,
      clock.sleep(Math.max(0, until - clock.monotonicMs()), enough.signal).then(() => false),
    ]).finally(() => enough.abort())
    if (isCaughtUp) return true
    // Whoever asks next is told, or has it made anew.
    caughtUp.catch(() => undefined)
    this.#drain()
    return false
  }

  /** What is there can be read, and what is missing be told: other processes put all the time, or it takes long to catch up. */
  async #searchAsItIs({ catalog, sweeping }: Indexer, query: SearchQuery): Promise<{ found: FoundDocument[]; lag: Lag }> {
    const ahead =
      sweeping === undefined
        ? (await this.#options.engine.changes((await catalog.cursor()) ?? undefined)).names.length
        : sweeping.of - sweeping.looked
    const { sessions = 0, bytes = 0 } = (await catalog.lag(query.space)) ?? {}
    return { found: await catalog.search(query), lag: { sessions: Math.max(1, sessions + ahead), bytes } }
  }

  /** Puts text for a while; tells what is missing then, and goes on in the background. */
  async #textOf(indexer: Indexer, space: string, until: number): Promise<Lag | null> {
    const { clock } = this.#options
    while (clock.monotonicMs() < until && (await indexer.index()));
    const lag = await indexer.catalog.lag(space)
    if (lag !== null) this.#drain()
    return lag
  }

  #drain(): void {
    this.#draining ??= this.#putAll().finally(() => {
      this.#draining = undefined
    })
  }

  async #putAll(): Promise<void> {
    try {
      await (await this.#open()).indexer.catchUp()
      while (!this.#closing.signal.aborted && (await (await this.#open()).indexer.index())) await breath()
    } catch (error) {
      // Whoever asks next is told, or has it made anew.
      if (!isExpected(error)) throw error
      this.#failure = error.message
    }
  }

  async #keepUp(): Promise<void> {
    const { engine, clock } = this.#options
    const { signal } = this.#closing
    const waiter = new ChangeWaiter(engine, clock, signal)
    let isSwept = false
    try {
      while (!signal.aborted) {
        let startedMs = clock.monotonicMs()
        await this.#caughtUp(undefined, async (indexer) => {
          while (!signal.aborted && (await indexer.index())) {
            // The more sessions are behind, the longer is a round, and the smaller a part of it the rest: or it would fall behind for ever.
            if (indexer.isMidway) {
              await breath()
              continue
            }
            await clock.sleep(Math.min(REST_MS.most, REST_MS.perWork * (clock.monotonicMs() - startedMs)), signal)
            startedMs = clock.monotonicMs()
          }
          // Once, for what writers that died have not announced.
          if (!isSwept && !signal.aborted) await indexer.sweep()
          isSwept = true
        }).catch((error: unknown) => {
          if (!isExpected(error)) throw error
          this.#failure = error.message
        })
        const workMs = clock.monotonicMs() - startedMs
        await clock.sleep(Math.min(REST_MS.most, Math.max(REST_MS.least, REST_MS.perWork * workMs)), signal)
        await waiter.wait()
      }
    } finally {
      waiter.close()
    }
  }

  /** The catalog, opened; anew if somebody else has made it anew or removed it. */
  async #open(): Promise<Opened> {
    if (this.#elsewhere !== undefined && this.#options.clock.monotonicMs() - this.#elsewhere.sinceMs > ELSEWHERE_MS) await this.#shut()
    const { directory } = this.#options.engine
    const isHere = directory !== undefined && this.#elsewhere === undefined
    const opened = this.#opened
    // Another call may have noticed meanwhile.
    if (opened !== undefined && isHere && (await currentFile(directory)) !== opened.path && opened === this.#opened) await this.#shut()
    if (this.#opened !== undefined) return this.#opened
    this.#opening ??= this.#openAnew().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #openAnew(): Promise<Opened> {
    const { engine, dataKeys, clock, ids, spawn } = this.#options
    const { signal } = this.#closing
    if (engine.catalog !== undefined) {
      const catalog = await engine.catalog({ anew: false })
      this.#opened = { indexer: new Indexer({ engine, dataKeys, clock, catalog, spaces: this.#spaces, signal, spawn }), path: '' }
      return this.#opened
    }
    const { directory } = engine
    let path =
      directory === undefined || this.#elsewhere !== undefined
        ? this.#ownPath
        : ((await currentFile(directory)) ?? (await newFile(directory, ids)))
    let catalog: SqliteCatalog
    try {
      catalog = new SqliteCatalog(path)
    } catch (error) {
      if (!(error instanceof CatalogBroken) || directory === undefined || path === this.#ownPath) throw error
      path = await newFile(directory, ids)
      catalog = new SqliteCatalog(path)
    }
    this.#opened = { indexer: new Indexer({ engine, dataKeys, clock, catalog, spaces: this.#spaces, signal, spawn }), path }
    return this.#opened
  }

  /** Where a catalog lies that is nobody else's: in a file without a name, or nowhere but in memory. */
  get #ownPath(): string {
    return this.#options.inMemory === true ? ':memory:' : ''
  }

  /** Makes a new catalog in place of the one at `broken`, unless somebody has done so already; of any if it is not given. */
  async #renew(broken: string | undefined): Promise<void> {
    const { engine, ids } = this.#options
    await this.#shut()
    if (engine.catalog !== undefined) return (await engine.catalog({ anew: true })).close()
    const { directory } = engine
    if (directory === undefined || this.#elsewhere !== undefined) return
    if (broken === undefined || (await currentFile(directory)) === broken) await newFile(directory, ids)
  }

  async #moveElsewhere(reason: string): Promise<void> {
    await this.#shut()
    this.#elsewhere = { sinceMs: this.#options.clock.monotonicMs(), reason }
  }

  async #shut(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    this.#elsewhere = undefined
    await opened?.indexer.close()
    await opened?.indexer.catalog.close()
  }
}

async function scrubRemains({ catalog }: Indexer): Promise<void> {
  if (catalog instanceof SqliteCatalog && catalog.hasRemains()) await catalog.scrub()
}

function isCatalogs(error: unknown): error is CatalogBroken | CatalogUnavailable {
  return error instanceof CatalogBroken || error instanceof CatalogUnavailable
}

/** What work in the background may meet: the next caller meets it too, and is told. */
function isExpected(error: unknown): error is Error {
  return isCatalogs(error) || error instanceof HoldfastError
}

function unavailable(error: CatalogBroken | CatalogUnavailable): CatalogUnavailable {
  return error instanceof CatalogUnavailable ? error : new CatalogUnavailable('unwritable', error.message, { cause: error })
}
