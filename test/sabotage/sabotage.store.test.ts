/** The conformance suite against engines that are broken on purpose: a suite that cannot fail proves nothing. */
import { describe, expect, test } from 'vitest'
import { type ConformanceOptions, conformance, type TestContext } from '../../src/engine/conformance/index.ts'
import { DEFECTS, type Defect, openDefective } from './defects.ts'

/** What the suite would run on an engine with this defect, by name. */
function casesFor(defect?: Defect): ReadonlyMap<string, (context: TestContext) => Promise<void>> {
  const cases = new Map<string, (context: TestContext) => Promise<void>>()
  const options: ConformanceOptions = { open: async (keysOf) => ({ engine: openDefective(keysOf, defect) }) }
  conformance((name, run) => cases.set(name, run), options)
  return cases
}

/** True if the case passed. One that was skipped proves as little as one that is not there. */
async function passes(name: string, defect?: Defect): Promise<boolean> {
  const run = casesFor(defect).get(name)
  if (run === undefined) throw new Error(`The suite has no case "${name}".`)
  const skipped: string[] = []
  const [outcome] = await Promise.allSettled([run({ skip: (reason) => skipped.push(reason) })])
  if (skipped.length > 0) throw new Error(`The case "${name}" was skipped: ${skipped.join()}`)
  return outcome.status === 'fulfilled'
}

describe.each(DEFECTS)('$name', (defect) => {
  test.each(defect.foundBy)('is found by: %s', async (name) => {
    expect(await passes(name, defect)).toBe(false)
  })
})

test('the same engine without a defect passes the same cases', async () => {
  const failed: string[] = []
  for (const name of new Set(DEFECTS.flatMap(({ foundBy }) => foundBy))) if (!(await passes(name))) failed.push(name)
  expect(failed).toEqual([])
})
