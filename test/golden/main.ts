/**
 * npm run check && node build/test/golden/main.js
 *
 * Makes the golden stores of the format that this version writes, in clear and encrypted, in the place of those that are there. A format that was
 * released is never made again: then this program refuses. The encrypted store lies beside its master key, which protects nothing.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newMasterKey } from '../../src/encryption/master-key.ts'
import { ROOT } from '../tidy/sources.ts'
import { copyOf } from './copy.ts'
import { makeGolden } from './make.ts'
import { CURRENT, RELEASED, STORES } from './stores.ts'
import { tell } from './tell.ts'

for (const name of CURRENT) {
  if (name in RELEASED) {
    console.error(
      `${STORES}/${name} was released and is never made again. A change of the format needs a new version in src/record/record.ts.`,
    )
    process.exit(2)
  }
}
for (const name of CURRENT) await make(name, name.endsWith('-encrypted') ? newMasterKey() : undefined)

async function make(name: string, masterKey: string | undefined): Promise<void> {
  const home = join(ROOT, STORES, name)
  const files = await makeGolden(masterKey)
  rmSync(home, { recursive: true, force: true })
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(home, 'store', path)), { recursive: true })
    writeFileSync(join(home, 'store', path), bytes)
  }
  if (masterKey !== undefined) writeFileSync(join(home, 'master.key'), `${masterKey}\n`)
  await using copy = copyOf(home)
  await using store = await copy.open()
  writeFileSync(join(home, 'told.json'), `${JSON.stringify(await tell(store), null, 2)}\n`)
  console.log(`${STORES}/${name}`)
}
