/**
 * A process that asks the catalog everything once, and again when half a minute has passed by its clock, so that the catalog is checked. Tells what it
 * was answered at first, and whether all answers were right soon after.
 */
import { setTimeout } from 'node:timers/promises'
import { checkFile } from '../../../src/catalog/sqlite/check.ts'
import { currentFile } from '../../../src/catalog/sqlite/file.ts'
import { systemClock } from '../../../src/engine/clock.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { type CatalogAnswers, catalogAnswers } from '../../catalog/catalog-answers.ts'
import { childOptions } from '../child.ts'

export interface AskerOptions {
  readonly directory: string
  /** What the answers are once the catalog is right; undefined to only tell them. */
  readonly expected?: CatalogAnswers
}

export interface Asked {
  readonly first: CatalogAnswers
  /** Whether all answers were right in the end, and the file whole. */
  readonly isRight: boolean
}

const HALF_A_MINUTE_MS = 31_000
const PATIENCE_MS = 20_000

const { directory, expected } = childOptions<AskerOptions>()
let passedMs = 0
const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs }
await using store = await openStore(directory, { brief: true, clock })
const first = await catalogAnswers(store)
passedMs = HALF_A_MINUTE_MS
const until = performance.now() + PATIENCE_MS
let isRight = false
while (!isRight && expected !== undefined && performance.now() < until) {
  isRight = JSON.stringify(await catalogAnswers(store)) === JSON.stringify(expected)
  const path = await currentFile(directory)
  isRight &&= path !== undefined && (await checkFile(path)) === undefined
  if (!isRight) await setTimeout(10)
}
process.stdout.write(`${JSON.stringify({ first, isRight } satisfies Asked)}\n`)
