/** A short torture on each engine: `npm run torture` goes on for as long as one likes. What goes wrong is told with the seed and the shortest history that shows it. */
import { expect, onTestFinished, test } from 'vitest'
import { requirePlatform } from '../platform.ts'
import { shortest } from '../torture/shrink.ts'
import { forget, torture } from '../torture/torture.ts'

requirePlatform('compiler')
const DURATION_MS = 30_000

test.each(['files', 'postgres'])('one history explains every answer to the clients of a tortured store: %s', async (store) => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const tortured = await torture({ store, seed, durationMs: DURATION_MS, tell: () => undefined })
  onTestFinished(() => forget(tortured))
  const { violations, crashes, history, final, counts } = tortured
  const [first] = violations
  const shown = first === undefined ? [] : [first, ...shortest(history, final, first)]
  const summary = `npm run torture -- --store ${store} --minutes ${DURATION_MS / 60_000} --seed ${seed}`
  process.stdout.write(`${summary} ${JSON.stringify(counts)}\n`)
  expect(shown, summary).toEqual([])
  expect(crashes, summary).toEqual([])
  // However busy the machine is.
  expect(counts['append ok']).toBeGreaterThan(0)
  expect(counts.kill).toBeGreaterThan(5)
})
