/** Catching up with the store while no caller waits for it. */
import { ChangeWaiter } from '../engine/change-waiter.ts'
import type { Clock } from '../engine/clock.ts'
import type { Engine } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { type CurrentCatalog, isCatalogs } from './current-catalog.ts'
import { breath, type Indexer } from './indexer.ts'
import { SqliteCatalog } from './sqlite/catalog.ts'

/**
 * The pause between two rounds of a process that keeps the catalog up to date: changes that come together are put together. It is four times as long
 * as the round took, also between two rounds of text, so that writers have most of the machine. A list or a search in between catches up at once.
 */
const REST_MS = { least: 200, most: 5000, perWork: 4 }

/** Sessions that are checked for damage together: few, since a caller may have to wait for them. */
const LOOKED_AT = 4

export class BackgroundIndexing {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #current: CurrentCatalog
  readonly #signal: AbortSignal
  #draining: Promise<void> | undefined
  /** A caller waits for the text. */
  #hurries = false
  #keeping: Promise<void> | undefined

  /** `signal` aborts when the store is closed. */
  constructor({ engine, clock }: { readonly engine: Engine; readonly clock: Clock }, current: CurrentCatalog, signal: AbortSignal) {
    this.#engine = engine
    this.#clock = clock
    this.#current = current
    this.#signal = signal
  }

  /** Waits until the work has stopped, after the signal. */
  async stopped(): Promise<void> {
    await Promise.all([this.#keeping, this.#draining])
  }

  /** Catches up once, with all text. `slowly`: no caller waits for it, so it rests most of the time, until a caller does. */
  drain({ slowly = false } = {}): void {
    if (!slowly) this.#hurries = true
    this.#draining ??= this.#putAll().finally(() => {
      this.#draining = undefined
      this.#hurries = false
    })
  }

  /** Catches up with every change until the store is closed. */
  keepUp(): void {
    this.#keeping ??= this.#rounds().catch((error: unknown) => {
      this.#current.failure = error instanceof Error ? error.message : String(error)
    })
  }

  async #putAll(): Promise<void> {
    try {
      await (await this.#current.indexer()).catchUp()
      let startedMs = this.#clock.monotonicMs()
      while (!this.#signal.aborted && (await (await this.#current.indexer()).index())) {
        if (this.#hurries) await breath()
        else await this.#rest(startedMs, 0)
        startedMs = this.#clock.monotonicMs()
      }
      await this.#lookForDamage(await this.#current.indexer())
    } catch (error) {
      this.#note(error)
    }
  }

  async #rounds(): Promise<void> {
    const waiter = new ChangeWaiter(this.#engine, this.#clock, this.#signal)
    let isSwept = false
    try {
      while (!this.#signal.aborted) {
        let startedMs = this.#clock.monotonicMs()
        const round = async (indexer: Indexer): Promise<void> => {
          startedMs = await this.#putText(indexer, startedMs)
          // Once, for changes of writers that died before they announced them.
          if (!isSwept && !this.#signal.aborted) await indexer.sweep()
          isSwept = true
          await this.#lookForDamage(indexer)
        }
        await this.#current.use({ space: undefined, caughtUp: true }, round).catch((error: unknown) => this.#note(error))
        await this.#rest(startedMs, REST_MS.least)
        await waiter.wait()
      }
    } finally {
      waiter.close()
    }
  }

  /** A sweep reads the ends of journals. What is damaged before them is found once in the life of a catalog, and by the doctor. */
  async #lookForDamage(indexer: Indexer): Promise<void> {
    const { catalog } = indexer
    if (!(catalog instanceof SqliteCatalog) || catalog.isThorough()) return
    const names = await catalog.names()
    for (let at = 0; at < names.length; at += LOOKED_AT) {
      if (this.#signal.aborted) return
      const startedMs = this.#clock.monotonicMs()
      await indexer.lookAgain({ damaged: names.slice(at, at + LOOKED_AT), whole: [] })
      await this.#rest(startedMs, 0)
    }
    catalog.noteThorough()
  }

  /** Returns when the last round of text started. */
  async #putText(indexer: Indexer, startMs: number): Promise<number> {
    let startedMs = startMs
    while (!this.#signal.aborted && (await indexer.index())) {
      // With more sessions a round is longer, and the pause a smaller part of it. Otherwise it would fall behind more and more.
      if (indexer.isMidway) await breath()
      else {
        await this.#rest(startedMs, 0)
        startedMs = this.#clock.monotonicMs()
      }
    }
    return startedMs
  }

  #rest(startedMs: number, leastMs: number): Promise<void> {
    const workMs = this.#clock.monotonicMs() - startedMs
    return this.#clock.sleep(Math.min(REST_MS.most, Math.max(leastMs, REST_MS.perWork * workMs)), this.#signal)
  }

  /** The next caller meets the same error, and gets it or has the catalog replaced. */
  #note(error: unknown): void {
    if (!isCatalogs(error) && !(error instanceof HoldfastError)) throw error
    this.#current.failure = error.message
  }
}
