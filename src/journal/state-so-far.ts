/** The state that the records of a journal come to, as far as it was read. */
import type { Counted } from '../record/fold.ts'
import type { JsonObject } from '../record/record.ts'
import type { Reducer } from './reducer.ts'

export class StateSoFar<S> {
  readonly #reducer: Reducer<S>
  #state: S
  /** The state began with a checkpoint that covers everything below this position. */
  #covered: number
  /** Records that were read and are not in the state yet. */
  #unapplied: Counted[] = []
  /** The state before the first record is known. */
  isRooted = true

  constructor(reducer: Reducer<S>, segment: number) {
    this.#reducer = reducer
    this.#state = reducer.initial
    this.#covered = segment
  }

  /**
   * The state up to the end. Records are applied in the order of their positions. If the checkpoint before carried lines has rotted, those lines
   * are read after later ones, which the segment before still has.
   */
  get value(): S {
    if (this.#unapplied.length > 0) {
      const records = this.#unapplied.sort((a, b) => a.at - b.at)
      this.replace(records.reduce((state, counted) => this.#reducer.apply(state, counted), this.#state))
    }
    return this.#state
  }

  /** The checkpoint of a segment says the state before it. */
  restore(segment: number, { state, isRooted }: { readonly state: JsonObject; readonly isRooted: boolean }): void {
    this.replace(this.#reducer.restore(state))
    this.#covered = segment
    this.isRooted = isRooted
  }

  add(counted: Counted): void {
    if (counted.at >= this.#covered) this.#unapplied.push(counted)
  }

  replace(state: S): void {
    this.#state = state
    this.#unapplied = []
  }
}
