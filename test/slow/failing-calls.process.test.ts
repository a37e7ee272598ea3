/**
 * Every system call that a short life of a store makes on its files fails once, in each way that it can fail, or kills the process. What
 * the program was told before and after must hold for a process that comes later, and a failure must be answered with an error of ours.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requirePlatform } from '../platform.ts'
import { TRIALS } from '../processes/faults.ts'
import { FaultyLives } from '../processes/faulty-lives.ts'

const strace = requirePlatform('strace')

describe.skipIf(!strace.available)('no promise is broken, no file stays open, and no answer is other than ours, by', () => {
  let directory: string
  let lives: FaultyLives

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-failing-'))
    lives = new FaultyLives(directory)
    await lives.count()
  })

  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  // A title that test.each fills in is cut short.
  for (const trial of TRIALS)
    test(trial.title, async () => {
      const outcomes = await lives.run(trial)
      const told = outcomes.flatMap(({ attempts }) => attempts.flatMap(({ code, told }) => (code === undefined ? [] : [`${code} ${told}`])))
      process.stdout.write(`${trial.title}: ${outcomes.length} runs, ${JSON.stringify(countEach(told))}\n`)
      expect(outcomes.flatMap(({ problems }) => problems)).toEqual([])
      expect(outcomes.length).toBeGreaterThan(0)
      if (trial.answer !== undefined) expect(told).toContain(trial.answer)
    })
})

function countEach(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}
