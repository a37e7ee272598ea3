/**
 * npm run torture -- [--minutes N] [--seed S] [--store files|postgres|DIRECTORY|postgres://…]: tortures a store, and checks what every client of it was
 * told. Ends with 1 if a promise was broken: then it prints the seed, the shortest history that shows it, and the command that runs it again.
 */
import { parseArgs } from 'node:util'
import type { Violation } from './check.ts'
import { shortest } from './shrink.ts'
import { forget, type Tortured, torture } from './torture.ts'

/** How many of the violations of one rule are printed. */
const SHOWN = 20

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 32)) },
    store: { type: 'string', default: 'files' },
    // Keeps the store and the histories, also where nothing is wrong.
    keep: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed)
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error(`--minutes is a number above 0 and --seed a whole one; got ${values.minutes} and ${values.seed}.`)
  process.exit(2)
}

console.log(`torture of ${values.store} for ${minutes} minutes, seed ${seed}`)
const tell = (line: string): void => console.log(`- ${line}`)
const tortured = await torture({ store: values.store, seed, durationMs: minutes * 60_000, tell })
const { violations, counts, home } = tortured
for (const [what, times] of Object.entries(counts).sort()) console.log(`${String(times).padStart(8)}  ${what}`)
if (violations.length === 0) {
  console.log('\nNo promise was broken.')
  if (!values.keep) forget(tortured)
} else {
  console.log(`\n${violations.length} VIOLATIONS.`)
  const kinds = new Map(violations.map((violation) => [violation.rule, violation]))
  for (const [rule, violation] of kinds) {
    const all = violations.filter((one) => one.rule === rule)
    console.log(`\n${rule}: ${all.length} times:`)
    for (const { session, what } of all.slice(0, SHOWN)) console.log(`  - ${session === '' ? '' : `${session}: `}${what}`)
    console.log('One of them:')
    explain(tortured, violation)
  }
  console.log(`\nAgain: npm run torture -- --store ${values.store} --minutes ${values.minutes} --seed ${seed}`)
  console.log(`The histories and the schedule lie in ${home}.`)
  process.exitCode = 1
}

function explain({ history, final }: Tortured, violation: Violation): void {
  const { session, what } = violation
  console.log(`  ${session === '' ? '' : `${session}: `}${what}`)
  for (const { client, number, begun, ended, seen, ...rest } of shortest(history, final, violation)) {
    const own = seen?.filter((one) => one.session === session)
    console.log(`  ${begun}–${ended} ${client}#${number} ${JSON.stringify({ ...rest, ...(own === undefined ? {} : { seen: own }) })}`)
  }
}
