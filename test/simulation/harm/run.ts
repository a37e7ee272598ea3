/**
 * One run under one seed in which somebody does harm to the files of the store: cuts, deletes, swaps and replaces them, copies the store while it is
 * used, and puts copies in its place. Clients append, read, create, delete, purge and accept losses; processes die, close, and lose power. What each
 * was told is held against what is true (ledger.ts), when it ends and at the end of the run (check.ts).
 */
import { journalName } from '../../../src/engine/names.ts'
import type { Engine } from '../../../src/engine/port.ts'
import { openFilesEngine } from '../../../src/engines/files/engine.ts'
import { history } from '../../../src/journal/history.ts'
import { Replica } from '../../../src/journal/replica.ts'
import type { Finding } from '../check.ts'
import { Random, simulatedIds } from '../random.ts'
import type { RunReport } from '../run.ts'
import { type SimulatedProcess, simulatedClock } from '../scheduler.ts'
import { type Running, Stage } from '../stage.ts'
import { checkAcknowledged, checkAttempt, type FoundRecord } from './check.ts'
import { type Attempt, attemptWith, type Kind, type Known, type Wish } from './client.ts'
import { Copier, type FinishedCopy } from './copies.ts'
import { Hand } from './hand.ts'
import { Ledger } from './ledger.ts'
import { type Focus, type HarmPlan, makeHarmPlan } from './plan.ts'
import { reducer, type Seen, SPACE } from './reducer.ts'

export interface HarmReport extends RunReport {
  readonly harms: number
  /** Of these, those that destroyed bytes which a watermark in a file covered. */
  readonly harmsToMarked: number
  readonly alarms: number
  readonly acceptances: number
  readonly copies: number
  readonly restores: number
}

interface Held {
  readonly engine: Engine
  /** By journal; a second one reads the same files beside it. */
  readonly replicas: readonly (readonly Replica<Seen>[])[]
  readonly started: number
}

const ROOT = '/store'
const KINDS: readonly Kind[] = ['append', 'append', 'append', 'append', 'append', 'read', 'read']
const RARE: readonly Kind[] = ['create', 'delete', 'purge']

export async function simulateHarm(seed: number, options: { readonly trace?: boolean; readonly focus?: Focus } = {}): Promise<HarmReport> {
  return new HarmRun(seed, options).run()
}

class HarmRun {
  readonly #seed: number
  readonly #random: Random
  readonly #plan: HarmPlan
  readonly #stage: Stage<Held>
  readonly #sessions: readonly string[]
  readonly #ledger: Ledger
  readonly #hand: Hand
  readonly #copier: Copier
  readonly #attempts: Attempt[] = []
  readonly #findings: Finding[] = []
  readonly #processes = new Set<SimulatedProcess>()
  readonly #known = new WeakMap<Replica<Seen>, Known>()
  #busy = 0
  #life = 0
  #restores = 0
  #powerLosses = 0

  constructor(seed: number, { trace = false, focus }: { readonly trace?: boolean; readonly focus?: Focus }) {
    this.#seed = seed
    this.#random = new Random(seed + 0x4a52)
    this.#plan = makeHarmPlan(this.#random, focus)
    const { troubles, refine, births, timeJump, writeBackChance, slowSyncChance } = this.#plan
    const options = { trace, troubles, refine, chances: { timeJump }, machine: { births, writeBackChance, slowSyncChance } }
    this.#stage = new Stage<Held>(seed, options, (process) => this.#open(process))
    const { machine, scheduler, plan } = this.#stage
    this.#sessions = sessionsOf(plan.journals, this.#plan.sameShard)
    const names = this.#sessions.map((session) => journalName(SPACE, session))
    this.#ledger = new Ledger(machine, ROOT, names, { births, step: () => scheduler.step })
    const tamperer = machine.tamperer()
    this.#hand = new Hand(this.#random, this.#plan, tamperer, this.#ledger, ROOT, (text) => scheduler.note(undefined, text))
    this.#copier = new Copier(this.#random, tamperer, ROOT, this.#plan)
    scheduler.onStep(() => this.#tick())
    machine.between = () => {
      if (!this.#stage.over) this.#hand.tick()
    }
  }

  async run(): Promise<HarmReport> {
    const { plan, scheduler } = this.#stage
    await this.#stage.settle(this.#makeStore())
    for (let i = 0; i < plan.clients; i++) this.#begin(this.#client(i))
    const end = await scheduler.run({ steps: plan.steps, until: () => this.#busy === 0 })
    if (end === 'idle' && this.#busy > 0) this.#find('stuck', 'Clients wait, and nothing is pending.')
    this.#stage.calm()
    this.#meetPowerLoss()
    let limits = 0
    try {
      limits = await this.#stage.settle(this.#finish())
    } catch (error) {
      this.#find('crashed', `the last look: ${error instanceof Error ? error.stack : String(error)}`)
    }
    return this.#report(limits)
  }

  /** The store is there before the clients come: who of several makes it is tried out elsewhere. */
  async #makeStore(): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      const running = await this.#stage.start().catch(() => undefined)
      if (running === undefined) continue
      await this.#close(running)
      return
    }
  }

  #report(limits: number): HarmReport {
    const { scheduler, kills, powerLosses, faults } = this.#stage
    return {
      seed: this.#seed,
      findings: this.#findings,
      limits,
      steps: scheduler.step,
      attempts: this.#attempts.length,
      acknowledged: this.#attempts.filter(({ told }) => told === 'done' || told === 'duplicate').length,
      kills,
      powerLosses,
      faults,
      trace: scheduler.trace ?? [],
      harms: this.#hand.harms,
      harmsToMarked: this.#ledger.harmsToMarked,
      alarms: this.#attempts.filter(({ loss }) => loss !== undefined).length,
      acceptances: this.#attempts.filter(({ told }) => told === 'accepted').length,
      copies: this.#copier.finished.length,
      restores: this.#restores,
    }
  }

  #tick(): void {
    this.#ledger.tick()
    this.#meetPowerLoss()
    if (this.#stage.over) return
    this.#hand.tick()
    const copy = this.#copier.tick()
    if (copy === undefined) return
    this.#begin(this.#useCopy(copy))
    if (this.#random.chance(this.#plan.restoreChance)) this.#restore(copy)
  }

  #meetPowerLoss(): void {
    if (this.#stage.powerLosses === this.#powerLosses) return
    this.#powerLosses = this.#stage.powerLosses
    this.#checkForgotten()
    this.#ledger.losePower()
  }

  #checkForgotten(): void {
    for (const { journal, mark } of this.#ledger.forgotten(({ durable }) => durable))
      this.#find('a watermark was forgotten', `journal ${journal}: ${JSON.stringify(mark)}`)
  }

  /** The store is removed, and the copy is put in its place. Without birth times, only after a restart of the machine. */
  #restore(copy: FinishedCopy): void {
    if (!this.#plan.births) this.#stage.machine.powerLoss()
    for (const process of this.#processes) this.#stage.scheduler.kill(process)
    this.#copier.restore(copy)
    this.#restores++
    this.#life++
    this.#hand.forget()
    this.#ledger.restart()
    this.#stage.scheduler.note(undefined, () => `restored from ${copy.directory}`)
  }

  #begin(work: Promise<void>): void {
    this.#busy++
    void work.then(() => this.#busy--)
  }

  async #client(index: number): Promise<void> {
    const { plan } = this.#stage
    let harmed: number | undefined
    for (let i = 0; i < plan.wishes && !this.#stage.over; i++) {
      const accepts = harmed !== undefined && this.#random.chance(this.#plan.acceptChance)
      const kind = i === 0 ? 'create' : accepts ? 'accept' : this.#kind()
      const wish = this.#wish(`${index}.${i}`, kind, accepts ? (harmed as number) : this.#random.int(plan.journals))
      for (let tries = 0; tries < 3; tries++) {
        const running = await this.#stage.someProcess()
        if (running === undefined) return
        if (wish.kind === 'close') await this.#close(running)
        const attempt = await this.#attempt(running, wish)
        if (wish.kind === 'purge') await this.#purge(running, wish.journal)
        if (attempt.loss !== undefined) harmed = wish.journal
        if (attempt.told === 'accepted') harmed = undefined
        if (['done', 'duplicate', 'read', 'refused', 'accepted', 'nothing'].includes(attempt.told) || this.#random.chance(0.3)) break
      }
    }
  }

  #kind(): Kind {
    const { rare } = this.#stage.plan
    if (this.#random.chance(this.#plan.leaseChance)) return 'lease'
    if (this.#random.chance(this.#plan.closeChance)) return 'close'
    if (rare !== 'never' && this.#random.chance(rare === 'often' ? 0.4 : 0.15)) return this.#random.pick(RARE)
    return this.#random.pick(KINDS)
  }

  #wish(key: string, kind: Kind, journal: number): Wish {
    const text = 'x'.repeat(this.#random.int(this.#random.chance(0.1) ? 2000 : this.#stage.plan.textBytes))
    return { key, kind, journal, session: this.#sessions[journal] as string, text }
  }

  async #attempt(running: Running<Held>, wish: Wish): Promise<Attempt> {
    const { scheduler } = this.#stage
    const replica = this.#random.pick(running.held.replicas[wish.journal] as readonly Replica<Seen>[])
    const attempt: Attempt = {
      ...wish,
      name: `${wish.key}#${this.#attempts.length}`,
      life: this.#life,
      started: running.held.started,
      begun: scheduler.step,
      knew: this.#known.get(replica),
      ended: Number.POSITIVE_INFINITY,
      told: 'unknown',
      at: -1,
      loss: undefined,
      error: undefined,
    }
    this.#attempts.push(attempt)
    scheduler.note(running.process, () => `begin ${wish.kind} ${attempt.name} of journal ${wish.journal}`)
    await attemptWith(replica, attempt, running.died, () => scheduler.step)
    if (replica.newest !== undefined) this.#known.set(replica, { ...replica.newest, step: scheduler.step })
    if (attempt.told === 'accepted') this.#ledger.journals[wish.journal]?.acceptances.push(attempt)
    scheduler.note(running.process, () => {
      const { name, told, at, loss, error } = attempt
      return `told ${told} ${name} at ${at} ${JSON.stringify(loss)} ${String(error ?? '')}`
    })
    if (attempt.life === this.#life) this.#findings.push(...this.#check(attempt))
    return attempt
  }

  #check(attempt: Attempt): Finding[] {
    // What the disk failed to write back may be gone after a power loss: the alarm is right.
    const { sync = 0, writeBack = 0 } = this.#stage.machine.faults.counts
    const findings = checkAttempt(attempt, this.#ledger)
    return sync + writeBack > 0 && this.#stage.powerLosses > 0 ? findings.filter(({ what }) => what !== 'a false alarm') : findings
  }

  async #purge(running: Running<Held>, journal: number): Promise<void> {
    const { engine, replicas } = running.held
    const handle = engine.journal(journalName(SPACE, this.#sessions[journal] as string))
    const replica = this.#random.pick(replicas[journal] as readonly Replica<Seen>[])
    const work = replica.beginSegment().then((first) => handle.purge(first))
    await Promise.race([running.died, work.catch(() => undefined)])
  }

  async #close({ process, held, died }: Running<Held>): Promise<void> {
    await Promise.race([died, held.engine.close().catch(() => undefined)])
    this.#stage.scheduler.kill(process)
  }

  /** Opens a copy that was taken while the store was used: nothing in it raises an alarm, and it can be written to. */
  async #useCopy({ directory }: FinishedCopy): Promise<void> {
    const { scheduler, plan, machine } = this.#stage
    const process = scheduler.start(directory)
    const died = new Promise<void>((resolve) => process.exits.push(resolve))
    const harmed = this.#ledger.journals.map(({ harms }) => harms.length > 0)
    const work = async (): Promise<void> => {
      const engine = await this.#openAt(process, directory)
      for (let i = 0; i < plan.journals; i++) {
        const replica = this.#replica(engine, i, process)
        const { state } = await replica.read()
        const before = replica.loss
        if (before === undefined && state.alive)
          await replica.submit({ decide: () => ({ write: { type: 'messages.appended', payload: {} }, answer: () => undefined }) })
        if (before !== undefined && harmed[i] === false)
          this.#find('a false alarm', `journal ${i} of ${directory}: ${JSON.stringify(before)}`)
      }
    }
    await Promise.race([
      died,
      work().catch((error: unknown) => {
        if (Object.keys(machine.faults.counts).length === 0 && plan.capacity === Number.POSITIVE_INFINITY && !harmed.includes(true))
          this.#find('a copy cannot be used', `${directory}: ${error instanceof Error ? error.stack : String(error)}`)
      }),
    ])
    scheduler.kill(process)
  }

  /** Looks with a new process, tries to write with another one, accepts what is lost, and looks again. Returns how often the stated limit was met. */
  async #finish(): Promise<number> {
    this.#checkForgotten()
    const journals = [...this.#sessions.keys()]
    for (const journal of journals) await this.#lastAttempts(journal, ['read', 'append'])
    this.#hand.unswap()
    for (const journal of journals) {
      const { loss } = await this.#lastAttempt(journal, 'read')
      await this.#checkBeginning(journal, loss !== undefined)
      if (loss !== undefined) await this.#accept(journal)
      const [created, appended, read] = await this.#lastAttempts(journal, ['create', 'append', 'read'])
      if (loss?.as === 'identity') continue
      if (appended?.told !== 'done' || created?.told === 'none')
        this.#find('a session cannot continue', `journal ${journal}: ${created?.told}, ${appended?.told} ${String(appended?.error)}`)
      if (read?.loss !== undefined) this.#find('an accepted loss is reported again', `journal ${journal}: ${JSON.stringify(read.loss)}`)
    }
    const found = await this.#read()
    const { findings, limits } = checkAcknowledged(this.#attempts, found, this.#ledger, this.#life)
    this.#findings.push(...findings)
    return limits
  }

  /** Two processes accept the same loss at once; one of them is told that it did. */
  async #accept(journal: number): Promise<void> {
    const both = [await this.#stage.start(), await this.#stage.start()]
    await Promise.all(both.map((running) => this.#attempt(running, this.#wish(`accept ${journal}`, 'accept', journal))))
    for (const { process } of both) this.#stage.scheduler.kill(process)
  }

  async #lastAttempts(journal: number, kinds: readonly Kind[]): Promise<Attempt[]> {
    const attempts: Attempt[] = []
    for (const kind of kinds) attempts.push(await this.#lastAttempt(journal, kind))
    return attempts
  }

  async #lastAttempt(journal: number, kind: Kind): Promise<Attempt> {
    const running = await this.#stage.start()
    const attempt = await this.#attempt(running, this.#wish(`last ${this.#attempts.length}`, kind, journal))
    this.#stage.scheduler.kill(running.process)
    return attempt
  }

  /** Early segments that somebody removed must not look purged. */
  async #checkBeginning(journal: number, reported: boolean): Promise<void> {
    const { beginning, purgedTo } = this.#ledger.journals[journal] as Ledger['journals'][number]
    if (beginning === undefined || reported || purgedTo >= beginning.to) return
    // Also one of which nobody heard the end.
    const accepts = this.#attempts.filter(
      (attempt) => attempt.journal === journal && attempt.kind === 'accept' && attempt.ended > beginning.step,
    )
    if (accepts.some(({ told }) => told !== 'none' && told !== 'nothing')) return
    if (!this.#bornBefore(journal, beginning.to)) return
    // What was in those segments may have been carried into a later one.
    const left = new Set((await this.#read())[journal]?.map(({ attempt }) => attempt))
    const missing = this.#attempts.find(
      ({ journal: own, told, kind, at, name }) =>
        own === journal && told === 'done' && kind !== 'lease' && at < beginning.to && !left.has(name),
    )
    if (missing !== undefined) this.#find('a lost beginning was not reported', `journal ${journal}: ${missing.name} at ${missing.at}`)
  }

  /** Whether the incarnation that a journal is in began before a position: then nothing in front of it may be missing. */
  #bornBefore(journal: number, position: number): boolean {
    const created = this.#attempts.filter(
      (attempt) => attempt.journal === journal && attempt.kind === 'create' && attempt.told !== 'refused',
    )
    return created.every(({ at, told, life }) => life === this.#life && told === 'done' && at < position)
  }

  async #read(): Promise<FoundRecord[][]> {
    const running = await this.#stage.start('reader')
    const found: FoundRecord[][] = []
    for (const session of this.#sessions) {
      const records = new Map<number, FoundRecord>()
      for await (const { verdict } of history(running.held.engine.journal(journalName(SPACE, session)))) {
        // A file of another session that was swapped in may hold a line of the same position.
        if (verdict.kind === 'counted' && verdict.record.session === session)
          records.set(verdict.at, { at: verdict.at, attempt: verdict.record.attempt, key: verdict.record.key })
      }
      found.push([...records.values()])
    }
    return found
  }

  async #open(process: SimulatedProcess): Promise<Held> {
    this.#processes.add(process)
    process.exits.push(() => this.#processes.delete(process))
    const engine = await this.#openAt(process, ROOT)
    const replicas = this.#sessions.map((_, i) => [this.#replica(engine, i, process), this.#replica(engine, i, process)])
    return { engine, replicas, started: this.#stage.scheduler.step }
  }

  #replica(engine: Engine, journal: number, process: SimulatedProcess): Replica<Seen> {
    const name = journalName(SPACE, this.#sessions[journal] as string)
    return new Replica({
      journal: engine.journal(name),
      reducer,
      clock: simulatedClock(this.#stage.scheduler, process),
      ids: simulatedIds(this.#random),
      isNamed: (space, id) => journalName(space, id) === name,
      limits: { segmentBytes: this.#stage.plan.segmentBytes, groupTargetBytes: 4000, races: 60 },
    })
  }

  #openAt(process: SimulatedProcess, directory: string): Promise<Engine> {
    const { syncWriteBytes, readBytes } = this.#stage.plan
    return openFilesEngine({
      directory,
      keysOf: reducer.keysOf,
      disk: this.#stage.machine.disk(process),
      clock: simulatedClock(this.#stage.scheduler, process),
      ids: simulatedIds(this.#random),
      limits: {
        ...{ syncWriteBytes, readBytes, reserveBytes: 2048, openSegments: 3, feedBytes: 3000, feedFiles: 2 },
        watermarkBytes: this.#plan.watermarkBytes,
      },
    })
  }

  #find(what: string, detail: string): void {
    this.#findings.push({ what, detail })
  }
}

/** Ids of sessions; where wanted, all of one shard of watermarks. */
function sessionsOf(count: number, sameShard: boolean): string[] {
  const sessions = ['session 0']
  const shard = (session: string): string => journalName(SPACE, session).slice(33, 35)
  for (let i = 1; sessions.length < count; i++) {
    if (!sameShard || shard(`session ${i}`) === shard('session 0')) sessions.push(`session ${i}`)
  }
  return sessions
}
