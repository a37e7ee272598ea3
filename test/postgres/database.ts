/** Databases for tests: one template for a file, with the tables in it, and a copy of it for whoever asks. On a server that somebody else runs, all are dropped behind the file. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll } from 'vitest'
import { openPostgresEngine } from '../../src/engines/postgres/engine.ts'
import { isForeign, sharedServer } from './server.ts'

const made: string[] = []
let template: Promise<string> | undefined
let watching: Promise<pg.Client> | undefined

/** The address of a new database that holds an empty store. */
export async function newDatabase(): Promise<string> {
  const server = await sharedServer()
  template ??= makeTemplate(server)
  return create(server, await template)
}

/** The address of a new database that holds nothing. */
export async function emptyDatabase(): Promise<string> {
  return create(await sharedServer())
}

/** Does something with a connection to a database. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * Resolves when none of these databases has had anything to do for a while: as often as this is asked, and answered by the same machine, which
 * takes longer the busier that is.
 */
export async function untilDatabasesRest(): Promise<void> {
  watching ??= sharedServer().then(async (connectionString) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    return client
  })
  const client = await watching
  for (let resting = 0; resting < 8; ) {
    const { rowCount } = await client.query(`SELECT FROM pg_stat_activity WHERE datname = ANY ($1) AND state <> 'idle'`, [made])
    resting = rowCount === 0 ? resting + 1 : 0
    await sleep(10)
  }
}

async function makeTemplate(server: string): Promise<string> {
  const url = await create(server)
  const engine = await openPostgresEngine({ url, keysOf: () => [] })
  await engine.close()
  return new URL(url).pathname.slice(1)
}

async function create(server: string, like?: string): Promise<string> {
  const name = `holdfast_test_${randomBytes(8).toString('hex')}`
  await withClient(server, (client) => client.query(`CREATE DATABASE ${name}${like === undefined ? '' : ` TEMPLATE ${like}`}`))
  made.push(name)
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.toString()
}

afterAll(async () => {
  await (await watching)?.end()
  watching = undefined
  // A server of the run's own is removed with all that is in it, which takes less time.
  if (made.length === 0 || !isForeign()) return
  await withClient(await sharedServer(), async (client) => {
    for (const name of made.splice(0)) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  })
}, 600_000)
