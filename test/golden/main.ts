/** node build/test/golden/main.js NAME: makes the golden store of this version as test/golden/stores/NAME, where nothing may be yet. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { ROOT } from '../tidy/sources.ts'
import { copyOf } from './copy.ts'
import { makeGolden } from './make.ts'
import { tell } from './tell.ts'

const [name] = process.argv.slice(2)
const home = join(ROOT, 'test/golden/stores', name ?? '')
if (name === undefined || existsSync(home)) {
  console.error('Usage: node build/test/golden/main.js NAME, of a store that is not there yet: one that was released is never made again')
  process.exit(2)
}
for (const [path, bytes] of await makeGolden()) {
  mkdirSync(dirname(join(home, 'store', path)), { recursive: true })
  writeFileSync(join(home, 'store', path), bytes)
}
await using copy = copyOf(join(home, 'store'))
await using store = await openStore(copy.directory)
writeFileSync(join(home, 'told.json'), `${JSON.stringify(await tell(store), null, 2)}\n`)
