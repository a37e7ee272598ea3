/** A worker in a process of its own. Started by `commits`; works once it is told to, and answers with how many tasks it has completed. */
import { once } from 'node:events'
import { Worker } from '../src/commit/worker.ts'
import { openStore } from '../src/store/open-store.ts'

const store = await openStore(process.argv[2] as string)
const worker = new Worker(store, { concurrency: 16 })
process.send?.('ready')
await once(process, 'message')
await worker.drain()
process.send?.(worker.status.completed)
await store.close()
process.disconnect()
