/** A process that lists in a loop, and holds every list against what was acknowledged before it began. Tells when the first is done, each that has less, and at the end how many there were. */
import { openStore } from '../../../src/store/open-store.ts'
import { readAcknowledged } from '../acknowledged.ts'
import { childOptions, testIsDone } from '../child.ts'

export interface ListerOptions {
  readonly directory: string
  readonly log: string
  /** Keeps the catalog up to date in the background as well. */
  readonly keep: boolean
}

const { directory, log, keep } = childOptions<ListerOptions>()
let isDone = false
void testIsDone().then(() => {
  isDone = true
})
const store = await openStore(directory)
if (keep) store.keepCatalog()
let [lists, searches] = [0, 0]
// On a busy machine there may have been time for one only.
while (!isDone || lists < 2) {
  const { counts, words } = readAcknowledged(log)
  const { sessions } = await store.list({ limit: 1000 })
  const listed = new Map(sessions.map(({ id, totalMessageCount }) => [id, totalMessageCount]))
  for (const [id, count] of counts) {
    if ((listed.get(id) ?? 0) < count)
      process.stdout.write(`${JSON.stringify({ missing: id, acknowledged: count, listed: listed.get(id) ?? null })}\n`)
  }
  if (lists++ === 0) process.stdout.write('ready\n')
  for (const word of words) {
    const { hits, lag } = await store.search(word)
    if (lag !== null) continue
    if (hits.length !== 1) process.stdout.write(`${JSON.stringify({ missing: word, hits: hits.length })}\n`)
    searches++
  }
}
process.stdout.write(`${JSON.stringify({ lists, searches })}\n`)
await store.close()
