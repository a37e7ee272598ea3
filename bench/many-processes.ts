import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { BareLoop } from './bare-loop.ts'
import { type Benchmark, figure, interleave, rateOf, ratios } from './harness.ts'
import type { Way } from './writer.ts'

const PROCESSES = 8
const WRITER = fileURLToPath(new URL('./writer.js', import.meta.url))

export const manyProcesses: Benchmark = {
  name: 'many-processes',
  about:
    `Durable appends of 1 KiB by ${PROCESSES} processes on one journal, one caller each, all together against the bare loop of one process; ` +
    'and what is lost if a writer awaits anything between reading the end of the journal and writing there.',
  run: async ({ directory, quick }) => {
    const bare = await BareLoop.open(directory)
    const atOnce = await Crowd.start(directory, 'at once')
    const awaiting = await Crowd.start(directory, 'await')
    const alwaysAwaiting = await Crowd.start(directory, 'await always')
    const slice = quick ? 300 : 1000
    const rates = await interleave(quick ? 3 : 9, {
      bare: () => rateOf(slice, () => bare.append()),
      atOnce: () => atOnce.run(slice),
      awaiting: () => awaiting.run(slice),
      alwaysAwaiting: () => alwaysAwaiting.run(slice),
    })
    await Promise.all([bare.close(), atOnce.stop(), awaiting.stop(), alwaysAwaiting.stop()])
    return [
      figure('bare loop', 'appends/s', rates.bare),
      figure('Holdfast, all processes together', 'appends/s', rates.atOnce),
      figure('Holdfast against the bare loop', 'times', ratios(rates.atOnce, rates.bare), { is: 'at least', value: 0.35 }),
      figure('share of the slowest process, of an even one', 'times', atOnce.slowest.slice(1)),
      figure('an await before the write, against none', 'times', ratios(rates.awaiting, rates.atOnce)),
      figure('the same, and never in a hurry', 'times', ratios(rates.alwaysAwaiting, rates.atOnce)),
    ]
  },
}

/** Processes that write to one journal when they are told to. */
class Crowd {
  /** Of each round: the rate of the slowest process, against an equal share. */
  readonly slowest: number[] = []
  readonly #members: readonly Member[]

  private constructor(members: readonly Member[]) {
    this.#members = members
  }

  static async start(directory: string, way: Way): Promise<Crowd> {
    const members = Array.from({ length: PROCESSES }, () => new Member(directory, way))
    await Promise.all(members.map((member) => member.answer()))
    return new Crowd(members)
  }

  async run(milliseconds: number): Promise<number> {
    const rates = await Promise.all(this.#members.map((member) => member.run(milliseconds)))
    const sum = rates.reduce((total, rate) => total + rate, 0)
    this.slowest.push((Math.min(...rates) * PROCESSES) / sum)
    return sum
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.stop()))
  }
}

class Member {
  readonly #process: ChildProcess
  readonly #gone: Promise<unknown>

  constructor(directory: string, way: Way) {
    this.#process = fork(WRITER, [directory, way])
    this.#gone = once(this.#process, 'exit')
  }

  run(milliseconds: number): Promise<number> {
    const rate = this.answer()
    this.#process.send(milliseconds)
    return rate
  }

  /** What it says next. One that dies instead has printed why. */
  async answer(): Promise<number> {
    const died = this.#gone.then(() => {
      throw new Error(`A writer ended with code ${String(this.#process.exitCode)}.`)
    })
    // Nobody listens any more once it has answered, and it ends in the end.
    died.catch(() => undefined)
    const [rate] = await Promise.race([once(this.#process, 'message'), died])
    return rate as number
  }

  async stop(): Promise<void> {
    this.#process.disconnect()
    await this.#gone
  }
}
