/** A bug that is planted for the torture to find: every `fdatasync` succeeds, and syncs nothing. */
import { expect, onTestFinished, test } from 'vitest'
import { runs, SEED } from '../long.ts'
import { requirePlatform } from '../platform.ts'
import { forget, torture } from '../torture/torture.ts'

const compiler = requirePlatform('compiler')

test.skipIf(!compiler.available).each(Array.from({ length: runs(2, 5) }, (_, n) => SEED + n))(
  'a short torture finds that acknowledged messages were not synced: seed %i',
  async (seed) => {
    const options = { store: 'files', seed, durationMs: 8000, patienceMs: 5000, tell: () => undefined }
    const tortured = await torture({ ...options, liesAboutSyncs: true })
    onTestFinished(() => forget(tortured))
    const rules = new Set(tortured.violations.map(({ rule }) => rule))
    process.stdout.write(`planted: ${JSON.stringify({ seed, rules: [...rules], lost: tortured.counts['bytes lost with the power'] })}\n`)
    expect(tortured.counts['power cut']).toBe(1)
    expect([...rules]).toContain('acknowledged once')
  },
)
