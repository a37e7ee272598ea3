/** The runbook speaks of what there is: each error code has an entry, and each metric that it names is one. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const runbook = readFileSync('docs/runbook.md', 'utf8')
const [, codes = ''] = runbook.split('## Error codes')

test('every error code has an entry in the runbook, and no other does', () => {
  const known = [...readFileSync('src/errors.ts', 'utf8').matchAll(/^ {2}([A-Z_]+): \{ status/gm)].map(([, code]) => code)
  expect(known.length).toBeGreaterThan(10)
  expect([...codes.matchAll(/^### (\w+)$/gm)].map(([, code]) => code).sort()).toEqual(known.sort())
})

test('every metric that the runbook names is one of the server', () => {
  const sources = readFileSync('src/server/metrics.ts', 'utf8')
  const named = [...runbook.matchAll(/holdfast_[a-z_]+/g)].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ''))
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter((name) => !sources.includes(`'${name}'`))).toEqual([])
})
