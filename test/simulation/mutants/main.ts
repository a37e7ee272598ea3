/** node build/test/simulation/mutants/main.js [name …]: plants each bug, or those named, and prints the first seed that catches it. */
import { HARM_MUTANTS } from './harm-mutants.ts'
import { MUTANTS } from './mutants.ts'
import { plant, runSeeds } from './plant.ts'
import { STORE_MUTANTS } from './store-mutants.ts'

const names = process.argv.slice(2)
let survivors = 0
for (const mutant of [...MUTANTS, ...HARM_MUTANTS, ...STORE_MUTANTS].filter(({ name }) => names.length === 0 || names.includes(name))) {
  const { seed, output } = await runSeeds(await plant(mutant), mutant, 1, 2000)
  if (seed === undefined) survivors++
  console.log(`${mutant.name}: ${seed === undefined ? `survived\n${output}` : output.split('\n')[0]}`)
}
process.exit(survivors > 0 ? 1 : 0)
