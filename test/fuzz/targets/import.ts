/** An upload that is imported twice: the second time nothing is new. The first byte chooses the name of the file. */
import assert from 'node:assert/strict'
import { HoldfastError } from '../../../src/errors.ts'
import { openStore } from '../../../src/store/open-store.ts'
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
  const run = async (): Promise<{ messages: number; sessions: Set<string> }> => {
    let messages = 0
    const sessions = new Set<string>()
    for await (const report of importInto(store, bytesSources(name, data.subarray(1)))) {
      messages += report.messages
      if (report.session !== null) sessions.add(report.session)
    }
    return { messages, sessions }
  }
  try {
    const first = await run()
    let stored = 0
    for (const session of first.sessions) stored += (await store.session(session).info()).messageCount
    assert.ok(stored >= 0)
    assert.equal((await run()).messages, 0, 'the second import of the same bytes brought new messages')
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
  } finally {
    await store.close()
  }
}

export const targets: readonly Target[] = [upload]
