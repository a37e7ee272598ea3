/** Conditions of a statement, with the values that they name by number. */
export class Conditions {
  readonly values: unknown[]
  readonly #conditions: string[] = []

  /** Several of one statement share their values. */
  constructor(values: unknown[] = []) {
    this.values = values
  }

  /** `?` stands for each of the values. */
  add(condition: string, ...values: readonly unknown[]): this {
    let i = 0
    this.#conditions.push(condition.replaceAll('?', () => this.value(values[i++])))
    return this
  }

  /** The number of a value, for a place other than a condition. */
  value(value: unknown): string {
    this.values.push(value)
    return `$${this.values.length}`
  }

  get text(): string {
    return this.#conditions.join(' AND ')
  }
}
