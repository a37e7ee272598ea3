import { expect, test } from 'vitest'
import { runs, SEED } from '../long.ts'
import { raceCommits } from '../processes/racing-commits.ts'

test(`two processes commit at hundreds of random moments while workers are killed: archived once, extracted once (seed ${SEED})`, async () => {
  const { kills } = await raceCommits({ moments: runs(80, 1000), seed: SEED })
  expect(kills).toBeGreaterThan(3)
})
