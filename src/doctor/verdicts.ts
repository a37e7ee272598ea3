/** What the doctor found, told to the catalog: so that a list flags what nobody has written to since it was damaged. */
import type { StoreParts } from '../store/parts.ts'
import type { Finding } from '../verify/findings.ts'

/** Sessions that are told of together. */
const TOGETHER = 500

export class Verdicts {
  readonly #parts: Pick<StoreParts, 'catalog'>
  #damaged: string[] = []
  #whole: string[] = []

  constructor(parts: Pick<StoreParts, 'catalog'>) {
    this.#parts = parts
  }

  /** Passes on what is found in a session. Returns whether it is whole. */
  async *of(name: string, findings: AsyncIterable<Finding>): AsyncGenerator<Finding, boolean> {
    let whole = true
    for await (const finding of findings) {
      if (finding.severity === 'damage') whole = false
      yield finding
    }
    const into = whole ? this.#whole : this.#damaged
    into.push(name)
    if (into.length >= TOGETHER) await this.tell()
    return whole
  }

  async tell(): Promise<void> {
    const [damaged, whole] = [this.#damaged, this.#whole]
    this.#damaged = []
    this.#whole = []
    if (damaged.length + whole.length > 0) await this.#parts.catalog.notice({ damaged, whole })
  }
}
