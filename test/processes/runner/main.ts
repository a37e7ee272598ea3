/**
 * One life of a framework's own runner on a store: it begins, or goes on where another process left it. It tells of every step before it takes it, `step x`, and
 * at the one that it is to die at it waits to be killed. When all is done: `result` and what there is by then, as JSON.
 */
import { openAnywhere } from '../anywhere.ts'
import { childOptions, testIsDone } from '../child.ts'
import type { Life, RunnerName } from './life.ts'

interface Options {
  readonly framework: RunnerName
  readonly where: string
  readonly key?: string
  /** The step that it does not live through; none if it is left out. */
  readonly diesAt?: string
  readonly says?: string
}

const { framework, where, key, diesAt, says } = childOptions<Options>()
const store = await openAnywhere(where, key)

async function step(name: string): Promise<void> {
  console.log(`step ${name}`)
  if (name === diesAt) await testIsDone()
}

// One framework takes long enough to load.
const { run } = (await import(`./${framework}.js`)) as { run(life: Life): Promise<unknown> }
console.log(`result ${JSON.stringify(await run({ store, says, step }))}`)
await store.close()
