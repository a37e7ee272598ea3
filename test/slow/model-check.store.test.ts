/** The protocol of docs/format.md, every state of it for three processes: none breaks a promise, now or after a power cut at that moment; and each planted bug does. */
import { expect, test } from 'vitest'
import { explore, findBug } from '../model-check/explore.ts'
import { MODEL_MUTANTS, SCENARIOS } from '../model-check/scenarios.ts'

test.each(SCENARIOS)('in no state is a promise broken: $name', (scenario) => {
  const { states, found } = explore(scenario)
  expect(found).toBeUndefined()
  expect(states).toBeGreaterThan(100)
})

test.each(MODEL_MUTANTS)('a planted bug is found: $name', ({ bugs }) => {
  expect(findBug(bugs)).toBeDefined()
})
