/**
 * The latest time of a change in this store, by which the next one is ordered (docs/decisions/0022). The heads of the lines that were written last
 * have it. It is asked for once a second at most, so servers whose clocks differ agree on the order within a second.
 */
import type { Clock } from '../../engine/clock.ts'
import type { Database, Statement } from './database.ts'

const EVERY_MS = 1000
const TIMES = /"at":"([^"]{24})","type":"[^"]*"(?:,"order":"([^"]{24})")?/

export class LatestTime {
  readonly #database: Database
  readonly #statement: Statement
  readonly #clock: Clock
  #latest = 0
  #askedAtMs = Number.NEGATIVE_INFINITY
  #asking: Promise<number> | undefined

  constructor(database: Database, statement: Statement, clock: Clock) {
    this.#database = database
    this.#statement = statement
    this.#clock = clock
  }

  get(): number | Promise<number> {
    if (this.#asking !== undefined) return this.#asking
    if (this.#clock.monotonicMs() - this.#askedAtMs < EVERY_MS) return this.#latest
    this.#asking = this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<number> {
    this.#askedAtMs = this.#clock.monotonicMs()
    const rows = await this.#database.repeat(this.#statement, [], 'The last changes of the store could not be read')
    for (const { head } of rows) {
      const [, at = '', order = at] = TIMES.exec((head as Buffer).toString('latin1')) ?? []
      this.#latest = Math.max(this.#latest, Date.parse(order) || 0)
    }
    return this.#latest
  }
}
