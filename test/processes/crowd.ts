/**
 * Writers and readers on one journal, and somebody who kills, stops and continues them at random, one or all. A writer that was killed is replaced
 * by one that takes over its log. Readers are killed too, but seldom: what matters of them is what they have shown.
 */
import { join } from 'node:path'
import type { Random } from '../simulation/random.ts'
import { Child, type Ended } from './children.ts'
import type { ReaderOptions } from './reader/main.ts'
import { journalBytes } from './segments.ts'
import type { WriterOptions } from './writer/main.ts'

export interface CrowdOptions {
  /** Holds the store and the logs. */
  readonly directory: string
  readonly writers: number
  readonly readers: number
  readonly segmentBytes: number
  /** Sizes of the records. */
  readonly smallestBytes: number
  readonly largestBytes: number
  readonly random: Random
}

interface Place {
  readonly name: string
  readonly kind: 'writer' | 'reader'
  child: Child
}

export class Crowd {
  readonly logs: string[] = []
  /** Ends that nobody had asked for. */
  readonly crashes: Ended[] = []
  kills = 0
  stops = 0

  readonly #options: CrowdOptions
  readonly #places: Place[] = []
  readonly #timers = new Set<NodeJS.Timeout>()
  #over = false

  constructor(options: CrowdOptions) {
    this.#options = options
    for (let i = 0; i < options.writers; i++) this.#fill('writer', `w${i}`)
    for (let i = 0; i < options.readers; i++) this.#fill('reader', `r${i}`)
  }

  get store(): string {
    return join(this.#options.directory, 'store')
  }

  /** Lets them run for so long, and on a busy machine until enough happened. Returns once every process has come to its end. */
  async run(duration: {
    readonly atLeastMs: number
    readonly atMostMs: number
    readonly kills: number
    readonly journalBytes: number
  }): Promise<void> {
    const begun = performance.now()
    const enough = (): boolean => this.kills >= duration.kills && journalBytes(this.store) >= duration.journalBytes
    this.#disturbLater()
    await new Promise<void>((resolve) => {
      const look = (): void => {
        const passed = performance.now() - begun
        if (passed >= duration.atMostMs || (passed >= duration.atLeastMs && enough())) resolve()
        else this.#later(200, look)
      }
      look()
    })
    this.#over = true
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.all(
      this.#places.map(async ({ child }) => {
        child.signal('SIGCONT')
        await child.finish()
      }),
    )
  }

  #fill(kind: Place['kind'], name: string): void {
    const log = join(this.#options.directory, `${name}.log`)
    this.logs.push(log)
    const place: Place = { kind, name, child: this.#start(kind, name, log) }
    this.#places.push(place)
    this.#replaceWhenKilled(place, log)
  }

  #replaceWhenKilled(place: Place, log: string): void {
    void place.child.ended.then((ended) => {
      if (ended.signal !== 'SIGKILL' && (ended.code !== 0 || !this.#over)) this.crashes.push(ended)
      if (this.#over) return
      place.child = this.#start(place.kind, place.name, log)
      this.#replaceWhenKilled(place, log)
    })
  }

  #start(kind: Place['kind'], name: string, log: string): Child {
    const { segmentBytes, smallestBytes, largestBytes, random } = this.#options
    const common: ReaderOptions = { directory: this.store, log, name }
    const options: ReaderOptions | WriterOptions =
      kind === 'reader' ? common : { ...common, segmentBytes, smallestBytes, largestBytes, seed: random.word(), lanes: 1 + random.int(3) }
    return new Child(kind, options)
  }

  #disturbLater(): void {
    this.#later(20 + this.#options.random.int(200), () => {
      this.#disturb()
      this.#disturbLater()
    })
  }

  #disturb(): void {
    const { random } = this.#options
    // All at once now and then: one of them has written and not been answered yet.
    if (random.chance(0.05)) {
      for (const place of this.#places) if (place.kind === 'writer') this.#kill(place.child)
      return
    }
    const { child, kind } = random.pick(this.#places)
    if (random.chance(kind === 'reader' ? 0.1 : 0.4)) this.#kill(child)
    else if (child.running) {
      this.stops++
      child.signal('SIGSTOP')
      this.#later(random.int(400), () => child.signal('SIGCONT'))
    }
  }

  #kill(child: Child): void {
    if (!child.running || this.#over) return
    this.kills++
    child.signal('SIGKILL')
  }

  #later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      work()
    }, ms)
    this.#timers.add(timer)
  }
}
