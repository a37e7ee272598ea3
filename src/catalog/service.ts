/**
 * The catalog of one store, as its callers use it: caught up before it answers. A search does not wait for that longer than a second. It runs in
 * the thread of its caller or in one of its own (threaded.ts).
 */
import {
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
import { HoldfastError } from '../errors.ts'
import { BackgroundIndexing } from './background.ts'
import { CatalogChecks, type CheckOptions } from './checks.ts'
import { type CatalogOptions, CurrentCatalog, isCatalogs, type Use } from './current-catalog.ts'
import { breath, type Indexer, type Verified } from './indexer.ts'
import { type KnownDue, knownDue } from './known-due.ts'
import { Rebuild } from './rebuild.ts'
import type { CatalogRequests, CatalogStatus, ExtractionQuery } from './requests.ts'
import { SqliteCatalog } from './sqlite/catalog.ts'
import { currentFile } from './sqlite/file.ts'

/** How often a list checks whether a journal still reaches as far as it did. */
const COMPARE_MS = 5000
/** How long a search waits for changes that were acknowledged before it. */
const SEARCH_WAIT_MS = 1000

export class CatalogService implements CatalogRequests {
  readonly #options: CatalogOptions
  readonly #closing = new AbortController()
  readonly #current: CurrentCatalog
  readonly #background: BackgroundIndexing
  readonly #checks: CatalogChecks
  #rebuilding: { readonly rebuild: Rebuild; readonly done: Promise<number> } | undefined

  constructor(options: CatalogOptions & CheckOptions) {
    this.#options = options
    this.#current = new CurrentCatalog(options, this.#closing.signal)
    this.#background = new BackgroundIndexing(options, this.#current, this.#closing.signal)
    this.#checks = new CatalogChecks(options, this.#current, this.#background, this.#closing.signal)
  }

  list({ count, ...query }: ListQuery & { readonly count: boolean }): Promise<{ rows: ListedRow[]; total: number | null }> {
    return this.#caughtUp(query.space, async (indexer) => {
      const { catalog } = indexer
      const rows = await catalog.list(query)
      const names = rows.map(({ name }) => name)
      // Vanished bytes are never announced.
      const changed = await indexer.lookAtChanged(names, { withinMs: COMPARE_MS })
      return { rows: changed ? await catalog.list(query) : rows, total: count ? await catalog.count(query) : null }
    })
  }

  damaged(query: Omit<ListQuery, 'status'>): Promise<ListedRow[]> {
    const use = { space: query.space, caughtUp: false }
    return this.#use(use, ({ catalog }) => catalog.list({ ...query, status: 'damaged' }))
  }

  search(query: SearchQuery): Promise<{ found: FoundDocument[]; lag: Lag | null }> {
    const until = this.#options.clock.monotonicMs() + SEARCH_WAIT_MS
    const work = async (indexer: Indexer): Promise<{ found: FoundDocument[]; lag: Lag | null }> => {
      if (!(await this.#isCaughtUp(indexer, until))) return this.#searchIncomplete(indexer, query)
      const lag = await this.#putTextUntil(until, indexer, query.space)
      return { found: await indexer.catalog.search(query), lag }
    }
    const use = { space: query.space, caughtUp: false }
    return this.#use(use, work).catch((error: unknown) => {
      if (!(error instanceof CatalogUnavailable) || error.reason !== 'busy') throw error
      return this.#use(use, (indexer) => this.#searchIncomplete(indexer, query))
    })
  }

  tasks(query: TaskQuery): Promise<TaskRow[]> {
    return this.#caughtUp(query.space, ({ catalog }) => catalog.tasks(query))
  }

  due({ caughtUp }: { readonly caughtUp: boolean }): Promise<KnownDue> {
    return this.#use({ space: undefined, caughtUp }, ({ catalog }) => knownDue(catalog))
  }

  extractions({ space, owner, keys, caughtUp }: ExtractionQuery): Promise<ExtractionRow[]> {
    return this.#use({ space, caughtUp }, ({ catalog }) => catalog.extractions(space, owner, keys))
  }

  stats({ space }: { space: string }): Promise<{ stats: StatsRow; lag: Lag | null }> {
    return this.#caughtUp(space, async (indexer) => {
      const lag = await this.#putTextUntil(this.#options.clock.monotonicMs() + SEARCH_WAIT_MS, indexer, space)
      return { stats: await indexer.catalog.stats(space), lag }
    })
  }

  async status(): Promise<CatalogStatus> {
    const reason = this.#current.failure ?? this.#current.elsewhereReason ?? null
    if (this.#rebuilding !== undefined) {
      const { sessions, of } = this.#rebuilding.rebuild
      return { state: 'sweeping', sessions, of, reason }
    }
    try {
      const { catalog, sweeping } = await this.#current.indexer()
      if (sweeping !== undefined) return { state: 'sweeping', sessions: sweeping.looked, of: sweeping.of, reason }
      const lag = await catalog.lag()
      return { state: lag === null ? 'ready' : 'indexing', sessions: lag?.sessions ?? 0, of: null, reason }
    } catch (error) {
      if (!isCatalogs(error)) throw error
      return { state: 'unavailable', sessions: 0, of: null, reason: error.message }
    }
  }

  async keep(): Promise<void> {
    this.#background.keepUp()
  }

  notice(verified: Verified): Promise<void> {
    return this.#caughtUp(undefined, (indexer) => indexer.lookAgain(verified))
  }

  async scrub({ after }: { readonly after: 'erasure' | 'purge' }): Promise<void> {
    const { engine } = this.#options
    const { directory } = engine
    await engine.checkDirectory?.()
    const exists = this.#current.isOpen || (directory !== undefined && (await currentFile(directory)) !== undefined)
    if (!exists) return
    await this.#caughtUp(undefined, async (indexer) => {
      if (after === 'purge') return scrubRemains(indexer)
      await this.#putText(indexer)
      await indexer.catalog.scrub()
    })
  }

  async rebuild(): Promise<number> {
    try {
      const { engine } = this.#options
      const { directory, catalog } = engine
      await engine.checkDirectory?.()
      return await (directory === undefined || catalog !== undefined ? this.#rebuildInPlace() : this.#rebuildBeside(directory))
    } catch (error) {
      if (!isCatalogs(error)) throw error
      throw new HoldfastError('UNAVAILABLE', `The catalog could not be rebuilt: ${error.message}`, { cause: error })
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([this.#background.stopped(), this.#checks.stopped(), this.#rebuilding?.done.catch(() => undefined)])
    await this.#current.close()
  }

  /** Works with a catalog that has everything that was acknowledged before. */
  #caughtUp<T>(space: string | undefined, work: (indexer: Indexer) => Promise<T>): Promise<T> {
    return this.#use({ space, caughtUp: true }, work)
  }

  async #use<T>(use: Use, work: (indexer: Indexer) => Promise<T>): Promise<T> {
    const result = await this.#current.use(use, work)
    this.#checks.start()
    return result
  }

  /** Waits for a while until the rows are caught up. If that takes longer, it continues in the background, and the text follows. */
  async #isCaughtUp(indexer: Indexer, until: number): Promise<boolean> {
    const { clock } = this.#options
    const enough = new AbortController()
    const caughtUp = indexer.catchUp().then(() => true)
    const isCaughtUp = await Promise.race([
      caughtUp,
      clock.sleep(Math.max(0, until - clock.monotonicMs()), enough.signal).then(() => false),
    ]).finally(() => enough.abort())
    if (isCaughtUp) return true
    // The next caller gets the error, or has the catalog replaced.
    caughtUp.catch(() => undefined)
    this.#background.drain()
    return false
  }

  /** Returns what the catalog has so far, and reports the lag: other processes keep writing, or catching up would take too long. */
  async #searchIncomplete({ catalog, sweeping }: Indexer, query: SearchQuery): Promise<{ found: FoundDocument[]; lag: Lag }> {
    const ahead =
      sweeping === undefined
        ? (await this.#options.engine.changes((await catalog.cursor()) ?? undefined)).names.length
        : sweeping.of - sweeping.looked
    const { sessions = 0, bytes = 0 } = (await catalog.lag(query.space)) ?? {}
    return { found: await catalog.search(query), lag: { sessions: Math.max(1, sessions + ahead), bytes } }
  }

  /** Puts text for a while. Returns the lag that is left, and continues in the background. */
  async #putTextUntil(until: number, indexer: Indexer, space: string): Promise<Lag | null> {
    while (this.#options.clock.monotonicMs() < until && (await indexer.index()));
    const lag = await indexer.catalog.lag(space)
    if (lag !== null) this.#background.drain()
    return lag
  }

  async #putText(indexer: Indexer): Promise<void> {
    while (!this.#closing.signal.aborted && (await indexer.index())) await breath()
  }

  /** Calls that come during a rebuild share it. */
  #rebuildBeside(directory: string): Promise<number> {
    if (this.#rebuilding !== undefined) return this.#rebuilding.done
    const rebuild = new Rebuild({ ...this.#options, directory, spaces: this.#current.spaces, signal: this.#closing.signal })
    const done = this.#publish(rebuild).finally(() => {
      this.#rebuilding = undefined
    })
    this.#rebuilding = { rebuild, done }
    return done
  }

  async #publish(rebuild: Rebuild): Promise<number> {
    const sessions = await rebuild.run()
    await this.#caughtUp(undefined, async (indexer) => {
      await this.#putText(indexer)
      // An erasure between the last look of the rebuild and its publication was scrubbed out of the former catalog only.
      await scrubRemains(indexer)
    })
    return sessions
  }

  async #rebuildInPlace(): Promise<number> {
    await this.#current.replace()
    const sessions = await this.#caughtUp(undefined, async (indexer) => {
      await this.#putText(indexer)
      const names = await indexer.catalog.names()
      // A sweep reads the ends of journals. This finds damage before them too, as a rebuild in a file does.
      await indexer.lookAgain({ damaged: names, whole: [] })
      return names.length
    })
    const { elsewhereReason } = this.#current
    if (elsewhereReason === undefined) return sessions
    throw new CatalogUnavailable('unwritable', elsewhereReason)
  }
}

async function scrubRemains({ catalog }: Indexer): Promise<void> {
  if (catalog instanceof SqliteCatalog && catalog.hasRemains()) await catalog.scrub()
}
