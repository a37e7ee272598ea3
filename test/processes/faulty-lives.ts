/**
 * Runs the scenario once for each call that can fail, and judges each run: how it ended, what it was told, and what a process that comes
 * later finds. An old life begins with a copy of a store that an earlier life has left, and what that one was told must hold as well.
 */
import { cpSync, existsSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { sample } from '../long.ts'
import type { Trial } from './faults.ts'
import { inspect } from './inspection.ts'
import { attemptsOf, type LoggedAttempt, type LogLine, readLog } from './log.ts'
import type { Life, ScenarioOptions } from './scenario/main.ts'
import { type Call, countCalls, type Fault, runWith } from './strace.ts'

const PATIENCE_MS = 30_000
/** Runs at once: more than processors, since much of a run is waiting for the disk. */
const LANES = 3

export interface Outcome {
  readonly attempts: readonly LoggedAttempt[]
  /** What is wrong with this run. */
  readonly problems: readonly string[]
}

export class FaultyLives {
  readonly #directory: string
  readonly #calls = new Map<Life, readonly Call[]>()
  /** What the life was told that the old ones begin with. */
  #before: readonly LoggedAttempt[] = []
  #runs = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Lets each life be lived once with nothing failing. */
  async count(): Promise<void> {
    for (const life of ['new', 'pooled', 'old'] as const) {
      const options = this.#prepare(life, life)
      this.#calls.set(life, await countCalls(options, `${options.directory}.trace`))
      if (life === 'new') {
        this.#before = attemptsOf(readLog(options.log))
        cpSync(options.directory, this.#heritage, { recursive: true })
      }
    }
  }

  /** A sample of the runs; of the others as many as it takes to get the answer that some run must get. */
  async run(trial: Trial): Promise<Outcome[]> {
    const faults = trial.lives.map((life) => this.#faults(trial, life).map((fault) => ({ fault, life })))
    const chosen = faults.flatMap((ofLife) => sample(ofLife, 13))
    const others = faults.flat().filter((one) => !chosen.includes(one))
    const outcomes: Outcome[] = []
    const isAnswered = (): boolean =>
      trial.answer === undefined || outcomes.some(({ attempts }) => attempts.some(({ code, told }) => `${code} ${told}` === trial.answer))
    const lane = async (): Promise<void> => {
      const next = chosen.shift() ?? (isAnswered() ? undefined : others.shift())
      if (next === undefined) return
      outcomes.push(await this.#runOne(next.fault, next.life))
      return lane()
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    return outcomes
  }

  get #heritage(): string {
    return join(this.#directory, 'heritage')
  }

  #prepare(life: Life, name: string): ScenarioOptions {
    const directory = join(this.#directory, name)
    if (life === 'old') cpSync(this.#heritage, directory, { recursive: true })
    return { directory, log: `${directory}.log`, life }
  }

  #faults({ syscall, how, forever = false, sparse = false, everywhere = false }: Trial, life: Life): Fault[] {
    const chosen = (call: Call): boolean => syscall.test(call.syscall) && (!sparse || call.when % 2 === 1)
    const own = (this.#calls.get(life) ?? []).filter(chosen)
    const calls = everywhere ? own.map((call, i): Call => ({ ...call, path: undefined, when: i + 1 })) : own
    return calls.map((call): Fault => ({ ...call, how, forever }))
  }

  async #runOne(fault: Fault, life: Life): Promise<Outcome> {
    const options = this.#prepare(life, String(this.#runs++))
    const { ended, hits } = await runWith(fault, options, `${options.directory}.trace`, PATIENCE_MS)
    const lines = existsSync(options.log) ? readLog(options.log) : []
    const attempts = attemptsOf(lines)
    const kills = fault.how === 'signal=KILL'
    const problems: string[] = []
    if (hits === 0) problems.push('was not hit')
    const asExpected = kills ? ended.signal === 'SIGKILL' : ended.code === 0 && notesIn(lines).includes('the end')
    if (!asExpected) problems.push(`ended with ${JSON.stringify(ended)}`)
    // A file that the system did not close is open, whoever is to blame.
    if (fault.syscall !== 'close') problems.push(...notesIn(lines).filter((note) => note.startsWith('left open')))
    // Node closes a file that was forgotten when it collects garbage, and complains.
    if (ended.complaint.includes('garbage collection')) problems.push('forgot to close a file')
    // One failure must not keep a client from its goal that repeats what failed.
    if (!kills && !fault.forever) problems.push(...unfulfilled(attempts).map((wish) => `${wish} was not fulfilled`))
    const { findings } = await inspect(options.directory, life === 'old' ? [...this.#before, ...attempts] : attempts)
    problems.push(...findings.map(({ what, detail }) => `${what}: ${detail}`))
    rmSync(options.directory, { recursive: true, force: true })
    return { attempts, problems: problems.map((problem) => `${nameOf(fault, life)}: ${problem}`) }
  }
}

function nameOf({ syscall, how, when, path }: Fault, life: Life): string {
  return `${life} life, ${syscall} ${how} #${when} of ${path === undefined ? 'all' : basename(path) || 'the store'}`
}

function notesIn(lines: readonly LogLine[]): string[] {
  return lines.flatMap((line) => ('note' in line ? [line.note] : []))
}

function unfulfilled(attempts: readonly LoggedAttempt[]): string[] {
  const last = new Map(attempts.map(({ wish, told, error }) => [wish, { told, error }]))
  return [...last].flatMap(([wish, { told, error }]) => (told === 'none' || told === 'unknown' ? [`${wish} (${error})`] : []))
}
