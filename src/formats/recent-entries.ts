/**
 * The last so many things, by name. They are kept in two maps, of which the older is let go as a whole: to take the oldest entry out of one
 * map again and again has each such step pass over all places that were emptied before.
 */
export class RecentEntries<T> {
  readonly #count: number
  #newer = new Map<string, T>()
  #older = new Map<string, T>()

  /** At least `count` of them, and at most twice as many. */
  constructor(count: number) {
    this.#count = count
  }

  get(name: string): T | undefined {
    return this.#newer.get(name) ?? this.#older.get(name)
  }

  set(name: string, value: T): void {
    if (this.#newer.size >= this.#count) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(name, value)
  }
}
