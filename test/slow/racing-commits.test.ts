import { expect, test } from 'vitest'
import { runs } from '../long.ts'
import { raceCommits } from '../processes/racing-commits.ts'

const seed = Math.floor(Math.random() * 2 ** 32)

test(`two processes commit at hundreds of random moments while workers are killed: archived once, extracted once (seed ${seed})`, async () => {
  const { kills } = await raceCommits({ moments: runs(300, 1000), seed })
  expect(kills).toBeGreaterThan(3)
})
