/** What calls to models took, of as many models as a session counts. */
import { LIMITS } from '../../record/limits.ts'
import type { ModelCall } from '../../session/records.ts'
import { type ImportScope, reportLost } from './import-scope.ts'
import type { Target } from './target.ts'

export class UsageLimit {
  readonly #scope: ImportScope
  readonly #isCounted: boolean
  readonly #models: Set<string>

  constructor(scope: ImportScope, { accepts, models }: Target) {
    this.#scope = scope
    this.#isCounted = accepts === 'everything'
    this.#models = new Set(models)
  }

  /** The calls that the session counts. Those of one model too many are reported. */
  counted<Call extends ModelCall>(usage: readonly Call[]): readonly Call[] {
    if (!this.#isCounted) return []
    const counted = usage.filter(({ model }) => {
      if (this.#models.size < LIMITS.models) this.#models.add(model)
      return this.#models.has(model)
    })
    const left = usage.length - counted.length
    if (left > 0) reportLost(this.#scope, `The usage of ${left} calls cannot be kept: a session counts ${LIMITS.models} models.`)
    return counted
  }
}
