/**
 * Four servers on one database, and everything that goes wrong with servers, databases and the ways between them: processes killed at random, the
 * database killed and started again, its link cut, answers that are lost, connections that are reset and slow. Clients repeat what they are not sure of under the same
 * ids. At the end one history must explain what every client was told.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { Worker } from '../../../src/commit/worker.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { runs, SEED } from '../../long.ts'
import { requirePlatform } from '../../platform.ts'
import { makeNamespace, type Namespace } from '../../postgres/namespace.ts'
import { type BreakableWay, startProxy } from '../../postgres/proxy.ts'
import { type PostgresServer, startServer, stopProcess } from '../../postgres/server.ts'
import { ServerProcess } from '../../server/process.ts'
import { Random } from '../../simulation/random.ts'
import type { FinalSession } from '../../torture/case.ts'
import { check } from '../../torture/check.ts'
import { type Answer, type Call, digestOf, NOTHING, nowUs, type Wish } from '../../torture/history.ts'

const SERVERS = 4
const CLIENTS = 8
const SESSIONS = ['a', 'b', 'c']
const TROUBLE_MS = runs(15_000, 25_000)

type Trouble = 'killServer' | 'reset' | 'cut' | 'cutLink' | 'slow' | 'killDatabase'

const random = new Random(SEED)
const netns = requirePlatform('netns')

class World {
  readonly calls: Call[] = []
  readonly #data: string
  #database: PostgresServer
  readonly #ways: BreakableWay[] = []
  readonly #servers: (ServerProcess | undefined)[] = []
  /** The network that the database is in; without one, cuts are left to the ways. */
  readonly #namespace: Namespace | undefined
  readonly troubles: Record<Trouble, number> = { killServer: 0, reset: 0, cut: 0, cutLink: 0, slow: 0, killDatabase: 0 }
  over = false

  private constructor(data: string, database: PostgresServer, namespace: Namespace | undefined) {
    this.#data = data
    this.#database = database
    this.#namespace = namespace
  }

  static async start(): Promise<World> {
    const home = mkdtempSync(join(tmpdir(), 'holdfast-servers-'))
    // The server's user has to reach its directory.
    chmodSync(home, 0o755)
    const data = join(home, 'data')
    const namespace = netns.available ? makeNamespace() : undefined
    const world = new World(data, await startServer(data, [], undefined, namespace), namespace)
    onTestFinished(async () => {
      namespace?.mend()
      await Promise.all(world.#ways.map((way) => way.close()))
      await stopProcess(world.#database.pid, 'SIGQUIT')
      namespace?.remove()
      rmSync(home, { recursive: true, force: true })
    })
    await (await openStore(world.#database.url)).close()
    for (let i = 0; i < SERVERS; i++) {
      world.#ways.push(await startProxy(world.#database.url))
      world.#servers.push(await world.#serve(i))
    }
    return world
  }

  get url(): string {
    return this.#database.url
  }

  /** The address of any server that is up. */
  get address(): string | undefined {
    const up = this.#servers.filter((server) => server !== undefined)
    return up[random.int(up.length)]?.url
  }

  #serve(i: number): Promise<ServerProcess> {
    return ServerProcess.start((this.#ways[i] as BreakableWay).url, ['--no-auth', '--no-migrate', '--quiet'], { lasting: true })
  }

  async trouble(): Promise<void> {
    const kinds: Trouble[] = ['killServer', 'killServer', 'reset', 'reset', 'cut', 'cut', 'slow', 'killDatabase']
    const link = this.#namespace
    if (link !== undefined) kinds.push('cutLink', 'cutLink')
    // Each at least once, then whatever comes.
    const kind = kinds.find((one) => this.troubles[one] === 0) ?? (kinds[random.int(kinds.length)] as Trouble)
    this.troubles[kind]++
    const way = this.#ways[random.int(SERVERS)] as BreakableWay
    if (kind === 'killServer') await this.#killServer(random.int(SERVERS))
    else if (kind === 'reset') way.reset()
    else if (kind === 'killDatabase') await this.#killDatabase()
    else if (kind === 'cutLink')
      await during(
        500 + random.int(2000),
        () => link?.cut(),
        () => link?.mend(),
      )
    else if (kind === 'cut')
      await during(
        300,
        () => (way.cutAnswers = true),
        () => (way.cutAnswers = false),
      )
    else
      await during(
        500,
        () => (way.delayMs = 60),
        () => (way.delayMs = 0),
      )
  }

  async #killServer(i: number): Promise<void> {
    const server = this.#servers[i]
    this.#servers[i] = undefined
    await server?.kill()
    // One that starts while the database is away gives up, as it should; whoever runs it starts it again.
    while (this.#servers[i] === undefined && !this.over)
      this.#servers[i] = await this.#serve(i).catch(() => sleep(200).then(() => undefined))
  }

  async #killDatabase(): Promise<void> {
    await stopProcess(this.#database.pid, 'SIGKILL')
    for (;;) {
      try {
        this.#database = await startServer(this.#data, [], this.#database.port, this.#namespace)
        return
      } catch {
        // What is left of the one before has not ended yet.
        await sleep(200)
      }
    }
  }

  async stop(): Promise<void> {
    this.over = true
    await Promise.all(this.#servers.map((server) => server?.stop()))
  }
}

async function during(ms: number, begin: () => unknown, end: () => unknown): Promise<void> {
  begin()
  await sleep(ms)
  end()
}

/** Appends, reads and commits through whichever server is up, each until it was answered. */
async function client(world: World, number: number): Promise<void> {
  const done = (begun: number, wish: Wish, answer: Partial<Answer> = {}): void => {
    world.calls.push({ ...wish, told: 'ok', ...answer, client: `c${number}`, number: world.calls.length, begun, ended: nowUs() })
  }
  for (let i = 0; !world.over; i++) {
    const session = SESSIONS[random.int(SESSIONS.length)] as string
    const id = `c${number}-${i}`
    const begun = nowUs()
    await untilAnswered(world, async (address) => {
      const store = connect(address, { retries: 0 })
      await store.session(session).append({ id, role: 'user', content: `Remember that ${id} likes tea.` })
    })
    done(begun, { kind: 'append', session, tags: [id] })
    if (i % 5 === 0) {
      const from = nowUs()
      const ids = await untilAnswered(world, async (address) => allIds(connect(address, { retries: 0 }).session(session)))
      done(from, { kind: 'read', session }, { seen: [{ session, count: ids.length, digest: digestOf(ids), title: null }] })
    }
    if (i % 12 === 0) {
      await untilAnswered(world, async (address) => {
        await connect(address, { retries: 0 })
          .session(session)
          .commit({ keep: 2, key: `commit ${id}` })
      })
    }
  }
}

async function untilAnswered<T>(world: World, work: (address: string) => Promise<T>): Promise<T> {
  for (;;) {
    const { address } = world
    try {
      if (address !== undefined) return await work(address)
    } catch {
      // Not sure, or refused for now: again, at any server, under the same ids.
    }
    await sleep(20)
  }
}

type Readable = Pick<Awaited<ReturnType<Store['session']>>, 'messages'>

async function allIds(session: Readable): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const after = ids.at(-1)
    const { messages, more } = await session.messages({
      limit: 1000,
      archived: true,
      from: 'start',
      ...(after === undefined ? {} : { after }),
    })
    ids.push(...messages.map(({ id }) => id))
    if (!more || messages.length === 0) return ids
  }
}

test('one history explains what all clients of four servers saw, whatever was killed or cut', async () => {
  const world = await World.start()
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(world, number))
  for (const until = Date.now() + TROUBLE_MS; Date.now() < until || (netns.available && world.troubles.cutLink === 0); ) {
    await world.trouble()
    await sleep(300)
  }
  world.over = true
  await Promise.all(clients)
  await world.stop()

  const store = await openStore(world.url)
  onTestFinished(() => store.close())
  await new Worker(store).drain()
  const sessions = new Map<string, FinalSession>()
  for (const id of SESSIONS) sessions.set(id, await finalOf(store, id))
  const calls = world.calls.sort((a, b) => a.begun - b.begun)
  expect(check({ ...NOTHING, calls }, { sessions, catalog: [], damage: [], unfinished: [] })).toEqual([])
  expect(calls.filter(({ kind }) => kind === 'append').length).toBeGreaterThan(100)
  expect(world.troubles.cutLink > 0).toBe(netns.available)
})

async function finalOf(store: Store, id: string): Promise<FinalSession> {
  const session = store.session(id)
  const tags = await allIds(session)
  const { commitCount, messageCount } = await session.info()
  const archives: { number: number; tags: string[] }[] = []
  const extracted: string[] = []
  for (let number = 1; number <= commitCount; number++) {
    const { messages = [], memories = [] } = (await session.archive(number)) ?? {}
    archives.push({ number, tags: messages.map((message) => message.id) })
    extracted.push(...new Set(memories.flatMap(({ sources }) => sources)))
  }
  const live = tags.slice(tags.length - messageCount)
  return { parent: null, status: 'ok', tags, archives, live, title: null, extracted }
}
