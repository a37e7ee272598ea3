/**
 * What a server refuses, each from a real one: passwords, users, connections, writes to a replica, and writes to a full disk. The errors say what to
 * do, and whether something may have happened.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { SEED } from '../../long.ts'
import { requirePlatform } from '../../platform.ts'
import { withClient } from '../../postgres/database.ts'
import { ordinaryUser, type PostgresServer, startServer, stopProcess } from '../../postgres/server.ts'
import { Random } from '../../simulation/random.ts'

let home: string
let server: PostgresServer

/** So that a message takes as much of the disk as it is long. */
function incompressible(random: Random): string {
  return Array.from({ length: 150 }, () => random.word().toString(16).padStart(8, '0')).join('')
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-refusals-'))
  chmodSync(home, 0o755)
  const rules = 'host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n'
  writeFileSync(join(home, 'hba'), rules, { mode: 0o644 })
  server = await startServer(join(home, 'data'), ['-c', `hba_file=${join(home, 'hba')}`])
  await (await openStore(server.url)).close()
  await withClient(server.url, (client) =>
    client.query(`CREATE ROLE guarded LOGIN PASSWORD 'right'; CREATE ROLE single LOGIN CONNECTION LIMIT 1;
      GRANT USAGE ON SCHEMA holdfast TO guarded, single; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO guarded, single`),
  )
}, 120_000)

afterAll(async () => {
  await stopProcess(server.pid, 'SIGINT')
  rmSync(home, { recursive: true, force: true })
})

function as(user: string, password = ''): string {
  const url = new URL(server.url)
  url.username = user
  url.password = password
  return url.toString()
}

async function opened(...[where, options]: Parameters<typeof openStore>): Promise<Store> {
  const store = await openStore(where, options)
  onTestFinished(() => store.close())
  return store
}

const refused = (told: string) => ({ code: 'UNAVAILABLE', outcome: 'none', message: expect.stringContaining(told) })

test('a wrong password, and a user that is not there; the password is not repeated', async () => {
  const failure = await openStore(as('guarded', 'wrong-one'), { migrate: false }).catch((error: unknown) => error)
  expect(failure).toMatchObject(refused('refused the password'))
  expect(String(failure)).not.toContain('wrong-one')
  await expect(openStore(as('guarded'), { migrate: false })).rejects.toMatchObject(refused('asks for a password'))
  await expect(openStore(as('nobody_here'))).rejects.toMatchObject(refused('refused the user'))
})

test('a password that is asked for is asked for with each connection, and may change', async () => {
  let password = 'right'
  const asked = vi.fn(async () => password)
  const store = await opened({ url: as('guarded'), password: asked }, { migrate: false })
  const session = store.session('changing')
  await session.append({ role: 'user', content: 'one' })
  await withClient(server.url, async (client) => {
    password = 'another'
    await client.query(`ALTER ROLE guarded PASSWORD 'another'`)
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'guarded'`)
  })
  const before = asked.mock.calls.length
  await session.append({ role: 'user', content: 'two' })
  expect((await session.info()).messageCount).toBe(2)
  expect(asked.mock.calls.length).toBeGreaterThan(before)
  await withClient(server.url, (client) => client.query(`ALTER ROLE guarded PASSWORD 'right'`))
})

test('no connection that the server could give', async () => {
  await withClient(as('single'), async () => {
    await expect(openStore(as('single'), { migrate: false })).rejects.toMatchObject(refused('no connection to give'))
  })
  await opened({ url: as('single'), connections: 1 }, { migrate: false })
})

test('a replica is read, tells that it is one, and refuses what would be written', async () => {
  const primary = await opened(server.url)
  await primary.session('s').append({ role: 'user', content: 'from the primary' })
  const copy = join(home, 'replica', 'data')
  mkdirSync(join(home, 'replica'), { mode: 0o755 })
  // A copy of the files of a server that has ended is a base backup.
  await stopProcess(server.pid, 'SIGINT')
  cpSync(join(home, 'data'), copy, { recursive: true, preserveTimestamps: true })
  if (userInfo().uid === 0) spawnSync('chown', ['-R', `${ordinaryUser().uid}:${ordinaryUser().gid}`, copy])
  rmSync(join(copy, 'postmaster.pid'), { force: true })
  chmodSync(copy, 0o700)
  writeFileSync(join(copy, 'standby.signal'), '')
  const hba = ['-c', `hba_file=${join(home, 'hba')}`]
  server = await startServer(join(home, 'data'), hba, server.port)
  const replica = await startServer(copy, [...hba, '-c', `primary_conninfo=host=127.0.0.1 port=${server.port} user=postgres`])
  onTestFinished(() => stopProcess(replica.pid, 'SIGINT'))
  const store = await openStore(replica.url)
  try {
    expect(store.warnings.join()).toContain('replica')
    const session = store.session('s')
    expect((await session.messages()).messages.map(({ message }) => message.content)).toEqual(['from the primary'])
    await primary.session('s').append({ role: 'user', content: 'a little late' })
    await vi.waitFor(async () => expect((await session.messages()).messages.length).toBe(2), 30_000)
    await expect(session.append({ role: 'user', content: 'no' })).rejects.toMatchObject(refused('Name the primary'))
  } finally {
    await store.close()
  }
})

const tmpfs = requirePlatform('tmpfs')

test.skipIf(!tmpfs.available)('a full disk: nothing is acknowledged or half there, and it goes on when there is space again', async () => {
  const place = join(home, 'small')
  mkdirSync(place)
  const { uid, gid } = ordinaryUser()
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', `size=24m,mode=0700,uid=${uid},gid=${gid}`, 'tmpfs', place]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', ['--lazy', place]))
  const url = new URL(server.url)
  url.pathname = '/full_disk'
  const store = await withClient(server.url, async (client) => {
    await client.query(`CREATE TABLESPACE small LOCATION '${place}'`)
    await client.query('CREATE DATABASE full_disk TABLESPACE small')
    return openStore(url.toString())
  })
  onTestFinished(async () => {
    await store.close()
    await withClient(server.url, async (client) => {
      await client.query('DROP DATABASE full_disk WITH (FORCE)')
      await client.query('DROP TABLESPACE small')
    })
  })
  await withClient(url.toString(), (client) =>
    client.query(`CREATE TABLE filler AS SELECT repeat(md5(i::text), 60) FROM generate_series(1, 2500) i`),
  )
  const session = store.session('s')
  const acknowledged: string[] = []
  const random = new Random(SEED)
  let failure: unknown
  for (let i = 0; failure === undefined && i < 3000; i++) {
    const messages = Array.from({ length: 40 }, (_, j) => ({ id: `m${i}-${j}`, role: 'user', content: incompressible(random) }))
    try {
      await session.append(messages)
      acknowledged.push(...messages.map(({ id }) => id))
    } catch (error) {
      failure = error
    }
  }
  expect(failure).toMatchObject({ code: 'NO_SPACE', outcome: 'none' })
  await withClient(url.toString(), (client) => client.query('DROP TABLE filler'))
  await session.append({ id: 'after', role: 'user', content: 'there is space again' })
  const fresh = await opened(url.toString())
  const ids: string[] = []
  for (let more = true; more; ) {
    const after = ids.at(-1)
    const page = await fresh.session('s').messages({ limit: 1000, from: 'start', ...(after === undefined ? {} : { after }) })
    ids.push(...page.messages.map(({ id }) => id))
    more = page.more
  }
  expect(ids).toEqual([...acknowledged, 'after'])
})
