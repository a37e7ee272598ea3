/**
 * Servers restarted one after the other, from a version of the software to one that has a migration more, while clients append, read and list. The next
 * version is this one with another migration: whatever a migration may add is added under the feet of those that run.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { SCHEMA_VERSION } from '../../../src/engines/postgres/migrate.ts'
import { SEED } from '../../long.ts'
import { emptyDatabase, withClient } from '../../postgres/database.ts'
import { ServerProcess } from '../../server/process.ts'
import { Random } from '../../simulation/random.ts'
import type { FinalSession } from '../../torture/case.ts'
import { check } from '../../torture/check.ts'
import { type Answer, type Call, digestOf, NOTHING, nowUs, type Wish } from '../../torture/history.ts'

const SESSIONS = ['a', 'b']
const CLIENTS = 4
const random = new Random(SEED)
const ADDED = `
ALTER TABLE @.journals ADD COLUMN later text;
ALTER TABLE @.lines ADD COLUMN later bigint DEFAULT 7;
ALTER TABLE @.catalog_sessions ADD COLUMN later text;
CREATE TABLE @.later (one integer PRIMARY KEY);
CREATE INDEX later_tail ON @.journals (tail);
`

/** The program of the next version. */
function nextVersion(): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-next-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const skipped = /(?:\.d\.ts|\.map)$|[\\/]dist[\\/](?:web|cli[\\/]bundle)$/
  cpSync('dist', join(home, 'dist'), { recursive: true, filter: (path) => !skipped.test(path) })
  cpSync('package.json', join(home, 'package.json'))
  symlinkSync(join(process.cwd(), 'node_modules'), join(home, 'node_modules'))
  const migrations = join(home, 'dist', 'engines', 'postgres', 'migrations.js')
  const text = readFileSync(migrations, 'utf8')
  const end = text.lastIndexOf('];')
  expect(end).toBeGreaterThan(0)
  writeFileSync(migrations, `${text.slice(0, end)}\`${ADDED}\`,\n${text.slice(end)}`)
  return join(home, 'dist', 'cli', 'main.js')
}

interface Scene {
  readonly calls: Call[]
  readonly servers: ServerProcess[]
  readonly served: Map<string, number>
  over: boolean
}

/** Appends through any server, again under the same id until it was answered; reads and lists now and then. */
async function client(scene: Scene, number: number): Promise<void> {
  const done = (begun: number, wish: Wish, answer: Partial<Answer> = {}): void => {
    scene.calls.push({ ...wish, told: 'ok', ...answer, client: `c${number}`, number: scene.calls.length, begun, ended: nowUs() })
  }
  for (let i = 0; !scene.over; i++) {
    const [session, id] = [SESSIONS[i % SESSIONS.length] as string, `c${number}-${i}`]
    const begun = nowUs()
    let isAppended = false
    for (let isDone = false; !isDone; ) {
      const server = scene.servers[random.int(scene.servers.length)] as ServerProcess
      try {
        const store = connect(server.url, { retries: 0 })
        const handle = store.session(session)
        await handle.append({ id, role: 'user', content: `parcel ${id}` })
        if (!isAppended) done(begun, { kind: 'append', session, tags: [id] })
        isAppended = true
        if (i % 7 === 0) {
          const from = nowUs()
          const ids = await allIds(handle)
          done(from, { kind: 'read', session }, { seen: [{ session, count: ids.length, digest: digestOf(ids), title: null }] })
          expect((await store.list()).sessions.length).toBeGreaterThan(0)
        }
        scene.served.set(server.url, (scene.served.get(server.url) ?? 0) + 1)
        isDone = true
      } catch {
        // It stops, or the tables are being changed.
        await sleep(20)
      }
    }
    await sleep(5)
  }
}

type Readable = Pick<Awaited<ReturnType<ReturnType<typeof connect>['session']>>, 'messages'>

async function allIds(session: Readable): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const after = ids.at(-1)
    const { messages, more } = await session.messages({ limit: 1000, from: 'start', ...(after === undefined ? {} : { after }) })
    ids.push(...messages.map(({ id }) => id))
    if (!more || messages.length === 0) return ids
  }
}

test('no append is lost, doubled or refused for good while servers of two versions run on one database', async () => {
  const url = await emptyDatabase()
  const words = ['--no-auth', '--quiet']
  const old = [await ServerProcess.start(url, words), await ServerProcess.start(url, words)]
  const scene: Scene = { calls: [], servers: [...old], served: new Map(), over: false }
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(scene, number))
  const busy = async (servers: readonly ServerProcess[]): Promise<void> => {
    const before = servers.map((server) => scene.served.get(server.url) ?? 0)
    await vi.waitFor(
      () => expect(servers.every((server, i) => (scene.served.get(server.url) ?? 0) > (before[i] as number) + 3)).toBe(true),
      {
        timeout: 60_000,
      },
    )
  }
  await busy(old)

  const main = nextVersion()
  const next = await ServerProcess.start(url, words, { main })
  scene.servers.push(next)
  const version = await withClient(url, (one) => one.query<{ version: number }>('SELECT max(version) AS version FROM holdfast.migrations'))
  expect(version.rows[0]?.version).toBe(SCHEMA_VERSION + 1)
  // Both versions serve, the older one on tables that it does not know all of.
  await busy([...old, next])

  for (const leaving of old) {
    scene.servers.splice(scene.servers.indexOf(leaving), 1)
    // As whoever is interrupted, with everything acknowledged kept.
    expect((await leaving.stop()).code).toBe(130)
    if (leaving === old[0]) scene.servers.push(await ServerProcess.start(url, [...words, '--no-migrate'], { main }))
    await busy(scene.servers)
  }
  await expect(ServerProcess.start(url, words)).rejects.toThrow('newer Holdfast')

  scene.over = true
  await Promise.all(clients)
  const store = connect(next.url)
  const sessions = new Map<string, FinalSession>()
  for (const id of SESSIONS) {
    const tags = await allIds(store.session(id))
    sessions.set(id, { parent: null, status: 'ok', tags, archives: [], live: tags, title: null, extracted: [] })
  }
  const calls = scene.calls.sort((one, other) => one.begun - other.begun)
  expect(check({ ...NOTHING, calls }, { sessions, catalog: [], damage: [], unfinished: [] })).toEqual([])
  expect((await store.search('parcel')).hits.length).toBe(20)
})
