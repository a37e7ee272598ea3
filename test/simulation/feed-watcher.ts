/** Follows the feed of a store and checks its promise: every change acknowledged before a call is in that answer or an earlier one. */
import type { Engine } from '../../src/engine/port.ts'
import { HoldfastError } from '../../src/errors.ts'
import type { Finding } from './check.ts'
import type { Attempt } from './client.ts'

export class FeedWatcher {
  readonly findings: Finding[] = []
  readonly #engine: Engine
  readonly #attempts: readonly Attempt[]
  readonly #names: readonly string[]
  readonly #step: () => number
  #cursor: string | undefined
  /** Per journal: every change that began before this step was announced. */
  #announced: number[]

  constructor(engine: Engine, attempts: readonly Attempt[], names: readonly string[], step: () => number) {
    this.#engine = engine
    this.#attempts = attempts
    this.#names = names
    this.#step = step
    this.#announced = names.map(() => 0)
  }

  async look(): Promise<void> {
    const begun = this.#step()
    const due = this.#names.map((_, journal) =>
      this.#attempts.some(
        (attempt) =>
          attempt.journal === journal &&
          attempt.told === 'done' &&
          attempt.ended < begun &&
          attempt.begun > (this.#announced[journal] as number),
      ),
    )
    try {
      const { cursor, names, reset } = await this.#engine.changes(this.#cursor)
      this.#cursor = cursor
      for (const [journal, name] of this.#names.entries()) {
        if (reset || names.includes(name)) this.#announced[journal] = this.#step()
        else if (due[journal] === true)
          this.findings.push({ what: 'a change was not announced', detail: `journal ${journal}, asked at step ${begun}` })
      }
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
    }
  }
}
