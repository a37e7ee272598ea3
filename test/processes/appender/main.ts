/** A process that appends to its sessions in turn, and writes down what was acknowledged, until its test is done. */
import type { Limits } from '../../../src/record/limits.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { acknowledge } from '../acknowledged.ts'
import { childOptions, testIsDone } from '../child.ts'

export interface AppenderOptions {
  readonly directory: string
  /** Where it writes down what was acknowledged. */
  readonly log: string
  readonly name: string
  readonly sessions: number
  readonly limits?: Partial<Limits>
}

const { directory, log, name, sessions, limits = {} } = childOptions<AppenderOptions>()
let isDone = false
void testIsDone().then(() => {
  isDone = true
})
const store = await openStore(directory, { limits })
process.stdout.write('ready\n')
for (let i = 0; !isDone; i++) {
  const id = `${name} ${i % sessions}`
  const session = store.session(id)
  const word = `word${name}x${i}`
  await session.append({ role: 'user', content: `apple ${word}` })
  const { totalMessageCount } = await session.info()
  acknowledge(log, name, id, totalMessageCount, word)
}
await store.close()
