/**
 * The conformance suite: the contract of an engine as cases that run on every engine, driven by what it supports.
 *
 *     import { test } from 'node:test' // or from 'vitest'
 *     import { conformance } from 'holdfast/conformance'
 *
 *     conformance(test, {
 *       async open(keysOf) {
 *         const place = await makeSomePlace()
 *         return {
 *           engine: await openMyEngine(place, { keysOf }),
 *           second: () => openMyEngine(place, { keysOf }), // where it supports `shared`
 *           reopen: () => openMyEngine(place, { keysOf }), // where it supports `durable`
 *           dispose: () => removeSomePlace(place),
 *         }
 *       },
 *     })
 *
 * What it cannot reach through the port are failures: full disks, failed syncs, power loss, damage. Those are for the author's own tests.
 */
import { appendCases } from './append.ts'
import { changeCases } from './changes.ts'
import { keyCases } from './keys.ts'
import { lifecycleCases } from './lifecycle.ts'
import { nameCases } from './names.ts'
import { overwriteCases } from './overwrite.ts'
import { purgeCases } from './purge.ts'
import { raceCases } from './race.ts'
import { readCases } from './read.ts'
import { rollCases } from './roll.ts'
import { type Case, type ConformanceOptions, Trial } from './trial.ts'

export { draft, entryOf, message, testKeysOf } from './records.ts'
export type { ConformanceOptions, Opened } from './trial.ts'

/** The part of a test framework that the suite needs. `test` of node:test and of vitest fit as they are. */
export type TestFunction = (name: string, run: (context: TestContext) => Promise<void>) => unknown

export interface TestContext {
  /** Marks the test as skipped. It may throw, as vitest's does, or return. */
  skip(reason: string): void
}

const CASES: readonly Case[] = [
  ...appendCases,
  ...readCases,
  ...rollCases,
  ...raceCases,
  ...keyCases,
  ...overwriteCases,
  ...purgeCases,
  ...nameCases,
  ...changeCases,
  ...lifecycleCases,
]

const MEANINGS = {
  durable: 'nothing of it survives its process',
  shared: 'only one process can use a store',
}

/** Registers one test for each case. */
export function conformance(test: TestFunction, options: ConformanceOptions): void {
  for (const one of CASES) test(one.name, (context) => runCase(one, options, context))
}

async function runCase({ needs, run }: Case, options: ConformanceOptions, context: TestContext): Promise<void> {
  const trial = await Trial.start(options)
  const applies = needs === undefined || trial.engine.supports[needs]
  const [outcome] = await Promise.allSettled([applies ? run(trial) : undefined])
  for (const result of [outcome, ...(await trial.end())]) {
    if (result.status === 'rejected') throw result.reason
  }
  if (!applies) context.skip(`the engine does not support \`${needs}\`: ${MEANINGS[needs]}`)
}
