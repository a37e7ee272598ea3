/**
 * One run under one seed: simulated processes with the real engine and the real replica on a simulated machine, clients that use
 * them, and somebody who kills, cuts the power, fills the disk and lets bits rot. At the end everything heals, a new process reads
 * what is there, and check.ts holds it against what the clients were told.
 */

import type { Engine } from '../../src/engine/port.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { HoldfastError } from '../../src/errors.ts'
import { Replica } from '../../src/journal/replica.ts'
import { checkRot, checkRun, type Finding, type Journals } from './check.ts'
import { type Attempt, attemptWith, type Kind, type Wish } from './client.ts'
import { SimulatedMachine } from './disk.ts'
import { FeedWatcher } from './feed-watcher.ts'
import { makePlan, type Plan, type Trouble } from './plan.ts'
import { Random, simulatedIds } from './random.ts'
import { readJournals } from './reader.ts'
import { reducer, type Seen } from './reducer.ts'
import { Scheduler, type SimulatedProcess, simulatedClock } from './scheduler.ts'

export interface RunReport {
  readonly seed: number
  readonly findings: readonly Finding[]
  /** What the protocol cannot prevent and the documents say so: shown, then gone, after a failed write-back that only others were told of. */
  readonly limits: number
  readonly steps: number
  readonly attempts: number
  readonly acknowledged: number
  readonly kills: number
  readonly powerLosses: number
  readonly faults: number
  readonly trace: readonly string[]
}

interface Running {
  readonly process: SimulatedProcess
  readonly engine: Engine
  readonly replicas: readonly Replica<Seen>[]
  readonly died: Promise<void>
}

const STORE = '/store'
const USUAL: readonly Kind[] = ['append', 'append', 'append', 'append', 'append if', 'append if', 'read', 'read']
const KINDS: Record<Plan['rare'], readonly Kind[]> = {
  never: USUAL,
  sometimes: [...USUAL, 'create', 'delete', 'purge'],
  often: ['append', 'append', 'append if', 'read', 'create', 'create', 'delete', 'purge', 'purge'],
}

export async function simulate(seed: number, options: { readonly trace?: boolean; readonly focus?: Trouble } = {}): Promise<RunReport> {
  return new Run(seed, options).run()
}

class Run {
  readonly #seed: number
  readonly #random: Random
  readonly #plan: Plan
  readonly #scheduler: Scheduler
  readonly #machine: SimulatedMachine
  readonly #attempts: Attempt[] = []
  readonly #watchers: FeedWatcher[] = []
  #running: Running[] = []
  #starting = 0
  #started = 0
  #clientsLeft = 0
  #over = false
  #cutNext = false
  #kills = 0
  #powerLosses = 0

  constructor(seed: number, { trace = false, focus }: { readonly trace?: boolean; readonly focus?: Trouble }) {
    this.#seed = seed
    this.#random = new Random(seed)
    this.#plan = makePlan(this.#random, focus)
    this.#scheduler = new Scheduler(new Random(this.#random.word()))
    if (trace) this.#scheduler.trace = []
    this.#machine = new SimulatedMachine(this.#scheduler, {
      faults: this.#plan.faults,
      capacity: this.#plan.capacity,
      pageBytes: this.#plan.pageBytes,
    })
  }

  async run(): Promise<RunReport> {
    this.#scheduler.onStep(() => this.#chaos())
    for (let i = 0; i < this.#plan.clients; i++) {
      this.#clientsLeft++
      void this.#client(i).then(() => this.#clientsLeft--)
    }
    const end = await this.#scheduler.run({ steps: this.#plan.steps, until: () => this.#clientsLeft === 0 })
    const findings: Finding[] =
      end === 'idle' && this.#clientsLeft > 0 ? [{ what: 'stuck', detail: 'Clients wait, and nothing is under way.' }] : []
    if (this.#plan.rescued) await this.#rescue()
    this.#calm()
    for (const { name, error, crashed } of this.#attempts) if (crashed === true) findings.push(crash(error, name))
    let limits = 0
    const { sync = 0, writeBack = 0, syncDirectory = 0, read = 0 } = this.#machine.faults.counts
    const lostWriteBack = !this.#plan.rescued && sync + writeBack > 0
    try {
      const { first, second } = await this.#settle(this.#look())
      const givenUp = sync + writeBack + syncDirectory + read > 0
      const checked = checkRun({ attempts: this.#attempts, first, second, lostWriteBack, givenUp })
      findings.push(...checked.findings)
      limits = checked.limits
      const rotten = this.#rot()
      if (rotten !== undefined) findings.push(...checkRot(rotten, second, await this.#settle(this.#read()), lostWriteBack))
    } catch (error) {
      // A checkpoint may be among what was written, confirmed by another process's sync, and gone at the power loss.
      if (lostWriteBack && error instanceof HoldfastError && error.code === 'DAMAGED') limits++
      else findings.push(crash(error, 'the last look'))
    }
    return {
      seed: this.#seed,
      findings: [...findings, ...this.#watchers.flatMap((watcher) => watcher.findings)],
      limits,
      steps: this.#scheduler.step,
      attempts: this.#attempts.length,
      acknowledged: this.#attempts.filter(({ told }) => told === 'done' || told === 'duplicate').length,
      kills: this.#kills,
      powerLosses: this.#powerLosses,
      faults: Object.values(this.#machine.faults.counts).reduce((sum, count) => sum + count, 0),
      trace: this.#scheduler.trace ?? [],
    }
  }

  /** Reads everything with a new process; then writes with another one, which must not bring back anything, and reads again. */
  async #look(): Promise<{ first: Journals; second: Journals }> {
    const first = await this.#read()
    const running = await this.#start()
    for (const journal of running.replicas.keys()) {
      await this.#attempt(running, { name: `last ${journal}.0`, kind: 'create', journal, text: 'last' }, undefined)
      await this.#attempt(running, { name: `last ${journal}.1`, kind: 'append', journal, text: 'last' }, undefined)
    }
    this.#scheduler.kill(running.process)
    return { first, second: await this.#read() }
  }

  /** Flips one bit somewhere in the journals. Undefined if there is none. */
  #rot(): { journal: number; at: number } | undefined {
    const files = [...this.#machine.snapshot()].filter(
      ([path, content]) => path.endsWith('.jsonl') && path.includes('/sessions/') && content.length > 0,
    )
    if (files.length === 0) return undefined
    const [path, content] = this.#random.pick(files)
    // The end of a line belongs to two lines, so it is hit more often than by chance.
    const newline = content.indexOf(10, this.#random.int(content.length))
    const offset = newline !== -1 && this.#random.chance(0.3) ? newline : this.#random.int(content.length)
    this.#machine.rot(path, offset, this.#random.int(8))
    return { journal: path.includes('/session-0-') ? 0 : 1, at: Number(path.slice(-22, -6)) + offset }
  }

  /** Lets the machine run until a promise is settled. */
  async #settle<T>(work: Promise<T>): Promise<T> {
    let settled = false
    const mark = (): void => {
      settled = true
    }
    work.then(mark, mark)
    const end = await this.#scheduler.run({ steps: 500_000, until: () => settled })
    if (end !== 'until') throw new Error(`The last look did not come to an end (${end}).`)
    return work
  }

  async #read(): Promise<Journals> {
    const process = this.#scheduler.start('reader')
    const engine = await this.#open(process)
    return readJournals(engine, journalNames(engine, this.#plan.journals))
  }

  /** Nothing fails any more, and every process has the time to carry along what a failed sync left. */
  async #rescue(): Promise<void> {
    this.#over = true
    this.#machine.heal()
    const reads = this.#running.flatMap(({ replicas }) => replicas.map((replica) => replica.read()))
    await this.#settle(Promise.allSettled(reads))
  }

  /** Nothing fails from here on. The power may go once more: what was acknowledged must not depend on the cache. */
  #calm(): void {
    this.#over = true
    this.#machine.heal()
    this.#machine.capacity = Number.POSITIVE_INFINITY
    if (this.#plan.powerLossAtEnd) this.#cutPower()
    else for (const { process } of this.#running) this.#scheduler.kill(process)
    this.#running = []
  }

  #chaos(): void {
    if (this.#over) return
    const plan = this.#plan
    if (this.#random.chance(plan.killChance)) this.#killOne()
    if (this.#cutNext || (this.#powerLosses < plan.powerLosses && this.#random.chance(plan.powerLossChance))) this.#cutPower()
    if (this.#random.chance(plan.refillChance))
      this.#machine.capacity = this.#machine.used + this.#random.int(plan.capacity === Number.POSITIVE_INFINITY ? 1 : 20_000)
    if (plan.capacity === Number.POSITIVE_INFINITY) this.#machine.capacity = plan.capacity
  }

  #killOne(): void {
    const victim = this.#running[this.#random.int(Math.max(1, this.#running.length))]
    if (victim === undefined) return
    this.#kills++
    this.#scheduler.kill(victim.process)
  }

  #cutPower(): void {
    this.#powerLosses++
    this.#cutNext = false
    this.#machine.powerLoss()
  }

  async #client(index: number): Promise<void> {
    for (let i = 0; i < this.#plan.wishes && !this.#over; i++) {
      const kind = i === 0 ? 'create' : this.#random.pick(KINDS[this.#plan.rare])
      const journal = this.#random.int(this.#plan.journals)
      const wish: Wish = {
        name: `${index}.${i}`,
        kind,
        journal,
        text: 'x'.repeat(this.#random.int(this.#random.chance(0.1) ? 2000 : this.#plan.textBytes)),
      }
      let expected: number | undefined
      for (let tries = 0; tries < 4; tries++) {
        const running = await this.#someProcess()
        if (running === undefined) return
        const attempt = await this.#attempt(running, wish, expected)
        if (wish.kind === 'purge') await this.#purge(running, wish.journal)
        if (attempt.seen !== undefined) expected = wish.kind === 'append if' ? attempt.seen.count : undefined
        if (['done', 'duplicate', 'read', 'refused'].includes(attempt.told) || this.#random.chance(0.2)) break
      }
    }
  }

  async #attempt(running: Running, wish: Wish, expected: number | undefined): Promise<Attempt> {
    const replica = running.replicas[wish.journal] as Replica<Seen>
    let expectation = expected
    if (wish.kind === 'append if' && expectation === undefined) {
      const look = await this.#attempt(running, { ...wish, kind: 'read' }, undefined)
      expectation = look.seen?.count ?? 0
    }
    const attempt: Attempt = {
      name: `${wish.name}#${this.#attempts.length}`,
      wish: wish.name,
      kind: wish.kind,
      journal: wish.journal,
      process: running.process.name,
      begun: this.#scheduler.step,
      ended: Number.POSITIVE_INFINITY,
      told: 'unknown',
      at: -1,
      seen: undefined,
      expected: wish.kind === 'append if' ? expectation : undefined,
      error: undefined,
    }
    this.#attempts.push(attempt)
    this.#scheduler.note(running.process, () => `begin ${wish.kind} ${attempt.name} of journal ${wish.journal}`)
    await attemptWith(replica, wish, attempt, running.died, () => this.#scheduler.step)
    if (attempt.told === 'read' && this.#random.chance(this.#plan.cutAfterReadChance)) this.#cutNext = true
    this.#scheduler.note(
      running.process,
      () => `told ${attempt.told} ${attempt.name} at ${attempt.at} ${attempt.seen?.count ?? ''} ${String(attempt.error ?? '')}`,
    )
    return attempt
  }

  async #purge(running: Running, journal: number): Promise<void> {
    const handle = running.engine.journal(journalNames(running.engine, this.#plan.journals)[journal] as string)
    const work = (running.replicas[journal] as Replica<Seen>).beginSegment().then((first) => handle.purge(first))
    await Promise.race([running.died, work.catch(() => undefined)])
  }

  /** A process that is up, or a new one. Undefined if none can be started any more. */
  async #someProcess(): Promise<Running | undefined> {
    for (let tries = 0; tries < 20 && !this.#over; tries++) {
      const running = this.#running[this.#random.int(Math.max(1, this.#running.length))]
      if (running !== undefined && (this.#running.length + this.#starting >= this.#plan.processes || this.#random.chance(0.5)))
        return running
      const started = await this.#start().catch(() => undefined)
      if (started !== undefined) return started
    }
    return undefined
  }

  async #start(): Promise<Running> {
    this.#starting++
    const process = this.#scheduler.start(`p${++this.#started}`)
    const died = new Promise<void>((resolve) => process.exits.push(resolve))
    try {
      const engine = await Promise.race([this.#open(process), died.then(() => Promise.reject(new Error('died while starting')))])
      const clock = simulatedClock(this.#scheduler, process)
      const limits = { segmentBytes: this.#plan.segmentBytes, groupTargetBytes: 4000, races: 60 }
      const ids = simulatedIds(this.#random)
      const replicas = journalNames(engine, this.#plan.journals).map(
        (name) => new Replica({ journal: engine.journal(name), reducer, clock, ids, limits }),
      )
      const running: Running = { process, engine, replicas, died }
      this.#running.push(running)
      void died.then(() => {
        this.#running = this.#running.filter((other) => other !== running)
      })
      if (this.#random.chance(0.3)) this.#watch(running)
      return running
    } finally {
      this.#starting--
    }
  }

  #watch(running: Running): void {
    const watcher = new FeedWatcher(
      running.engine,
      this.#attempts,
      journalNames(running.engine, this.#plan.journals),
      () => this.#scheduler.step,
    )
    this.#watchers.push(watcher)
    const clock = simulatedClock(this.#scheduler, running.process)
    const random = new Random(this.#random.word())
    const loop = async (): Promise<void> => {
      while (!this.#over) {
        await watcher.look()
        await clock.sleep(random.int(40))
      }
    }
    void loop()
  }

  #open(process: SimulatedProcess): Promise<Engine> {
    return openFilesEngine({
      directory: STORE,
      keysOf: reducer.keysOf,
      disk: this.#machine.disk(process),
      clock: simulatedClock(this.#scheduler, process),
      ids: simulatedIds(this.#random),
      limits: {
        syncWriteBytes: this.#plan.syncWriteBytes,
        readBytes: this.#plan.readBytes,
        reserveBytes: 2048,
        openSegments: 3,
        feedBytes: 3000,
        feedFiles: 2,
        watermarkBytes: 700,
      },
    })
  }
}

function crash(error: unknown, where: string): Finding {
  return { what: 'crashed', detail: `${where}: ${error instanceof Error ? error.stack : String(error)}` }
}

function journalNames(engine: Engine, count: number): string[] {
  return Array.from({ length: count }, (_, i) => engine.name('space', `session ${i}`))
}
