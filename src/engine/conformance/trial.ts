/**
 * The stage of one case: a fresh store, and every engine that the case opens on it. Whatever the case leaves open is closed behind
 * it, so that one case cannot disturb the next.
 */
import type { KeysOf } from '../../record/key-hash.ts'
import type { Engine, Journal } from '../port.ts'
import { testKeysOf } from './records.ts'

/** A store that the author of an engine made for one case. */
export interface Opened {
  readonly engine: Engine
  /** Another engine on the same store, beside those that are open, as another process would have one. Needed where `supports.shared`. */
  second?(): Promise<Engine>
  /** Opens the same store again, after every engine on it was closed. Needed where `supports.durable`. */
  reopen?(): Promise<Engine>
  /** Removes the store, after every engine on it was closed. */
  dispose?(): Promise<void>
}

export interface ConformanceOptions {
  /** Makes a new, empty store. Its engine must use this `keysOf`, which knows the records of the suite. Called at least once for each case. */
  open(keysOf: KeysOf): Promise<Opened>
}

/** One sentence of the contract. */
export interface Case {
  readonly name: string
  /** What the engine must support for the case to make sense. */
  readonly needs?: 'durable' | 'shared'
  run(trial: Trial): Promise<void>
}

/** The space of every session whose space does not matter. */
const SPACE = 'space'

export class Trial {
  readonly #options: ConformanceOptions
  readonly #opened: Opened
  readonly #live = new Set<Engine>()
  readonly #dispose: (() => Promise<void>)[] = []

  static async start(options: ConformanceOptions): Promise<Trial> {
    return new Trial(options, await options.open(testKeysOf))
  }

  private constructor(options: ConformanceOptions, opened: Opened) {
    this.#options = options
    this.#opened = opened
    this.#adopt(opened)
  }

  get engine(): Engine {
    return this.#opened.engine
  }

  /** A new handle on a journal of the first engine. */
  journal(id = 'session'): Journal {
    return journalOf(this.engine, id)
  }

  async second(): Promise<Engine> {
    if (this.#opened.second === undefined)
      throw new TypeError('The engine supports `shared`, so `open` must return a `second` to test it with.')
    return this.#track(await this.#opened.second())
  }

  /** Closes every engine and opens the store again. */
  async reopen(): Promise<Engine> {
    if (this.#opened.reopen === undefined)
      throw new TypeError('The engine supports `durable`, so `open` must return a `reopen` to test it with.')
    for (const engine of [...this.#live]) await this.close(engine)
    return this.#track(await this.#opened.reopen())
  }

  /** An engine on another, empty store. */
  async elsewhere(): Promise<Engine> {
    return this.#adopt(await this.#options.open(testKeysOf))
  }

  /** Closes an engine within the case, so that it is not closed again behind it. */
  async close(engine: Engine): Promise<void> {
    this.#live.delete(engine)
    await engine.close()
  }

  async end(): Promise<PromiseSettledResult<void>[]> {
    const closed = await Promise.allSettled([...this.#live].map((engine) => engine.close()))
    const disposed = await Promise.allSettled(this.#dispose.map((dispose) => dispose()))
    return [...closed, ...disposed]
  }

  #adopt(opened: Opened): Engine {
    if (opened.dispose !== undefined) this.#dispose.push(() => opened.dispose?.() ?? Promise.resolve())
    return this.#track(opened.engine)
  }

  #track(engine: Engine): Engine {
    this.#live.add(engine)
    return engine
  }
}

export function journalOf(engine: Engine, id = 'session'): Journal {
  return engine.journal(engine.name(SPACE, id))
}
