/**
 * A worker in a process of its own. Started by `commits`; works when it is told to, until nothing is due, and answers with how many tasks it has completed,
 * and when the last one. Ends when nobody is there any more to tell it.
 */
import { Worker } from '../src/commit/worker.ts'
import { openStore } from '../src/store/open-store.ts'

const store = await openStore(process.argv[2] as string)
let [completed, last] = [0, 0]
const worker = new Worker(store, {
  onAttempt: ({ status }) => {
    if (status === 'completed') completed++
    last = Date.now()
  },
})
process.on('message', async () => {
  completed = 0
  await worker.drain()
  process.send?.({ completed, last })
})
process.on('disconnect', () => void store.close())
process.send?.('ready')
