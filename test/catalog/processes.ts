/** Processes that append, list, index and are killed, on one store. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import type { Limits } from '../../src/record/limits.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import { unsynced } from '../damage/on-disk.ts'
import { readAcknowledged } from '../processes/acknowledged.ts'
import { Child, type Program } from '../processes/children.ts'
import { Random } from '../simulation/random.ts'
import { answersOf } from './answers.ts'

/** Each found less often than a search has hits: of those that are found more often, it tells some. */
const WORDS = [
  'nothing',
  ...[0, 1, 20, 300, 1000].flatMap((n) => ['a', 'b', 'a0'].map((name) => `word${name}x${n}`)),
  ...[0, 1, 2, 3].map((round) => `"round ${round} apple 7"`),
]

/** What a child tells, line by line. */
function listen(child: Child): { readonly lines: string[]; next(): Promise<string> } {
  const lines: string[] = []
  let wake: (() => void) | undefined
  child.onLine((line) => {
    lines.push(line)
    wake?.()
  })
  return {
    lines,
    next: async () => {
      const seen = lines.length
      while (lines.length === seen) {
        await new Promise<void>((resolve) => {
          wake = resolve
          void child.ended.then(() => resolve())
        })
        if (!child.running && lines.length === seen) throw new Error(`It ended: ${(await child.ended).complaint}`)
      }
      return lines[seen] as string
    },
  }
}

export class CatalogCrowd {
  readonly directory: string
  readonly #parent: string
  readonly #random: Random

  static async make(seed: number): Promise<CatalogCrowd> {
    return new CatalogCrowd(await mkdtemp(join(tmpdir(), 'holdfast-')), seed)
  }

  private constructor(parent: string, seed: number) {
    this.#parent = parent
    this.directory = join(parent, 'store')
    this.#random = new Random(seed)
  }

  dispose(): Promise<void> {
    return rm(this.#parent, { recursive: true })
  }

  /** Two append, a third lists all the while; some of the appending ones are killed and begin again. Every list is checked by whoever made it. */
  async appendWhileListing({
    milliseconds,
    keep,
    kills,
    limits = {},
  }: {
    milliseconds: number
    keep: boolean
    kills: number
    limits?: Partial<Limits>
  }): Promise<{ lists: number; searches: number }> {
    const appender = (name: string): Child => this.#start('appender', { name, sessions: 5, limits })
    const appending = [appender('a'), appender('b')]
    await Promise.all(appending.map((child) => listen(child).next()))
    const lister = this.#start('lister', { keep })
    const told = listen(lister)
    expect(await told.next()).toBe('ready')
    for (let i = 0; i < kills; i++) {
      await sleep(milliseconds / (kills + 1))
      const which = i % appending.length
      appending[which]?.signal('SIGKILL')
      await appending[which]?.ended
      appending[which] = appender(`${which === 0 ? 'a' : 'b'}${i}`)
    }
    await sleep(milliseconds / (kills + 1))
    for (const child of appending) expect(await child.finish()).toMatchObject({ code: 0, complaint: '' })
    expect(await lister.finish()).toMatchObject({ code: 0, complaint: '' })
    expect(told.lines.slice(0, -1)).toEqual(['ready'])
    return JSON.parse(told.lines.at(-1) as string) as { lists: number; searches: number }
  }

  /** Kills a process that indexes, so many times, each at some moment of its work; what it leaves is as good as a catalog made anew. */
  async killIndexing({ rounds, rebuild }: { rounds: number; rebuild: boolean }): Promise<void> {
    for (let i = 0; i < rounds; i++) {
      await this.#fill(i)
      const child = this.#start('indexer', { rebuild })
      const told = listen(child)
      expect(await told.next()).toBe('ready')
      await sleep(this.#random.int(150))
      child.signal('SIGKILL')
      await child.ended
      await this.checkAgainstAnew()
    }
  }

  /**
   * The catalog as it lies there answers as one that is made from the journals. Where writers were killed, once it was kept for a moment: what they
   * had written and not announced, and so not acknowledged either, is found by a sweep.
   */
  async checkAgainstAnew({ keep = false } = {}): Promise<void> {
    const store = await openStore(this.directory)
    const engine = await openFilesEngine({ directory: this.directory, keysOf: sessionReducer.keysOf, disk: unsynced })
    const anew = await openStore(engine)
    try {
      const check = async (): Promise<void> =>
        expect(await answersOf(store, { words: WORDS })).toEqual(await answersOf(anew, { words: WORDS }))
      if (keep) store.keepCatalog()
      await (keep ? vi.waitFor(check, { timeout: 60_000, interval: 100 }) : check())
    } finally {
      await store.close()
      await anew.close()
    }
  }

  get acknowledged(): number {
    return [...readAcknowledged(this.#parent).counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Enough that indexing it takes a while. */
  async #fill(round: number): Promise<void> {
    const engine = await openFilesEngine({ directory: this.directory, keysOf: sessionReducer.keysOf, disk: unsynced })
    const store = await openStore(engine)
    for (let i = 0; i < 60; i++) {
      const messages = Array.from({ length: 20 }, (_, j) => ({
        role: 'user',
        content: `round ${round} apple ${j} ${'some text '.repeat(20)}`,
      }))
      await store.session(`session ${this.#random.int(100)}`).append(messages)
    }
    await store.close()
  }

  #start(program: Program, options: object): Child {
    return new Child(program, { directory: this.directory, log: this.#parent, ...options })
  }
}

/** Real processes have to work for a while. */
function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
