import { expect, test } from 'vitest'
import { raceCommits } from '../processes/racing-commits.ts'

const seed = Math.floor(Math.random() * 2 ** 32)

test(`two processes commit at 1,000 random moments while workers are killed: archived once, extracted once (seed ${seed})`, async () => {
  const { kills } = await raceCommits({ moments: 1000, seed })
  expect(kills).toBeGreaterThan(3)
})
