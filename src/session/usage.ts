/** What calls to models took: commands that record it. */
import type { HoldfastError } from '../errors.ts'
import { hashKey, type KeyHash } from '../record/keys.ts'
import { type Outcome, onLive, type Terms, unchanged, unless, write } from './command.ts'
import type { Operation } from './decision.ts'
import type { ImportedCall, ModelCall } from './records.ts'
import { tooMany } from './refusals.ts'
import type { SessionState } from './state.ts'

export function recordUsage(terms: Terms, call: ModelCall): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => unless(tooManyModels(state, [call]), write(state, 'usage.recorded', call, terms)), { background: true })
}

/** Many calls in one record, each under a key of its own; those that are known are left out. */
export function importUsage(terms: Terms, calls: readonly ImportedCall[]): Operation<SessionState, Outcome> {
  const keys = calls.map(({ key }) => hashKey('operation', key))
  return onLive(
    terms,
    (state, known) => {
      const seen = new Set<KeyHash>()
      const fresh = calls.filter((_, index) => {
        const key = keys[index] as KeyHash
        return known(key) === undefined && seen.size < seen.add(key).size
      })
      if (fresh.length === 0) return unchanged(state)
      const decision = write(state, 'usage.recorded', { calls: fresh }, terms)
      if (decision.write === undefined) return decision
      return unless(tooManyModels(state, fresh), { ...decision, write: { ...decision.write, hashes: [...seen] } })
    },
    { keys, background: true },
  )
}

function tooManyModels({ usage }: SessionState, calls: readonly ModelCall[]): HoldfastError | undefined {
  return tooMany('models', new Set([...usage, ...calls].map(({ model }) => model)).size)
}
