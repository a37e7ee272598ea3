/**
 * Several simulated processes inside one real one. Whatever a process waits for is a pending call here; a run picks one pending call
 * after another under the seed, and lets the code that waited for it go on until it waits again.
 *
 * A call has two moments: when it takes effect, and when its process hears of it. Other processes may do anything in between, as on
 * a real machine; a process that is killed in between never hears of what it did.
 *
 *     pending --advance()--> pending, a part done --advance()--> done --deliver()--> gone
 *
 * The promise is that the same seed gives the same run. It holds as long as the code under test waits for nothing but the simulated
 * disk, the simulated clock and promises made from these.
 */
import { nextTick } from 'node:process'
import { setImmediate } from 'node:timers'
import type { Clock } from '../../src/engine/clock.ts'
import type { Random } from './random.ts'

/** Returned by a call that has done a part of its work and wants to be picked again for the rest. */
export const MORE = Symbol('more')

export interface Work<T> {
  /** Does the call, or its next part. What it throws is what the caller gets. */
  perform(): T | typeof MORE
  /** What is left of the call when its process dies before it is done. Without this, it happens wholly or not at all. */
  abandon?(): void
}

interface Call {
  done: boolean
  advance(): void
  deliver(): void
  abandon(): void
}

interface Sleep {
  readonly process: SimulatedProcess
  readonly dueMs: number
  readonly wake: () => void
}

/** One life of one process. A process that starts again is a new one. */
export class SimulatedProcess {
  readonly name: string
  readonly startedMs: number
  /** The scheduler alone changes what follows. */
  alive = true
  stalledUntil = 0
  readonly calls: Call[] = []
  readonly exits: (() => void)[] = []

  constructor(name: string, startedMs: number) {
    this.name = name
    this.startedMs = startedMs
  }
}

/** How often, per step or per opportunity, something out of the ordinary happens to the order of events. */
export interface SchedulerChances {
  /** A call took effect, but its process hears of it later. */
  readonly lateDelivery: number
  /** Others' calls take effect on entry to a call that cannot be interrupted. */
  readonly race: number
  /** A process is left alone for up to `stallSteps`. An even choice would never hold one back for long, and slow helpers matter. */
  readonly stall: number
  readonly stallSteps: number
  /** Time jumps to the next sleeper although somebody has work. */
  readonly timeJump: number
  /** The wall clock is set, by up to an hour in either direction. */
  readonly wallJump: number
}

const CHANCES: SchedulerChances = { lateDelivery: 0.25, race: 0.3, stall: 0.004, stallSteps: 200, timeJump: 0.01, wallJump: 0.001 }

const START_OF_TIME_MS = 1_750_000_000_000
const HOUR_MS = 3_600_000
/** What a step takes at most. */
const STEP_MS = 0.2
/** How often the real event loop gets a turn, so that the time limits of a test runner still work. */
const ANSWERS_PER_TURN = 256

/** `idle`: nothing is pending. `limit`: the steps are used up. `until`: the condition holds. */
export type RunEnd = 'idle' | 'limit' | 'until'

export class Scheduler {
  readonly random: Random
  /** Set to an empty list to have every event described in it. */
  trace: string[] | undefined
  readonly #chances: SchedulerChances
  #step = 0
  #timeMs = 0
  #wallOffsetMs = 0
  #running = false
  #started = 0
  readonly #processes: SimulatedProcess[] = []
  /** By when they are due; those due together in the order in which they fell asleep. */
  readonly #sleeps: Sleep[] = []
  readonly #hooks: (() => void)[] = []
  readonly #candidates: SimulatedProcess[] = []

  constructor(random: Random, chances: Partial<SchedulerChances> = {}) {
    this.random = random
    this.#chances = { ...CHANCES, ...chances }
  }

  /** Steps taken so far, over all runs. */
  get step(): number {
    return this.#step
  }

  get timeMs(): number {
    return this.#timeMs
  }

  /** What the wall clock shows. */
  get wallMs(): number {
    return Math.floor(START_OF_TIME_MS + this.#timeMs + this.#wallOffsetMs)
  }

  start(name = `p${this.#started + 1}`): SimulatedProcess {
    this.#started += 1
    const process = new SimulatedProcess(name, this.#timeMs)
    this.#processes.push(process)
    return process
  }

  /** Runs before every step, for what happens without anybody calling. */
  onStep(hook: () => void): void {
    this.#hooks.push(hook)
  }

  /** A call of a process: it takes effect, and is answered, when it is picked. The calls of a dead process are never answered. */
  submit<T>(process: SimulatedProcess, work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!process.alive) return
      const call: Call = {
        done: false,
        advance: () => {
          try {
            const result = work.perform()
            if (result === MORE) return
            call.deliver = () => resolve(result)
          } catch (error) {
            call.deliver = () => reject(error)
          }
          call.done = true
        },
        deliver: () => {},
        abandon: () => {
          if (work.abandon !== undefined) work.abandon()
          else if (this.random.chance(0.5)) while (!call.done) call.advance()
        },
      }
      process.calls.push(call)
    })
  }

  /** Calls back in the process when it is picked. */
  post(process: SimulatedProcess, callback: () => void): void {
    if (process.alive) process.calls.push({ done: true, advance: () => {}, deliver: callback, abandon: () => {} })
  }

  sleep(process: SimulatedProcess, ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (!process.alive) return
      const dueMs = this.#timeMs + Math.max(0, ms)
      const before = this.#sleeps.findLastIndex((other) => other.dueMs <= dueMs)
      this.#sleeps.splice(before + 1, 0, { process, dueMs, wake: resolve })
    })
  }

  /**
   * On entry to a synchronous call: what others have in flight may take effect first. Their promises are answered later, since no
   * other code can run now.
   */
  overtake(self: SimulatedProcess): void {
    if (!this.random.chance(this.#chances.race)) return
    for (const process of this.#processes) {
      if (process === self) continue
      const count = process.calls.length
      for (let index = 0; index < count; index += 1) {
        const call = process.calls[index]
        if (call !== undefined && !call.done && this.random.chance(0.5)) call.advance()
      }
    }
  }

  /** Ends a process as SIGKILL does: what it has in flight happens, or a part of it, or nothing; it never runs again. */
  kill(process: SimulatedProcess): void {
    if (!process.alive) return
    process.alive = false
    this.note(process, () => 'killed')
    const calls = process.calls.splice(0)
    while (calls.length > 0) {
      const call = takeAt(calls, this.random.int(calls.length))
      if (!call.done) call.abandon()
    }
    const sleeping = this.#sleeps.filter((sleep) => sleep.process !== process)
    this.#sleeps.splice(0, this.#sleeps.length, ...sleeping)
    this.#processes.splice(this.#processes.indexOf(process), 1)
    for (const exit of process.exits) exit()
  }

  /** Takes steps until nothing is pending, until the condition holds, or until the steps are used up. */
  async run(options: { readonly steps?: number; readonly until?: () => boolean } = {}): Promise<RunEnd> {
    if (this.#running) throw new TypeError('The scheduler is running already. Await the first run, or call run from outside of it.')
    const { steps = 1_000_000, until } = options
    const last = this.#step + steps
    this.#running = true
    try {
      await turn()
      for (let answers = 0; ; ) {
        if (until?.()) return 'until'
        if (this.#step >= last) return 'limit'
        if (!this.#anythingPending()) {
          await turn()
          if (!this.#anythingPending()) return 'idle'
        }
        // After a step that answered nobody there is no code to wait for.
        if (!this.#takeStep()) continue
        answers += 1
        await (answers % ANSWERS_PER_TURN === 0 ? turn() : promisesDrained())
      }
    } finally {
      this.#running = false
    }
  }

  /** Adds a line to the trace, if there is one: step, process, what. */
  note(process: SimulatedProcess | undefined, text: () => string): void {
    this.trace?.push(`${this.#step} ${process?.name ?? '-'} ${text()}`)
  }

  #anythingPending(): boolean {
    return this.#sleeps.length > 0 || this.#processes.some((process) => process.calls.length > 0)
  }

  /** True if code of a process may run now. */
  #takeStep(): boolean {
    this.#step += 1
    for (const hook of this.#hooks) hook()
    this.#passTime()
    const process = this.#pickProcess() ?? this.#wakeNext()
    if (process === undefined) return false
    const index = this.random.int(process.calls.length)
    const call = process.calls[index] as Call
    if (!call.done) {
      call.advance()
      if (!call.done || this.random.chance(this.#chances.lateDelivery)) return false
    }
    takeAt(process.calls, index)
    call.deliver()
    return true
  }

  #passTime(): void {
    this.#timeMs += this.random.float() * STEP_MS
    if (this.random.chance(this.#chances.wallJump)) this.#wallOffsetMs += (this.random.float() * 2 - 1) * HOUR_MS
    if (this.#sleeps.length === 0) return
    if (this.random.chance(this.#chances.timeJump)) this.#jumpToNextSleeper()
    this.#wakeDue()
  }

  /** First the process, then its call: one that has much in flight must not crowd out the others. */
  #pickProcess(): SimulatedProcess | undefined {
    const candidates = this.#candidates
    candidates.length = 0
    for (const process of this.#processes) {
      if (process.calls.length > 0 && process.stalledUntil <= this.#step) candidates.push(process)
    }
    if (candidates.length > 1 && this.random.chance(this.#chances.stall)) {
      const stalled = takeAt(candidates, this.random.int(candidates.length))
      stalled.stalledUntil = this.#step + this.random.int(this.#chances.stallSteps)
    }
    // Where all that have work are stalled, stalling means nothing.
    if (candidates.length === 0) candidates.push(...this.#processes.filter((process) => process.calls.length > 0))
    return candidates.length === 0 ? undefined : this.random.pick(candidates)
  }

  #wakeNext(): SimulatedProcess | undefined {
    this.#jumpToNextSleeper()
    this.#wakeDue()
    return this.#pickProcess()
  }

  #jumpToNextSleeper(): void {
    const next = this.#sleeps[0]
    if (next !== undefined) this.#timeMs = Math.max(this.#timeMs, next.dueMs)
  }

  #wakeDue(): void {
    for (let next = this.#sleeps[0]; next !== undefined && next.dueMs <= this.#timeMs; next = this.#sleeps[0]) {
      this.#sleeps.shift()
      this.post(next.process, next.wake)
    }
  }
}

/**
 * Node runs a tick only when no promise callback is left, however long their chain. Code that uses ticks itself may go on a step
 * later, which is just another order of events, and the same one every time.
 */
function promisesDrained(): Promise<void> {
  return new Promise((resolve) => nextTick(resolve))
}

/** A turn of the real event loop drains everything, ticks included, but costs three times as much. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Takes one out of a list whose order means nothing. */
function takeAt<T>(items: T[], index: number): T {
  const taken = items[index] as T
  const last = items.pop() as T
  if (index < items.length) items[index] = last
  return taken
}

/** The clock of one process. All wall clocks agree, and jump together; a monotonic clock begins with its process. */
export function simulatedClock(scheduler: Scheduler, process: SimulatedProcess): Clock {
  return {
    now: () => scheduler.wallMs,
    monotonicMs: () => scheduler.timeMs - process.startedMs,
    sleep: (ms) => scheduler.sleep(process, ms),
  }
}
