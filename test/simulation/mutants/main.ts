/** node build/test/simulation/mutants/main.js [--find] [name …]: plants each bug and runs its seed; with --find, searches for the first seed that catches it. */
import { MUTANTS } from './mutants.ts'
import { plant, runSeeds } from './plant.ts'

const find = process.argv.includes('--find')
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
let survivors = 0
for (const mutant of MUTANTS.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const { seed, output } = await runSeeds(await plant(mutant), find ? 1 : mutant.seed, find ? 4000 : 1)
  if (seed === undefined) survivors++
  console.log(`${mutant.name}: ${seed === undefined ? `survived\n${output}` : output.split('\n')[0]}`)
}
process.exit(survivors > 0 ? 1 : 0)
