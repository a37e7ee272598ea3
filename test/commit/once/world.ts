/** One store, opened twice on a clock that runs when told, with workers that come, die and come back. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Model } from '../../../src/commit/model.ts'
import { Worker, type WorkerOptions } from '../../../src/commit/worker.ts'
import type { Clock } from '../../../src/engine/clock.ts'
import { systemClock } from '../../../src/engine/clock.ts'
import { openFilesEngine } from '../../../src/engines/files/engine.ts'
import { openMemoryEngine } from '../../../src/engines/memory/engine.ts'
import { openPostgresEngine } from '../../../src/engines/postgres/engine.ts'
import { sessionReducer } from '../../../src/session/reducer.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { unsynced } from '../../damage/on-disk.ts'
import { storeAddress } from '../../store-address.ts'
import { HandClock } from '../fixtures.ts'
import { type Asked, StubModel } from '../stub-model.ts'

export type Kind = 'memory' | 'files' | 'postgres'

/** Time passes only while somebody waits for a worker. No two looks at the wall clock see the same time. */
class SwiftClock implements Clock {
  #now = Date.UTC(2026, 0, 1)
  #ms = 0
  #sleepers: { readonly at: number; readonly wake: () => void }[] = []

  now(): number {
    return this.#now++
  }

  monotonicMs(): number {
    return this.#ms
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) resolve()
      this.#sleepers.push({ at: this.#ms + ms, wake: resolve })
      signal?.addEventListener('abort', () => resolve())
    })
  }

  pass(ms: number): void {
    this.#ms += ms
    const due = this.#sleepers.filter(({ at }) => at <= this.#ms)
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#ms)
    for (const { wake } of due) wake()
  }
}

/** A worker that took a task and then showed no sign of life. What its model was asked may still be answered, much too late. */
interface DeadWorker {
  readonly worker: Worker
  readonly store: Store
  readonly asked: Asked[]
}

async function placeOf(kind: Kind): Promise<string> {
  if (kind === 'postgres') return storeAddress()
  return kind === 'memory' ? '' : mkdtemp(join(tmpdir(), 'holdfast-once-'))
}

export class World {
  readonly #kind: Kind
  /** A directory, or the address of a database. */
  readonly #place: string
  readonly #memory = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  readonly #clock = new SwiftClock()
  readonly #dead: DeadWorker[] = []
  #stores: Store[] = []

  static async open(kind: Kind): Promise<World> {
    const world = new World(kind, await placeOf(kind))
    world.#stores = [await world.#open(world.#clock), await world.#open(world.#clock)]
    return world
  }

  private constructor(kind: Kind, place: string) {
    this.#kind = kind
    this.#place = place
  }

  store(via: number): Store {
    return this.#stores[via % 2] as Store
  }

  async reopen(via: number): Promise<void> {
    // Closing the one memory would forget it; a store opened anew has forgotten enough.
    if (this.#kind !== 'memory') await this.store(via).close()
    this.#stores[via % 2] = await this.#open(this.#clock)
  }

  /** Lets workers do all that is due, one for each model; what the dead ones hold is due when their leases have run out. */
  async work(models: readonly Model[], options: WorkerOptions = {}): Promise<void> {
    const workers = models.map((model, via) => new Worker(this.store(via), { model, ...options }))
    let over = false
    const done = Promise.all(workers.map((worker) => worker.drain())).finally(() => {
      over = true
    })
    while (!over) {
      await systemClock.sleep(1)
      this.#clock.pass(2000)
    }
    await done
  }

  /** A worker takes what is due, and never comes to an end with it. */
  async crash(): Promise<void> {
    const asked: Asked[] = []
    const store = await this.#open(new HandClock())
    const worker = new Worker(store, { model: new StubModel({ manual: (one) => asked.push(one) }), concurrency: 2 })
    worker.start()
    for (let i = 0; i < 10 && asked.length === 0; i++) await systemClock.sleep(1)
    this.#dead.push({ worker, store, asked })
  }

  /** One that was taken for dead goes on as if nothing had happened: its model answers, or it is stopped. */
  async awake(answers: boolean): Promise<void> {
    const dead = this.#dead.shift()
    if (dead === undefined) return
    if (answers) for (const { answer } of dead.asked) answer()
    for (let i = 0; answers && i < 3; i++) await systemClock.sleep(1)
    await this.#bury(dead)
  }

  async dispose(): Promise<void> {
    for (const dead of this.#dead) await this.#bury(dead)
    for (const store of this.#stores) await store.close()
    if (this.#kind === 'files') await rm(this.#place, { recursive: true })
  }

  async #bury({ worker, store }: DeadWorker): Promise<void> {
    await worker.stop()
    if (this.#kind !== 'memory') await store.close()
  }

  async #open(clock: Clock): Promise<Store> {
    const { keysOf } = sessionReducer
    const engine =
      this.#kind === 'memory'
        ? this.#memory
        : this.#kind === 'postgres'
          ? await openPostgresEngine({ url: this.#place, keysOf, connections: 4 })
          : await openFilesEngine({ directory: this.#place, keysOf, clock, disk: unsynced })
    return openStore(engine, { clock, limits: { segmentBytes: 700, replicas: 3 } })
  }
}
