/** A process that makes the catalog of a store anew, or indexes what is new, again and again until it is killed. */
import { openStore } from '../../../src/store/open-store.ts'
import { childOptions } from '../child.ts'

export interface IndexerOptions {
  readonly directory: string
  readonly rebuild: boolean
}

const { directory, rebuild } = childOptions<IndexerOptions>()
const store = await openStore(directory)
process.stdout.write('ready\n')
for (;;) {
  if (rebuild) await store.rebuildCatalog()
  else await store.search('apple')
  process.stdout.write('done\n')
}
