/** An upload that is imported twice: the second time nothing is new. The first byte chooses the name of the file. */
import assert from 'node:assert/strict'
import { HoldfastError } from '../../../src/errors.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { bytesSources } from '../../../src/transfer/bytes.ts'
import { importInto } from '../../../src/transfer/import/import.ts'
import { FIXTURES, fixtureBytes } from '../../transfer/fixtures.ts'
import type { Target } from '../target.ts'

const upload: Target = {
  name: 'upload',
  module: import.meta.url,
  seeds: FIXTURES.map((fixture, index) => Buffer.concat([Buffer.from([index]), fixtureBytes(fixture)])),
  fuzz,
}

async function fuzz(data: Buffer): Promise<void> {
  const name = FIXTURES[(data[0] ?? 0) % FIXTURES.length]?.name ?? ''
  const store = await openStore('memory:')
  const run = async (): Promise<number> => {
    let messages = 0
    for await (const report of importInto(store, bytesSources(name, data.subarray(1)))) messages += report.messages
    return messages
  }
  try {
    await run()
    await forgetSources(store)
    assert.equal(await run(), 0, 'the second import of the same bytes brought new messages')
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'PAYLOAD_TOO_LARGE')) throw error
  } finally {
    await store.close()
  }
}

/** Sources that the ledger knows are not read again. */
async function forgetSources(store: Store): Promise<void> {
  const own = store.in('_store')
  for (const { id } of (await own.list()).sessions) {
    const ledger = own.session(id)
    for await (const { key } of ledger.entries('sources')) await ledger.putEntries([{ channel: 'sources', key, value: {} }])
  }
}

export const targets: readonly Target[] = [upload]
