/** A short torture on each engine: `npm run torture` goes on for as long as one likes. What goes wrong is told with the seed and the shortest history that shows it. */
import { expect, onTestFinished, test } from 'vitest'
import { runs, SEED } from '../long.ts'
import { requirePlatform } from '../platform.ts'
import { shortest } from '../torture/shrink.ts'
import { forget, torture } from '../torture/torture.ts'

requirePlatform('compiler')
const DURATION_MS = runs(8_000, 30_000)

test.each(['files', 'postgres'])('one history explains every answer to the clients of a tortured store: %s', async (store) => {
  const tortured = await torture({ store, seed: SEED, durationMs: DURATION_MS, tell: () => undefined })
  onTestFinished(() => forget(tortured))
  const { violations, history, final, counts } = tortured
  const [first] = violations
  const shown = first === undefined ? [] : [first, ...shortest(history, final, first)]
  const summary = `npm run torture -- --store ${store} --minutes ${DURATION_MS / 60_000} --seed ${SEED}`
  process.stdout.write(`${summary} ${JSON.stringify(counts)}\n`)
  expect(shown, summary).toEqual([])
  // However busy the machine is.
  expect(counts['append ok']).toBeGreaterThan(0)
  expect(counts.kill).toBeGreaterThan(runs(0, 5))
})
