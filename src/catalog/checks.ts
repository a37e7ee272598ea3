/**
 * When the whole catalog is checked: while it is asked questions, now and then. Nothing waits for a check. A catalog that proves broken is replaced, and
 * filled again from the journals.
 */
import type { Clock } from '../engine/clock.ts'
import type { BackgroundIndexing } from './background.ts'
import { type CurrentCatalog, isCatalogs } from './current-catalog.ts'
import { type CheckFile, checkFile } from './sqlite/check.ts'

/** A process that only asks one question ends without a check. */
const FIRST_MS = 3000
/** The pause between two checks. It is longer where a check takes long, so that checks take a twentieth of one core at most. */
const PAUSE_MS = 30_000
const PAUSE_PER_WORK = 20

export interface CheckOptions {
  readonly clock: Clock
  /** Checks a file, perhaps in another thread. Defaults to this one. */
  readonly check?: CheckFile | undefined
}

export class CatalogChecks {
  readonly #clock: Clock
  readonly #check: CheckFile
  readonly #current: CurrentCatalog
  readonly #background: BackgroundIndexing
  readonly #signal: AbortSignal
  #dueMs: number
  #running: Promise<void> | undefined

  /** `signal` aborts when the store is closed. */
  constructor({ clock, check = checkFile }: CheckOptions, current: CurrentCatalog, background: BackgroundIndexing, signal: AbortSignal) {
    this.#clock = clock
    this.#check = check
    this.#current = current
    this.#background = background
    this.#signal = signal
    this.#dueMs = clock.monotonicMs() + FIRST_MS
  }

  /** Starts a check in the background, if one is due. Called after each answer. */
  start(): void {
    const { path } = this.#current
    if (path === undefined || this.#clock.monotonicMs() < this.#dueMs) return
    this.#running ??= this.#run(path).finally(() => {
      this.#running = undefined
    })
  }

  /** Waits until the work has stopped, after the signal. */
  async stopped(): Promise<void> {
    await this.#running
  }

  async #run(path: string): Promise<void> {
    const startedMs = this.#clock.monotonicMs()
    try {
      const fault = await this.#check(path, this.#signal)
      if (this.#signal.aborted) return
      if (fault !== undefined) {
        this.#current.failure = fault
        await this.#current.replace(path)
      }
      this.#background.drain({ slowly: fault === undefined })
    } catch (error) {
      if (!isCatalogs(error)) throw error
      this.#current.failure = error.message
    } finally {
      const nowMs = this.#clock.monotonicMs()
      this.#dueMs = nowMs + Math.max(PAUSE_MS, PAUSE_PER_WORK * (nowMs - startedMs))
    }
  }
}
