/**
 * node build/test/golden/main.js NAME [sealed]: makes the golden store of this version as test/golden/stores/NAME, where nothing may be yet;
 * a sealed one with a master key that lies beside it, since it protects nothing.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newMasterKey } from '../../src/store/encryption/master-key.ts'
import { ROOT } from '../tidy/sources.ts'
import { copyOf } from './copy.ts'
import { makeGolden } from './make.ts'
import { tell } from './tell.ts'

const [name, sealed] = process.argv.slice(2)
const home = join(ROOT, 'test/golden/stores', name ?? '')
if (name === undefined || existsSync(home)) {
  console.error(
    'Usage: node build/test/golden/main.js NAME [sealed], of a store that is not there yet: one that was released is never made again',
  )
  process.exit(2)
}
const masterKey = sealed === 'sealed' ? newMasterKey() : undefined
for (const [path, bytes] of await makeGolden(masterKey)) {
  mkdirSync(dirname(join(home, 'store', path)), { recursive: true })
  writeFileSync(join(home, 'store', path), bytes)
}
if (masterKey !== undefined) writeFileSync(join(home, 'master.key'), `${masterKey}\n`)
await using copy = copyOf(home)
await using store = await copy.open()
writeFileSync(join(home, 'told.json'), `${JSON.stringify(await tell(store), null, 2)}\n`)
