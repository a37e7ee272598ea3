/**
 * npm run fuzz -- [--minutes N] [--only line,tar] [--seed S] [--keep]: fuzzes each target for N minutes. Ends with 1 if an input broke one: then it
 * prints the file with that input. With --keep, what the fuzzer learned goes into the corpus that the next run begins with.
 */
import { parseArgs } from 'node:util'
import { keepCorpus } from './corpus.ts'
import { fuzz, smallest } from './fuzz.ts'
import { TARGETS } from './targets.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed)
const names = values.only?.split(',') ?? TARGETS.map(({ name }) => name)
const unknown = names.find((wanted) => !TARGETS.some(({ name }) => name === wanted))
if (!(minutes > 0) || !Number.isInteger(seed) || unknown !== undefined) {
  const targets = TARGETS.map(({ name }) => name).join(', ')
  console.error(`--minutes is a number above 0, --seed a whole number, and --only a list of these targets: ${targets}.`)
  process.exit(2)
}

for (const target of TARGETS.filter(({ name }) => names.includes(name))) {
  const { runs, coverage, corpus, finds, said } = await fuzz(target, Math.max(1, Math.round(minutes * 60)), seed)
  console.log(`${target.name}: ${runs} runs, ${coverage} places reached, ${corpus} inputs, ${finds.length} finds`)
  if (finds.length > 0 || runs === 0) {
    console.log(`${said}\n${finds.join('\n')}`)
    process.exitCode = 1
  }
  if (values.keep) {
    const inputs = await smallest(target)
    keepCorpus(target.name, inputs)
    console.log(`${target.name}: ${inputs.length} inputs kept`)
  }
}
