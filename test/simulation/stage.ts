/**
 * What every run needs: a machine, processes that are started and killed on it, somebody who cuts the power and fills the disk, and an end
 * at which nothing fails any more. What a process holds, and what is done with it, is the run's own.
 */
import { type MachineOptions, SimulatedMachine } from './disk.ts'
import { makePlan, type Plan, TROUBLES, type Trouble } from './plan.ts'
import { Random } from './random.ts'
import { Scheduler, type SchedulerChances, type SimulatedProcess } from './scheduler.ts'

export interface StageOptions {
  readonly trace?: boolean
  readonly focus?: Trouble
  /** What a seed picks its trouble from. */
  readonly troubles?: readonly Trouble[]
  /** Changes what the seed has planned. */
  readonly refine?: (plan: Plan) => Plan
  readonly chances?: Partial<SchedulerChances>
  /** What else is special about the machine. */
  readonly machine?: Pick<MachineOptions, 'births' | 'writeBackChance' | 'slowSyncChance'>
}

// A preamble that was lost and made again is damage to the doctor, where it is of no consequence: those runs are for the journal.
const STORE_TROUBLES = TROUBLES.filter((trouble) => trouble !== 'carry')

/** A process that is up, with what it holds. */
export interface Running<T> {
  readonly process: SimulatedProcess
  readonly held: T
  /** Settles when it dies. */
  readonly died: Promise<void>
}

export class Stage<T> {
  readonly random: Random
  readonly plan: Plan
  readonly scheduler: Scheduler
  readonly machine: SimulatedMachine
  running: Running<T>[] = []
  over = false
  kills = 0
  powerLosses = 0
  /** The power goes at the next step. */
  cutNext = false
  readonly #open: (process: SimulatedProcess) => Promise<T>
  #starting = 0
  #started = 0

  constructor(seed: number, options: StageOptions, open: (process: SimulatedProcess) => Promise<T>, room = 1) {
    const { trace = false, focus, troubles = STORE_TROUBLES, refine = (plan) => plan, chances, machine = {} } = options
    this.random = new Random(seed)
    const plan = makePlan(this.random, focus, troubles)
    this.plan = refine({ ...plan, capacity: plan.capacity * room })
    this.scheduler = new Scheduler(new Random(this.random.word()), chances)
    if (trace) this.scheduler.trace = []
    const { faults, capacity, pageBytes } = this.plan
    this.machine = new SimulatedMachine(this.scheduler, { faults, capacity, pageBytes, ...machine })
    this.#open = open
    this.scheduler.onStep(() => this.#chaos())
  }

  /** A process that is up, or a new one. Undefined if none can be started any more. */
  async someProcess(): Promise<Running<T> | undefined> {
    for (let tries = 0; tries < 20 && !this.over; tries++) {
      const running = this.running[this.random.int(Math.max(1, this.running.length))]
      if (running !== undefined && (this.running.length + this.#starting >= this.plan.processes || this.random.chance(0.5))) return running
      const started = await this.start().catch(() => undefined)
      if (started !== undefined) return started
    }
    return undefined
  }

  async start(name = `p${++this.#started}`): Promise<Running<T>> {
    this.#starting++
    const process = this.scheduler.start(name)
    const died = new Promise<void>((resolve) => process.exits.push(resolve))
    try {
      const held = await Promise.race([this.#open(process), died.then(() => Promise.reject(new Error('died while starting')))])
      const running = { process, held, died }
      this.running.push(running)
      void died.then(() => {
        this.running = this.running.filter((other) => other !== running)
      })
      return running
    } finally {
      this.#starting--
    }
  }

  /** Lets the machine run until a promise is settled. */
  async settle<R>(work: Promise<R>): Promise<R> {
    let settled = false
    const mark = (): void => {
      settled = true
    }
    work.then(mark, mark)
    const end = await this.scheduler.run({ steps: 500_000, until: () => settled })
    if (end !== 'until') throw new Error(`The last look did not come to an end (${end}).`)
    return work
  }

  /** Nothing fails from here on. The power may go once more: what was acknowledged must not depend on the cache. */
  calm(): void {
    this.over = true
    this.machine.heal()
    this.machine.capacity = Number.POSITIVE_INFINITY
    if (this.plan.powerLossAtEnd) this.#cutPower()
    else for (const { process } of this.running) this.scheduler.kill(process)
    this.running = []
  }

  /** A write-back failed in this run: what others were told of nothing may be gone. */
  get lostWriteBack(): boolean {
    const { sync = 0, writeBack = 0 } = this.machine.faults.counts
    return !this.plan.rescued && sync + writeBack > 0
  }

  get faults(): number {
    return Object.values(this.machine.faults.counts).reduce((sum, count) => sum + count, 0)
  }

  #chaos(): void {
    if (this.over) return
    const { killChance, powerLosses, powerLossChance, refillChance, capacity } = this.plan
    if (this.random.chance(killChance)) this.#killOne()
    if (this.cutNext || (this.powerLosses < powerLosses && this.random.chance(powerLossChance))) this.#cutPower()
    if (this.random.chance(refillChance)) this.machine.capacity = this.machine.used + this.random.int(20_000)
    if (capacity === Number.POSITIVE_INFINITY) this.machine.capacity = capacity
  }

  #killOne(): void {
    const victim = this.running[this.random.int(Math.max(1, this.running.length))]
    if (victim === undefined) return
    this.kills++
    this.scheduler.kill(victim.process)
  }

  #cutPower(): void {
    this.powerLosses++
    this.cutNext = false
    this.machine.powerLoss()
  }
}
