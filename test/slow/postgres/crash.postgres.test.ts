/** A PostgreSQL server that crashes loses what it committed without waiting for the disk. Neither lists nor followers may depend on that. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { Catalog } from '../../../src/engine/catalog.ts'
import { openPostgresEngine } from '../../../src/engines/postgres/engine.ts'
import { sessionReducer } from '../../../src/session/reducer.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { startServer, stopProcess } from '../../postgres/server.ts'

/** The server writes back what it need not have on the disk as late as it can. */
const LATE = ['-c', 'wal_writer_delay=10s']

async function ownServer() {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-crash-'))
  // The server's user has to reach its directory.
  chmodSync(home, 0o755)
  const data = join(home, 'data')
  let server = await startServer(data, LATE)
  onTestFinished(async () => {
    await stopProcess(server.pid, 'SIGQUIT')
    rmSync(home, { recursive: true, force: true })
  })
  return {
    url: server.url,
    /** Ends the server with a signal and starts it again. */
    restart: async (signal: 'SIGKILL' | 'SIGINT') => {
      await stopProcess(server.pid, signal)
      for (;;) {
        try {
          server = await startServer(data, LATE, server.port)
          return
        } catch {
          // Its children have not ended yet.
          await sleep(200)
        }
      }
    },
  }
}

test('the rows that a list was answered from survive a crash of the database', async () => {
  const { url, restart } = await ownServer()
  await using store = await openStore(url)
  const session = store.session('talk')
  for (const expected of [1, 2, 3]) {
    await session.append({ role: 'user', content: `message ${expected}` })
    expect((await store.list()).sessions[0]?.totalMessageCount).toBe(expected)
  }
  await restart('SIGKILL')
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(
    `SELECT info::jsonb -> 'totalMessageCount' AS messages FROM holdfast.catalog_sessions WHERE id = 'talk'`,
  )
  await client.end()
  expect(rows).toEqual([{ messages: 3 }])
})

// The server crashes after rows or text were put, and before the answer is read.
test.each(['advance', 'search'] as const)('no answer is stale if the database crashes just before %s of the catalog', async (method) => {
  const { url, restart } = await ownServer()
  const engine = await openPostgresEngine({ url, keysOf: sessionReducer.keysOf })
  const catalog = (await engine.catalog?.({ empty: false })) as Catalog
  let crash: (() => Promise<void>) | undefined
  const call = catalog[method].bind(catalog) as (...values: unknown[]) => Promise<unknown>
  const crashing = async (...values: unknown[]): Promise<unknown> => {
    await crash?.()
    crash = undefined
    return call(...values)
  }
  await using store = await openStore(Object.assign(engine, { catalog: async () => Object.assign(catalog, { [method]: crashing }) }))
  const answer = async (): Promise<unknown> => {
    if (method === 'advance') return (await store.list()).sessions[0]?.totalMessageCount
    const { hits, lag } = await store.search('word', { kinds: ['message'] })
    return lag ?? hits.length
  }
  await store.session('talk').append({ role: 'user', content: 'the first word' })
  expect(await answer()).toBe(1)
  await store.session('talk').append({ role: 'user', content: 'the second word' })
  crash = () => restart('SIGKILL')
  expect(await answer()).toBe(2)
  expect(crash).toBe(undefined)
})

// Numbers of transactions that the crash took are used again: a change under one of them would look like an old one.
test('a cursor of the feed from before a crash of the database is answered with a reset', async () => {
  const { url, restart } = await ownServer()
  await (await openStore(url)).close()
  const engine = await openPostgresEngine({ url, keysOf: () => [] })
  onTestFinished(() => engine.close())
  const { cursor } = await engine.changes()
  await restart('SIGINT')
  expect((await engine.changes(cursor)).reset).toBe(false)
  await restart('SIGKILL')
  expect((await engine.changes(cursor)).reset).toBe(true)
})
