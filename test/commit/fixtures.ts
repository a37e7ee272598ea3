/** A store with a model and a clock that the test holds in its hands. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import type { Session } from '../../src/store/session.ts'

/** A clock whose monotonic time and sleeps move only when told. The wall clock stands still too. */
export class HandClock implements Clock {
  #now = 1_750_000_000_000
  #ms = 0
  #sleepers: { readonly at: number; readonly wake: () => void }[] = []

  now(): number {
    return this.#now
  }

  monotonicMs(): number {
    return this.#ms
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const sleeper = { at: this.#ms + ms, wake: resolve }
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((one) => one !== sleeper)
        resolve()
      })
    })
  }

  /** Lets time pass, waking whoever slept until then. */
  async pass(ms: number): Promise<void> {
    const until = this.#ms + ms
    for (;;) {
      const next = this.#sleepers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#now += Math.max(0, next.at - this.#ms)
      this.#ms = Math.max(this.#ms, next.at)
      this.#sleepers = this.#sleepers.filter((one) => one !== next)
      next.wake()
      await turns()
    }
    this.#now += until - this.#ms
    this.#ms = until
    await turns()
  }
}

/** Lets everything that can go on go on, real work of a disk or a database included. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await systemClock.sleep(1)
  if (process.env.HOLDFAST_TEST_STORE !== 'postgres') return
  const { untilDatabasesRest } = await import('../postgres/database.ts')
  await untilDatabasesRest()
}

/** Resolves when this no longer throws: soon as a rule, later on a busy machine. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 30_000, interval: 20 })
}

export async function appendAll(session: Session, ...ids: string[]): Promise<void> {
  for (const id of ids) await session.append({ role: 'user', content: `text of ${id}`, id })
}

export async function liveIds(session: Session): Promise<string> {
  return (await session.messages({ limit: 1000 })).messages.map(({ id }) => id).join(' ')
}

export async function withDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-commit-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
