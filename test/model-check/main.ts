/** node build/test/model-check/main.js: explores every scenario, and plants every bug; prints how many states there were, and how each bug was found. */
import { explore, findBug } from './explore.ts'
import { MODEL_MUTANTS, SCENARIOS } from './scenarios.ts'

for (const scenario of SCENARIOS) {
  const begun = performance.now()
  const { states, found } = explore(scenario)
  console.log(`${scenario.name}: ${states} states, ${Math.round(performance.now() - begun)} ms`)
  if (found === undefined) continue
  process.exitCode = 1
  console.log(`  ${found.what}\n    ${found.steps.join('\n    ')}`)
}
for (const { name, bugs } of MODEL_MUTANTS) {
  const caught = findBug(bugs)
  console.log(`${name}: ${caught === undefined ? 'NOT FOUND' : `${caught.what} (${caught.scenario}, ${caught.steps.length - 1} steps)`}`)
  if (caught === undefined) process.exitCode = 1
}
