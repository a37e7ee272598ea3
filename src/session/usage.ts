/** What calls to models took: commands that record it. */
import type { HoldfastError } from '../errors.ts'
import type { Operation } from '../record/operation.ts'
import { type Outcome, onLive, type Terms, unless, write } from './command.ts'
import type { ModelCall } from './records.ts'
import { tooMany } from './refusals.ts'
import type { SessionState } from './state.ts'

export function recordUsage(terms: Terms, call: ModelCall): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => unless(tooManyModels(state, [call]), write(state, 'usage.recorded', call, terms)), { background: true })
}

export function tooManyModels({ usage }: SessionState, calls: readonly ModelCall[]): HoldfastError | undefined {
  return tooMany('models', new Set([...usage, ...calls].map(({ model }) => model)).size)
}
