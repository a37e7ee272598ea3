/** A store in PostgreSQL, as its users open it: addresses, rights, schemas, versions, and connections that break. */
import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/engine/clock.ts'
import { Database } from '../../../src/engines/postgres/database.ts'
import { migrate, migrationSql, SCHEMA_VERSION } from '../../../src/engines/postgres/migrate.ts'
import { type OpenOptions, openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { emptyDatabase, newDatabase, withClient } from '../../postgres/database.ts'
import { type BreakableWay, startProxy } from '../../postgres/proxy.ts'

async function opened(where: Parameters<typeof openStore>[0], options: OpenOptions = {}): Promise<Store> {
  const store = await openStore(where, options)
  onTestFinished(() => store.close())
  return store
}

async function proxied(): Promise<{ store: Store; proxy: BreakableWay; url: string }> {
  const url = await newDatabase()
  const proxy = await startProxy(url)
  const store = await openStore(proxy.url)
  onTestFinished(async () => {
    proxy.cutAnswers = false
    await store.close()
    await proxy.close()
  })
  return { store, proxy, url }
}

async function texts(store: Store, id: string): Promise<unknown[]> {
  const { messages } = await store.session(id).messages()
  return messages.map(({ message }) => message.content)
}

describe('a place', () => {
  test('may be an address, or a pool with a schema; schemas are stores of their own', async () => {
    const url = await emptyDatabase()
    const pool = new pg.Pool({ connectionString: url })
    onTestFinished(() => pool.end())
    const [one, other] = [await opened(`${url}?schema=one`), await opened({ pool, schema: 'other' })]
    await one.session('s').append({ role: 'user', content: 'here' })
    expect(await texts(await opened({ pool, schema: 'one' }), 's')).toEqual(['here'])
    expect((await other.list()).sessions).toEqual([])
  })

  test.each([
    [{}, 'url'],
    [{ url: 'http://x' }, 'postgres://'],
    [{ url: 'postgres://[' }, 'cannot be read'],
    [{ url: 'postgres://x/y?schema=Robert"; drop' }, 'schema'],
    [{ url: 'postgres://x/y', connections: 0 }, 'connections'],
  ])('%j is a mistake of its caller', async (place, told) => {
    await expect(openStore(place)).rejects.toThrow(TypeError)
    await expect(openStore(place)).rejects.toThrow(told)
  })
})

describe('what goes wrong is told with what to do', () => {
  test('nobody listens, or there is no such database', async () => {
    const url = new URL(await newDatabase())
    await expect(openStore('postgres://127.0.0.1:1/x')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('Nobody listens'),
    })
    url.pathname = '/holdfast_none'
    await expect(openStore(url.toString())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('no such database'),
    })
  })

  test('the user has no rights', async () => {
    const url = await newDatabase()
    const role = `holdfast_${new URL(url).pathname.slice(-12)}`
    await withClient(url, (client) => client.query(`CREATE ROLE ${role} LOGIN`))
    onTestFinished(() => withClient(url, async (client) => void (await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`))))
    const as = new URL(url)
    as.username = role
    await expect(openStore(as.toString())).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('rights') })
    await withClient(url, (client) =>
      client.query(
        `GRANT USAGE ON SCHEMA holdfast TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO ${role}`,
      ),
    )
    // No right to change tables is needed by whoever does not.
    const store = await opened(as.toString(), { migrate: false })
    await store.session('s').append({ role: 'user', content: 'granted' })
    expect(await texts(store, 's')).toEqual(['granted'])
  })

  test('the server may only be read', async () => {
    const url = await newDatabase()
    await withClient(url, (client) =>
      client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`),
    )
    const session = (await opened(url)).session('s')
    await expect(session.append({ role: 'user', content: 'no' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'none',
      message: expect.stringContaining('primary'),
    })
  })
})

describe('tables', () => {
  test('are made once, whoever comes first', async () => {
    const url = await emptyDatabase()
    const stores = await Promise.all(Array.from({ length: 6 }, () => opened(url)))
    await Promise.all(stores.map(async (store, i) => store.session('s').append({ role: 'user', content: `${i}` })))
    expect((await texts(stores[0] as Store, 's')).sort()).toEqual(['0', '1', '2', '3', '4', '5'])
  })

  test('can be made by hand from what is printed, and are then left alone', async () => {
    const url = await emptyDatabase()
    await expect(openStore(url, { migrate: false })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining('holdfast migrate'),
    })
    await withClient(url, (client) => client.query(migrationSql('holdfast')))
    await opened(url, { migrate: false })
  })

  test('of a newer version are refused', async () => {
    const url = await newDatabase()
    await withClient(url, (client) => client.query(`INSERT INTO holdfast.migrations (version) VALUES (${SCHEMA_VERSION + 1})`))
    for (const options of [{}, { migrate: false }]) {
      await expect(openStore(url, options)).rejects.toMatchObject({
        code: 'UNSUPPORTED_VERSION',
        message: expect.stringContaining('newer Holdfast'),
      })
    }
  })
})

describe('a rolling restart', () => {
  test('leaves those at work that run, on tables that a newer software has changed; one that starts is refused', async () => {
    const url = await newDatabase()
    const [one, other] = [await opened(url), await opened(url)]
    await one.session('s').append({ role: 'user', content: 'before' })
    await withClient(url, (client) =>
      client.query(`ALTER TABLE holdfast.journals ADD COLUMN later text; ALTER TABLE holdfast.lines ADD COLUMN later text;
        CREATE TABLE holdfast.later (x int); INSERT INTO holdfast.migrations (version) VALUES (${SCHEMA_VERSION + 1})`),
    )
    await one.session('s').append({ role: 'user', content: 'by one that runs' })
    await other.session('s').append({ role: 'user', content: 'by another' })
    expect(await texts(one, 's')).toEqual(['before', 'by one that runs', 'by another'])
    expect((await other.list()).sessions.length).toBe(1)
    await expect(openStore(url)).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION' })
  })

  test('begins with tables of the version before, which are refused where they may not be changed', async () => {
    const url = await emptyDatabase()
    const database = new Database({ url }, systemClock)
    onTestFinished(() => database.close())
    expect(await migrate(database, SCHEMA_VERSION - 1)).toEqual([1])
    await expect(openStore(url, { migrate: false })).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' })
    expect(await migrate(database)).toEqual([SCHEMA_VERSION])
    await opened(url, { migrate: false })
  })

  test('changes the tables again after a deadlock with another transaction', async () => {
    const url = await emptyDatabase()
    const database = new Database({ url }, systemClock)
    onTestFinished(() => database.close())
    await migrate(database, SCHEMA_VERSION - 1)
    await withClient(url, async (client) => {
      // The migration waits for this lock and holds the other one. Only its own check for deadlocks runs, so it is the one that ends.
      await client.query("SET deadlock_timeout = '1min'")
      await client.query('BEGIN')
      await client.query('LOCK TABLE holdfast.migrations IN SHARE MODE')
      const migrated = migrate(database)
      await vi.waitFor(async () => {
        const { rows } = await client.query("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'holdfast.migrations'::regclass")
        expect(rows).toHaveLength(1)
      })
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', ['holdfast migrations of holdfast'])
      await client.query('COMMIT')
      expect(await migrated).toEqual([SCHEMA_VERSION])
    })
  })
})

describe('an append', () => {
  test('is synced even if the default of the server is off', async () => {
    const url = await newDatabase()
    await withClient(url, (client) =>
      client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off;
        CREATE TABLE seen (setting text);
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen VALUES (current_setting(''synchronous_commit'')); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER see AFTER INSERT ON holdfast.lines DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see()`),
    )
    await (await opened(url)).session('s').append({ role: 'user', content: 'hi' })
    const { rows } = await withClient(url, (client) => client.query('SELECT DISTINCT setting FROM seen'))
    expect(rows).toEqual([{ setting: 'on' }])
  })

  test('whose answer was lost happened once, and is answered', async () => {
    const { store, proxy } = await proxied()
    const session = store.session('s')
    await session.append({ role: 'user', content: 'first' })
    proxy.cutAnswers = true
    const lost = session.append({ role: 'user', content: 'lost' })
    await new Promise((resolve) => setTimeout(resolve, 300))
    proxy.cutAnswers = false
    await lost
    expect(await texts(store, 's')).toEqual(['first', 'lost'])
  })

  test('survives connections that break again and again, in one order', async () => {
    const { store, proxy } = await proxied()
    const session = store.session('s')
    const breaking = setInterval(() => proxy.reset(), 120)
    for (let i = 0; i < 80; i++) await session.append({ role: 'user', content: `${i}` })
    clearInterval(breaking)
    expect(await texts(store, 's')).toEqual(Array.from({ length: 80 }, (_, i) => `${i}`))
    expect((await session.info())?.messageCount).toBe(80)
  })

  test('goes on behind a pooler that forgets prepared statements', async () => {
    const pool = new pg.Pool({ connectionString: await newDatabase(), max: 1 })
    onTestFinished(() => pool.end())
    const store = await opened({ pool })
    const session = store.session('s')
    await session.append({ role: 'user', content: 'before' })
    await pool.query('DEALLOCATE ALL')
    await session.append({ role: 'user', content: 'after' })
    expect(await texts(store, 's')).toEqual(['before', 'after'])
  })
})
