/**
 * How a store reaches its catalog: in a thread of its own where the store lies in a directory that others may open too, else in this one.
 * Nothing is loaded or opened before the first question: a process that only appends has no catalog.
 */
import type { DataKeys } from '../encryption/data-keys.ts'
import { CatalogUnavailable } from '../engine/catalog.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Engine } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import type { Verified } from './indexer.ts'
import type { KnownDue } from './known-due.ts'
import type { CatalogRequests } from './requests.ts'
import type { ThreadFiles } from './threaded.ts'

export interface CatalogAccessOptions {
  readonly engine: Engine
  /** Of an encrypted store. */
  readonly dataKeys?: DataKeys | undefined
  readonly clock: Clock
  readonly ids: Ids
  /** Files that the thread may hold open, and those that read for it. Undefined if the store may not be opened a second time, by a thread. */
  readonly threads: ThreadFiles | undefined
  /** Nothing of it may reach a disk. */
  readonly inMemory?: boolean
}

interface Asked {
  ask(method: keyof CatalogRequests, query?: unknown): Promise<unknown>
  close(): Promise<void>
}

export class CatalogAccess {
  readonly #options: CatalogAccessOptions
  #asked: Promise<Asked> | undefined
  #closed = false

  constructor(options: CatalogAccessOptions) {
    this.#options = options
  }

  async ask<M extends Exclude<keyof CatalogRequests, 'close'>>(
    method: M,
    ...[query]: Parameters<CatalogRequests[M]>
  ): Promise<Awaited<ReturnType<CatalogRequests[M]>>> {
    if (this.#closed) throw new HoldfastError('CLOSED', 'The store is closed. Open it again.')
    this.#asked ??= this.#load().catch((error: unknown) => {
      // The system may have had no file for it to give: the next question tries again.
      this.#asked = undefined
      throw error
    })
    return (await (await this.#asked).ask(method, query)) as Awaited<ReturnType<CatalogRequests[M]>>
  }

  /**
   * Sessions that have something due, as far as the catalog knows without catching up. A process that has asked it nothing yet reads that off the file: it
   * is one look-up, and to start a thread for it would take ten times as long.
   */
  async knownDue(): Promise<KnownDue> {
    const { engine, threads } = this.#options
    if (this.#asked !== undefined || engine.directory === undefined || threads === undefined) return this.ask('due', { caughtUp: false })
    await engine.checkDirectory?.()
    const { knownDueIn } = await import('./known-due.ts')
    return knownDueIn(engine.directory)
  }

  /** Leaves nothing of what was erased or purged in the catalog, if there is one. UNAVAILABLE if others use it all the time: try again. */
  async scrub(after: 'erasure' | 'purge'): Promise<void> {
    // Nobody has asked this process anything, and others have made none.
    if (this.#asked === undefined && !(await this.#isThere())) return
    try {
      await this.ask('scrub', { after })
    } catch (error) {
      // Where there can be no catalog, nothing is in it.
      if (!(error instanceof CatalogUnavailable)) throw error
      if (error.reason === 'busy')
        throw new HoldfastError('UNAVAILABLE', `The catalog is busy. ${error.message} Try again.`, { outcome: 'unknown' })
    }
  }

  /** Tells the catalog, if there is one, what somebody has found who read all of some sessions. Where it cannot be used, nothing is told. */
  async notice(verified: Verified): Promise<void> {
    if (this.#asked === undefined && !(await this.#isThere())) return
    try {
      await this.ask('notice', verified)
    } catch (error) {
      if (!(error instanceof CatalogUnavailable)) throw error
    }
  }

  async #isThere(): Promise<boolean> {
    const { engine } = this.#options
    const { directory, catalog } = engine
    // An engine that keeps the catalog itself always has one.
    if (catalog !== undefined) return true
    if (directory === undefined) return false
    await engine.checkDirectory?.()
    const { currentFile } = await import('./sqlite/file.ts')
    return (await currentFile(directory)) !== undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    const asked = await this.#asked?.catch(() => undefined)
    await asked?.close()
  }

  async #load(): Promise<Asked> {
    const { engine, threads } = this.#options
    // Sources that were not compiled cannot be run by a thread.
    const isCompiled = /\.c?js$/.test(import.meta.url)
    if (engine.directory !== undefined && threads !== undefined && isCompiled) {
      const { askCatalog } = await import('./threaded.ts')
      return askCatalog(engine.directory, engine.storeId, threads)
    }
    const { CatalogService } = await import('./service.ts')
    const service = new CatalogService(this.#options)
    return {
      ask: (method, query) => (service[method] as (query: unknown) => Promise<unknown>)(query),
      close: () => service.close(),
    }
  }
}
