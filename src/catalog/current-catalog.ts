/**
 * The catalog that a store uses now: opened when it is first needed, replaced when it is missing or broken. If it cannot be next to the store, which
 * may be full or read-only, it is in a temporary file of its own for a while.
 */
import { CatalogBroken, CatalogUnavailable } from '../engine/catalog.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import { STORE_SPACE } from '../engine/names.ts'
import { HoldfastError } from '../errors.ts'
import type { ExaminerOptions } from './examiner.ts'
import { Indexer, type Spawned } from './indexer.ts'
import { SqliteCatalog } from './sqlite/catalog.ts'
import { checkFile } from './sqlite/check.ts'
import { CatalogFileRemoved } from './sqlite/database.ts'
import { changedBytes, currentFile, newFile, noteState } from './sqlite/file.ts'

/** After this long, the catalog is tried where it belongs again. */
const ELSEWHERE_MS = 30_000
/** How often one call replaces a catalog, or moves it, before it gives up. */
const REPAIRS = 3
/** How often a file is opened that other processes replace. */
const OPENS = 5
/** A larger file is trusted until the check in the background: a caller would have to wait for seconds. */
const CHECKED_AT_ONCE_BYTES = 16 * 1024 * 1024

export interface CatalogOptions extends ExaminerOptions {
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
  /** How often the directory had been succeeded by another one when this was opened (`Engine.checkDirectory`). */
  readonly succession: number | undefined
}

export interface Use {
  /** The space that the caller asks for; undefined for all. */
  readonly space: string | undefined
  /** Whether the catalog must have everything that was acknowledged before. */
  readonly caughtUp: boolean
}

export class CurrentCatalog {
  readonly #options: CatalogOptions
  readonly #signal: AbortSignal
  /** The spaces that callers have asked for. */
  readonly spaces = new Set<string>()
  #opening: Promise<Opened> | undefined
  #opened: Opened | undefined
  /** The catalog is in a temporary file: since when, and why. */
  #elsewhere: { readonly sinceMs: number; readonly reason: string } | undefined
  /** Why the last attempt failed; null if it did not. */
  failure: string | null = null

  /** `signal` aborts when the store is closed. */
  constructor(options: CatalogOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  get isOpen(): boolean {
    return this.#opened !== undefined
  }

  /** The file of the catalog; undefined if none is open, or if it has no name. */
  get path(): string | undefined {
    const path = this.#opened?.path
    return path === undefined || path === '' || path === ':memory:' ? undefined : path
  }

  /** Why the catalog is not where it belongs; undefined if it is. */
  get elsewhereReason(): string | undefined {
    return this.#elsewhere?.reason
  }

  /** Works with the catalog. Replaces one that proves broken, moves one that cannot be written, and works again. */
  async use<T>({ space, caughtUp }: Use, work: (indexer: Indexer) => Promise<T>): Promise<T> {
    if (space === STORE_SPACE) throw new CatalogUnavailable('absent', 'The store’s own space is not in the catalog.')
    if (space !== undefined) this.spaces.add(space)
    for (let repairs = 0; ; repairs++) {
      if (this.#signal.aborted) throw new HoldfastError('CLOSED', 'The store is closed. Open it again.')
      let opened: Opened | undefined
      try {
        opened = await this.#open()
        if (caughtUp) await opened.indexer.catchUp()
        const result = await work(opened.indexer)
        this.failure = null
        return result
      } catch (error) {
        if (!isCatalogs(error)) throw error
        this.failure = error.message
        if (repairs >= REPAIRS) throw unavailable(error)
        await this.#repair(opened, error)
      }
    }
  }

  async #repair(opened: Opened | undefined, error: CatalogBroken | CatalogUnavailable): Promise<void> {
    // Another call has opened another one in between.
    if (opened !== undefined && opened !== this.#opened) return
    if (error instanceof CatalogUnavailable) return this.#goElsewhere(error)
    try {
      await this.replace(opened?.path)
    } catch (refusal) {
      if (!(refusal instanceof CatalogUnavailable)) throw refusal
      await this.#goElsewhere(refusal)
    }
  }

  async #goElsewhere(error: CatalogUnavailable): Promise<void> {
    if (error.reason !== 'unwritable' || this.#elsewhere !== undefined) throw error
    await this.#close()
    this.#elsewhere = { sinceMs: this.#options.clock.monotonicMs(), reason: error.message }
  }

  async indexer(): Promise<Indexer> {
    return (await this.#open()).indexer
  }

  /** Opens the catalog, or another one if a process has replaced or removed the file. */
  async #open(): Promise<Opened> {
    if (this.#elsewhere !== undefined && this.#options.clock.monotonicMs() - this.#elsewhere.sinceMs > ELSEWHERE_MS) await this.#close()
    const { engine } = this.#options
    const { directory } = engine
    // In a directory that was moved there is no catalog, and none may be made.
    const succession = await engine.checkDirectory?.()
    const isHere = directory !== undefined && this.#elsewhere === undefined
    const opened = this.#opened
    // Another call may have noticed in between.
    const isOther = async (): Promise<boolean> =>
      opened !== undefined && isHere && (opened.succession !== succession || (await currentFile(directory)) !== opened.path)
    if ((await isOther()) && opened === this.#opened) await this.#close()
    if (this.#opened !== undefined) return this.#opened
    this.#opening ??= this.#openFile(succession).finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #openFile(succession: number | undefined): Promise<Opened> {
    const { engine, dataKeys, clock, spawn } = this.#options
    const { catalog, path } =
      engine.catalog === undefined
        ? await this.#openSqlite(engine.directory)
        : { catalog: await engine.catalog({ empty: false }), path: '' }
    const indexer = new Indexer({ engine, dataKeys, clock, catalog, spaces: this.spaces, signal: this.#signal, spawn })
    this.#opened = { indexer, path, succession }
    return this.#opened
  }

  async #openSqlite(directory: string | undefined): Promise<{ readonly catalog: SqliteCatalog; readonly path: string }> {
    const { engine, inMemory } = this.#options
    const confirm = async (): Promise<unknown> => engine.checkDirectory?.()
    if (directory === undefined || this.#elsewhere !== undefined) {
      // A file without a name, or only memory: no other process opens it.
      const path = inMemory === true ? ':memory:' : ''
      return { catalog: new SqliteCatalog(path), path }
    }
    for (let tries = 1; ; tries++) {
      try {
        return await this.#openFileIn(directory, confirm)
      } catch (error) {
        if (!(error instanceof CatalogFileRemoved) || tries >= OPENS) throw error
      }
    }
  }

  async #openFileIn(
    directory: string,
    confirm: () => Promise<unknown>,
  ): Promise<{ readonly catalog: SqliteCatalog; readonly path: string }> {
    const known = await currentFile(directory)
    if (known !== undefined && (await isTrusted(known))) {
      try {
        return { catalog: new SqliteCatalog(known), path: known }
      } catch (error) {
        if (!(error instanceof CatalogBroken)) throw error
      }
    }
    const path = await newFile(directory, this.#options.ids, confirm)
    return { catalog: new SqliteCatalog(path), path }
  }

  /** Begins an empty catalog in place of the one at `broken`, unless another process has done so. Replaces any if `broken` is not given. */
  async replace(broken?: string): Promise<void> {
    const { engine, ids } = this.#options
    await this.#close()
    if (engine.catalog !== undefined) return (await engine.catalog({ empty: true })).close()
    const { directory } = engine
    if (directory === undefined) return
    const confirm = async (): Promise<unknown> => engine.checkDirectory?.()
    await confirm()
    if (broken === undefined || (await currentFile(directory)) === broken) await newFile(directory, ids, confirm)
  }

  /** Waits for a call that is opening it. */
  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    this.#opened ??= opened
    const { path } = this
    await this.#close()
    if (path !== undefined) await noteState(path)
  }

  async #close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    this.#elsewhere = undefined
    await opened?.indexer.close()
    await opened?.indexer.catalog.close()
  }
}

/** Whether a file may be used before it is checked in the background. */
async function isTrusted(path: string): Promise<boolean> {
  const bytes = await changedBytes(path)
  return bytes === undefined || bytes > CHECKED_AT_ONCE_BYTES || (await checkFile(path)) === undefined
}

export function isCatalogs(error: unknown): error is CatalogBroken | CatalogUnavailable {
  return error instanceof CatalogBroken || error instanceof CatalogUnavailable
}

function unavailable(error: CatalogBroken | CatalogUnavailable): CatalogUnavailable {
  return error instanceof CatalogUnavailable ? error : new CatalogUnavailable('unwritable', error.message, { cause: error })
}
