/**
 * Tortures a store: many processes use it at once, in every way there is, while processes are killed and stopped, calls fail, clocks jump, and the way to the
 * database is cut. When everybody is done, one history must explain what each client was told (`check.ts`). A seed decides what the clients want and
 * what goes wrong when; what meets what is up to the machine.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../src/store/open-store.ts'
import { Random } from '../simulation/random.ts'
import { check, type Final, type Violation } from './check.ts'
import type { ClientOptions, Role } from './client.ts'
import { harmCounts } from './damage-rules.ts'
import { buildLibrary, FaultPage } from './faults.ts'
import { finalOf } from './final.ts'
import { type FlipOrder, flipBit } from './flips.ts'
import { type Ground, groundOf } from './ground.ts'
import { FileHarm } from './harm-files.ts'
import { HarmLog, readHarms } from './harm-log.ts'
import type { Harmer } from './harm-order.ts'
import { Harming } from './harming.ts'
import { type History, nowUs, readHistory } from './history.ts'
import { Place, startClient, startServing } from './place.ts'
import { cutPower } from './power-cut.ts'
import { scheduleOf, type Trouble } from './schedule.ts'

export interface TortureOptions {
  /** `files`, `postgres`, a directory, or the address of a database. */
  readonly store: string
  readonly seed: number
  readonly durationMs: number
  /** Each sync succeeds and syncs nothing: a bug that a run must find. Defaults to false. */
  readonly liesAboutSyncs?: boolean
  /** How long a client may take to come to its end. Defaults to two minutes. */
  readonly patienceMs?: number
  /** Is told of what is available, of every trouble, and of progress. */
  readonly tell: (line: string) => void
}

export interface Tortured {
  readonly violations: readonly Violation[]
  readonly history: History
  readonly final: Final
  readonly counts: Readonly<Record<string, number>>
  /** Where the histories and the store lie; removed unless something is wrong. */
  readonly home: string
}

const CROWD: readonly Role[] = [
  'writer',
  'writer',
  'writer',
  'remote writer',
  'remote writer',
  'worker',
  'worker',
  'follower',
  'remote follower',
  'lister',
  'importer',
  'importer',
  'doctor',
  'keeper',
  'remote keeper',
  'copier',
]
const SERVERS = 2
/** Short, so that many run out. */
const LEASE_MS = 1500
const PATIENCE_MS = 120_000
/** How long trouble waits for the first answers to writers. */
const START_MS = 60_000
/** Long enough for every writer to be answered, if an answer needs no sync. */
const HELD_MS = 250
/** Of each limited process, and the share of them, in one run or another. */
const DESCRIPTORS = 64
const LIMITED = [0.5, 1]

export async function torture({
  store,
  seed,
  durationMs,
  tell,
  liesAboutSyncs = false,
  patienceMs = PATIENCE_MS,
}: TortureOptions): Promise<Tortured> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-torture-'))
  const ground = await groundOf(store, home)
  try {
    const run = await Run.begin(ground, { home, seed, tell, liesAboutSyncs })
    await run.disturb(durationMs, patienceMs)
    return await run.judge()
  } finally {
    await ground.close()
  }
}

interface RunOptions extends Pick<TortureOptions, 'seed' | 'tell'> {
  readonly home: string
  readonly liesAboutSyncs: boolean
}

class Run {
  readonly #ground: Ground
  readonly #home: string
  readonly #random: Random
  readonly #tell: (line: string) => void
  readonly #places: Place[] = []
  readonly #clients: { client: string; path: string }[] = []
  readonly #counts: Record<string, number> = {}
  readonly #library: string | undefined
  readonly #liesAboutSyncs: boolean
  readonly #begun = nowUs()
  readonly #cuts: Random
  readonly #log: HarmLog
  readonly #harmer: Harmer | undefined
  readonly #limits: Random
  readonly #limited: number
  /** Resolves when the store is mounted. */
  #mounted: Promise<void> = Promise.resolve()
  readonly #stray = new Set<string>()
  #ports: number[] = []

  private constructor(ground: Ground, options: RunOptions) {
    this.#ground = ground
    this.#home = options.home
    this.#random = new Random(options.seed)
    this.#cuts = this.#random.fork()
    this.#limits = this.#random.fork()
    this.#limited = this.#limits.pick(LIMITED)
    this.#tell = options.tell
    this.#liesAboutSyncs = options.liesAboutSyncs
    this.#log = new HarmLog(join(options.home, 'harms.jsonl'))
    const { content } = ground
    this.#harmer =
      content === undefined
        ? undefined
        : new FileHarm({ store: content, aside: join(options.home, 'older'), syncs: this.#syncs, log: this.#log })
    const { library, reason } = buildLibrary(options.home)
    this.#library = library
    if (library === undefined) this.#tell(`no failing calls, and clocks are wrong only from the start of a process: ${reason}`)
    else
      this.#tell(
        `${ground.directory === undefined ? 'clocks jump' : 'calls on the files of the store fail, power cuts take away what was not synced, and clocks jump'}: faults.c is loaded into every process`,
      )
    if (ground.directory === undefined)
      this.#tell(`the ways to the database are cut${ground.killDatabase === undefined ? '; it is not ours to kill' : ', and it is killed'}`)
  }

  static async begin(ground: Ground, options: RunOptions): Promise<Run> {
    const run = new Run(ground, options)
    mkdirSync(join(options.home, 'pages'))
    mkdirSync(join(options.home, 'histories'))
    run.#ports = await freePorts(SERVERS)
    for (const [i, port] of run.#ports.entries()) run.#add(`server-${i}`, (start) => startServing(run.#storeOf(i), port, start))
    const numbers = new Map<Role, number>()
    for (const role of CROWD) {
      if ((role === 'copier' && ground.directory === undefined) || (role.endsWith('keeper') && run.#harmer === undefined)) continue
      const number = numbers.get(role) ?? 0
      numbers.set(role, number + 1)
      run.#addClient(`${role.replace(' ', '-')}-${number}`, role)
    }
    return run
  }

  #add(name: string, start: ConstructorParameters<typeof Place>[1]): void {
    const path = join(this.#home, 'pages', name)
    const nowhere = join(this.#home, 'no-store')
    const faults =
      this.#library === undefined
        ? undefined
        : new FaultPage({ path, library: this.#library, store: this.#ground.directory ?? nowhere, syncs: this.#syncs })
    if (this.#liesAboutSyncs) faults?.lieAboutSyncs()
    const isLimited = this.#limits.chance(this.#limited)
    if (isLimited) this.#count(`processes with ${DESCRIPTORS} descriptors`)
    this.#places.push(new Place(name, start, { faults, descriptors: isLimited ? DESCRIPTORS : undefined }))
  }

  #addClient(name: string, role: Role): void {
    const history = join(this.#home, 'histories', `${name}.jsonl`)
    this.#clients.push({ client: name, path: history })
    const own = this.#random.fork()
    const servers = this.#ports.map((port) => `http://127.0.0.1:${port}`)
    const index = this.#clients.length
    this.#add(name, (start) => {
      const skewMs = own.chance(0.3) ? (own.float() - 0.5) * 100_000_000 : 0
      const options: ClientOptions = {
        ...{ name, role, history, servers, skewMs },
        ...{ seed: own.word(), begun: this.#begun, store: this.#storeOf(index), leaseMs: LEASE_MS },
        ...{ harms: this.#log.path, copied: this.#ground.content ?? '', copies: join(this.#home, 'copies') },
      }
      return startClient(options, start)
    })
  }

  /** Where all processes write down what their syncs have made safe. */
  get #syncs(): string {
    return join(this.#home, 'syncs')
  }

  #storeOf(index: number): string {
    const { ways, store } = this.#ground
    return ways[index % ways.length]?.url ?? store
  }

  /** Lets happen what is to happen, and then all that was done come to its end. */
  async disturb(durationMs: number, patienceMs: number): Promise<void> {
    const troubles = scheduleOf(this.#random.fork(), durationMs, {
      places: this.#places.length,
      ways: this.#ground.ways.length,
      database: this.#ground.killDatabase !== undefined,
      faults: this.#library !== undefined && this.#ground.directory !== undefined,
      clocks: this.#library !== undefined,
      leaseMs: LEASE_MS,
      harms: this.#harmer?.kinds ?? [],
      flips: this.#ground.content !== undefined,
      mounts: this.#ground.mount !== undefined,
    })
    writeFileSync(join(this.#home, 'schedule.jsonl'), troubles.map((trouble) => `${JSON.stringify(trouble)}\n`).join(''))
    await this.#untilBusy()
    const begun = performance.now()
    const lasting = [this.#flipAll(troubles, begun)]
    const keepers = this.#clients.filter(({ client }) => client.includes('keeper'))
    const harming = this.#harmer && new Harming({ harmer: this.#harmer, log: this.#log.path, keepers: () => keepers, begun: this.#begun })
    for (const trouble of troubles) {
      await sleep(Math.max(0, begun + trouble.at - performance.now()))
      // Which names are safe is known by their paths, and those are not theirs now.
      if (trouble.kind === 'power cut' && this.#harmer?.isSwapped === true) continue
      if (trouble.kind === 'power cut') await this.#mounted
      if (trouble.kind === 'flip') continue
      const happening = trouble.kind === 'harm' ? this.#harm(harming, trouble) : this.#happen(trouble)
      // While the database is away, or nobody is there, nothing else can be told from that.
      if (trouble.kind === 'kill database' || trouble.kind === 'power cut') await happening
      else lasting.push(happening)
    }
    await sleep(Math.max(0, begun + durationMs - performance.now()))
    await Promise.all(lasting)
    this.#tell('the clients come to their ends')
    const isServer = ({ name }: Place): boolean => name.startsWith('server')
    // Followers wait for what the others write, and everybody for the servers.
    const isFollower = ({ name }: Place): boolean => name.includes('follower')
    for (const place of this.#places) {
      place.goOn()
      place.faults?.set(undefined)
    }
    // Whoever waits for a harmed session needs those who accept it.
    const isKeeper = ({ name }: Place): boolean => name.includes('keeper')
    const isWriter = (one: Place): boolean => !isServer(one) && !isFollower(one) && !isKeeper(one)
    for (const isNext of [isWriter, isFollower, isKeeper, isServer]) {
      await Promise.all(this.#places.filter(isNext).map((place) => place.finish(patienceMs)))
    }
  }

  /** On a busy machine processes take long to start. Trouble before they have done anything would find nothing to spoil. */
  async #untilBusy(): Promise<void> {
    const writers = this.#clients.filter(({ client }) => client.startsWith('writer'))
    const isAnswered = ({ path }: { readonly path: string }): boolean =>
      existsSync(path) && readFileSync(path, 'utf8').includes('"told":"ok"')
    for (const until = performance.now() + START_MS; performance.now() < until && !writers.every(isAnswered); ) await sleep(50)
  }

  async #harm(harming: Harming | undefined, trouble: Extract<Trouble, { kind: 'harm' }>): Promise<void> {
    const done = await harming?.harm(trouble)
    if (done === undefined) this.#count('harms that met no session')
  }

  /** Waits for no other trouble: most of the files are missing after a power cut. */
  async #flipAll(troubles: readonly Trouble[], begun: number): Promise<void> {
    for (const trouble of troubles) {
      if (trouble.kind !== 'flip') continue
      await sleep(Math.max(0, begun + trouble.at - performance.now()))
      this.#flip(trouble)
    }
  }

  #flip(order: FlipOrder): void {
    const from = nowUs()
    const flip = flipBit(this.#ground.content as string, order)
    if (flip === undefined) return
    this.#count(`flip: ${flip.file}`)
    this.#log.flip({ ...flip, from, to: nowUs() })
  }

  /**
   * Processes that run can go on with the files that they have open. None is started meanwhile: a store that is created in an empty directory is as good
   * as any.
   */
  async #unmount(forMs: number): Promise<void> {
    const { mount } = this.#ground
    await this.#mounted
    let isBack = (): void => undefined
    this.#mounted = new Promise<void>((resolve) => {
      isBack = resolve
    })
    for (const place of this.#places) place.hold(this.#mounted)
    while (this.#places.some(({ isStarting }) => isStarting)) await sleep(10)
    const from = nowUs()
    mount?.leave()
    await sleep(forMs)
    for (const name of mount?.comeBack() ?? []) this.#stray.add(`${name} was created where the store was not mounted`)
    this.#log.strike({ kind: 'unmount', place: null, from, to: nowUs() })
    isBack()
  }

  /** Everything that may keep a process from writing its watermarks is written down with its times. */
  async #happen(trouble: Exclude<Trouble, { kind: 'harm' | 'flip' }>): Promise<void> {
    const place = 'place' in trouble ? (this.#places[trouble.place] as Place) : undefined
    this.#count(trouble.kind)
    const from = nowUs()
    if (trouble.kind === 'unmount') return this.#unmount(trouble.forMs)
    if (trouble.kind === 'kill') place?.kill()
    else if (trouble.kind === 'kill all') for (const one of this.#places) one.kill()
    else if (trouble.kind === 'power cut') await this.#cutPower()
    else if (trouble.kind === 'clock') place?.faults?.jump(trouble.skewMs)
    else if (trouble.kind === 'kill database') await this.#ground.killDatabase?.()
    else if (trouble.kind === 'stop') {
      place?.stop()
      await sleep(trouble.forMs)
      place?.goOn()
    } else if (trouble.kind === 'fault') {
      // What the doctor is told by a disk that fails is not damage of the store.
      if (place?.name.startsWith('doctor') === true || place?.name.startsWith('copier') === true) return
      place?.faults?.set(trouble.fault, trouble.every)
      await sleep(trouble.forMs)
      place?.faults?.set(undefined)
    } else await this.#troubleWay(trouble)
    this.#log.strike({ kind: trouble.kind, place: place?.name ?? null, from, to: nowUs() })
  }

  /**
   * Syncs are held for a moment before the power goes. What is acknowledged in that moment was not synced, and no other process can make it durable
   * with a sync of its own: without that, readers and later writers sync a record within a millisecond, and a cut meets no such moment.
   */
  async #cutPower(): Promise<void> {
    for (const { faults } of this.#places) faults?.holdSyncs(true)
    await sleep(HELD_MS)
    let restore = (): void => undefined
    const restored = new Promise<void>((resolve) => {
      restore = resolve
    })
    await Promise.all(this.#places.map((place) => place.killUntil(restored)))
    const store = this.#ground.directory as string
    const { bytes, names } = cutPower({ store, syncs: this.#syncs, random: this.#cuts })
    this.#count('bytes lost with the power', bytes)
    this.#count('names lost with the power', names)
    for (const { faults } of this.#places) faults?.holdSyncs(false)
    restore()
  }

  async #troubleWay({ kind, way: number, forMs }: Extract<Trouble, { way: number }>): Promise<void> {
    const way = this.#ground.ways[number]
    if (way === undefined) return
    if (kind === 'reset') return way.reset()
    if (kind === 'cut') way.cutAnswers = true
    else way.delayMs = 80
    await sleep(forMs)
    way.cutAnswers = false
    way.delayMs = 0
  }

  #count(kind: string, times = 1): void {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + times
  }

  async judge(): Promise<Tortured> {
    for (const { faults } of this.#places) {
      for (const [fault, times] of Object.entries(faults?.counts() ?? {})) this.#count(fault, times)
      faults?.close()
    }
    this.#tell('the histories are checked')
    const ends = this.#places.flatMap((place) => place.ends)
    const history: History = { ...readHistory(this.#clients), ...readHarms(this.#log.path), ends, stray: [...this.#stray] }
    for (const { kind, told } of history.calls) this.#count(`${kind} ${told}`)
    await using store = await openStore(this.#ground.store)
    const final = await finalOf(store, { leaseMs: LEASE_MS, directory: this.#ground.directory, history })
    const violations = check(history, final)
    const { sessions } = final
    const counts = {
      ...this.#counts,
      ...harmCounts(history),
      processes: this.#places.length,
      sessions: sessions.size,
      calls: history.calls.length,
    }
    return { violations, history, final, counts, home: this.#home }
  }
}

/** Removes what a run has left. */
export function forget({ home }: Tortured): void {
  rmSync(home, { recursive: true, force: true })
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
