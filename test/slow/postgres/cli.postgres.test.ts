/** The command line on a store in PostgreSQL: the same commands, the tables, and copies. */
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../src/engines/postgres/migrate.ts'
import { Cli, Lines } from '../../cli/holdfast.ts'
import { emptyDatabase, newDatabase, withClient } from '../../postgres/database.ts'

/** Commands of one test, on one database. */
function cliOn(url: string): Cli {
  const cli = new Cli()
  cli.extra = { HOLDFAST_STORE: url }
  return cli
}

test('every command works on it as on a directory', async () => {
  const cli = cliOn(`${await newDatabase()}?schema=agents`)
  await cli.json('append', 's', 'My parcel is lost.')
  await cli.json('append', 's', 'Where is it?')
  expect((await cli.json('show', 's')).length).toBe(2)
  await cli.run(['title', 's', 'Lost parcel'])
  expect((await cli.json('list')).map(({ session_id }) => session_id)).toEqual(['s'])
  expect((await cli.json('search', 'parcels')).length).toBeGreaterThan(0)
  expect((await cli.run(['commit', 's', '--wait'])).status).toBe(0)
  expect((await cli.run(['doctor'])).status).toBe(0)
  expect((await cli.run(['doctor', '--rebuild-catalog'])).status).toBe(0)
  expect((await cli.json('tasks')).length).toBe(1)
  const status = await cli.one('status')
  expect(status).toMatchObject({ sessions: { ok: 1 }, tasks: { completed: 1 } })
  expect((await cli.run(['status'])).stdout).toContain('postgres://')
})

test('a password is not shown', async () => {
  const url = new URL(await newDatabase())
  url.password = 'tell-nobody'
  const { stdout, stderr } = await cliOn(url.toString()).run(['status'])
  expect(stdout).toContain('postgres://postgres@')
  expect(stdout + stderr).not.toContain('tell-nobody')
})

test('migrate prints what it would do, does it once, and is for databases', async () => {
  const url = await emptyDatabase()
  const cli = cliOn(url)
  const { stdout } = await cli.run(['migrate', '--print-sql'])
  expect(stdout).toContain('CREATE TABLE "holdfast".lines')
  expect(await cli.failure(['serve', '--no-migrate', '--port', '0'])).toMatchObject({ code: 'FAILED_PRECONDITION' })
  await withClient(url, (client) => client.query(stdout))
  expect(await cli.one('migrate')).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION })
  const other = cliOn(await emptyDatabase())
  expect(await other.one('migrate')).toEqual({ from: 0, to: SCHEMA_VERSION })
  expect((await new Cli().failure(['migrate'])).message).toContain('postgres://')
})

test('two servers on one database serve the same sessions', async () => {
  const url = await newDatabase()
  const [one, other] = [cliOn(url), cliOn(url)]
  const addresses: string[] = []
  for (const cli of [one, other]) {
    const child = cli.start('--json', 'serve', '--no-migrate', '--no-auth', '--port', '0')
    const lines = new Lines(child)
    await lines.until(1)
    addresses.push(String(lines.objects[0]?.url))
  }
  const clients = addresses.map((address) => {
    const cli = new Cli()
    cli.extra = { HOLDFAST_STORE: address }
    return cli
  })
  await clients[0]?.json('append', 's', 'by the first')
  await clients[1]?.json('append', 's', 'by the second')
  const shown = await clients[0]?.json('show', 's')
  expect(shown?.map(({ message }) => (message as { content: string }).content)).toEqual(['by the first', 'by the second'])
  expect((await clients[1]?.json('list'))?.length).toBe(1)
})

test('a server that may only read and write rows does everything, and cannot change a table', async () => {
  const url = await newDatabase()
  const role = `holdfast_rows_${new URL(url).pathname.slice(-12)}`
  const rights = [
    `CREATE ROLE ${role} LOGIN`,
    `GRANT USAGE ON SCHEMA holdfast TO ${role}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO ${role}`,
  ]
  await withClient(url, (client) => client.query(rights.join(';')))
  onTestFinished(() => withClient(url, async (client) => void (await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`))))
  const as = new URL(url)
  as.username = role
  const child = cliOn(as.toString()).start('--json', 'serve', '--no-migrate', '--no-auth', '--port', '0')
  const lines = new Lines(child)
  await lines.until(1)
  const cli = new Cli()
  cli.extra = { HOLDFAST_STORE: String(lines.objects[0]?.url) }
  await cli.json('append', 's', 'My parcel is lost.')
  expect((await cli.json('list')).length).toBe(1)
  expect((await cli.json('search', 'parcel')).length).toBe(1)
  expect((await cli.run(['commit', 's', '--wait'])).status).toBe(0)
  expect((await cli.run(['erase', 's', String((await cli.json('show', 's', '--archived'))[0]?.id)])).status).toBe(0)
  await expect(withClient(as.toString(), (client) => client.query('ALTER TABLE holdfast.lines ADD more text'))).rejects.toThrow('owner')
  child.kill('SIGTERM')
  await once(child, 'close')
})

test('copy brings a directory into a database and back, and says that both are equal', async () => {
  const cli = new Cli()
  await cli.prepareMessages('s', 'a', 'b', 'c')
  const url = await emptyDatabase()
  expect(await cli.one('copy', cli.store, url)).toMatchObject({ sessions: 1, unchanged: 0, verified: true })
  expect(await cli.one('copy', cli.store, url)).toMatchObject({ sessions: 1, unchanged: 1, lines: 0 })
  const back = join(cli.directory, 'back')
  await cli.one('copy', url, back)
  cli.extra = { HOLDFAST_STORE: back }
  expect(await cli.messageIds('s')).toEqual(['a', 'b', 'c'])
  expect((await cli.failure(['copy', 'memory:', back])).status).toBe(2)
})
