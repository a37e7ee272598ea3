/**
 * A process that uses an adapter until it is killed. It tells what was acknowledged, a line each: `begin n` before a call, `done n` after it.
 * Several of them work on one store.
 */
import { openAnywhere } from '../anywhere.ts'
import { childOptions, testIsDone } from '../child.ts'
import type { AdapterName, Calls } from './calls.ts'

interface Options {
  readonly adapter: AdapterName
  /** A directory, a database, or a server with the key to it. */
  readonly where: string
  readonly key?: string
  readonly name: string
}

const { adapter, where, key, name } = childOptions<Options>()
const store = await openAnywhere(where, key)

if (adapter === 'ai-sdk') await (await import('./ai-sdk.ts')).streamForEver(store)
else {
  // One framework takes long enough to load.
  const { calls } = (await import(`./${adapter}.js`)) as { calls: Calls }
  const call = calls(store, name)
  let over = false
  testIsDone().then(() => {
    over = true
  })
  for (let n = 0; !over; n++) {
    const id = `${name}-${n}`
    console.log(`begin ${id}`)
    await call(id)
    console.log(`done ${id}`)
  }
}
await store.close()
