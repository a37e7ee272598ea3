import { expect, test } from 'vitest'
import { SEED } from '../long.ts'
import { raceCommits } from '../processes/racing-commits.ts'

test('F12 re-commit of committed messages: not by two processes that commit at random moments, while workers are killed', {
  timeout: 240_000,
}, async () => {
  await raceCommits({ moments: 50, seed: SEED })
  expect.hasAssertions()
})
