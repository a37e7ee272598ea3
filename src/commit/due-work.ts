/**
 * Which sessions have a task to be worked on. Learnt from the feed, one look at each session that changed; after a start, or where the feed
 * has a gap, from the catalog. What is not due now is remembered with the moment from which it is.
 */
import { CatalogUnavailable } from '../engine/catalog.ts'
import { HoldfastError } from '../errors.ts'
import type { Archive, SessionState } from '../session/state.ts'
import type { StoreParts } from '../store/parts.ts'
import { autoCommit } from './auto-commit.ts'

export interface Due {
  /** Of the journal. */
  readonly name: string
  readonly space: string
  readonly session: string
  readonly archive: Archive
  /** The lease that has run out, by the position of its record; null if nobody holds it. */
  readonly leaseAt: number | null
  /** From when on, by the monotonic clock. */
  readonly readyMs: number
  /** What it waits for: seen again, it goes on waiting and does not begin anew. */
  readonly because: string
}

const SIDE_BY_SIDE = 16
const POSTPONED_MS = 5000

export class DueWork {
  readonly #parts: StoreParts
  /** The one journal to look at, if it is not all of them. */
  readonly #only: string | undefined
  readonly #due = new Map<string, Due>()
  /** Sessions to commit by their policy, once they have been idle for long enough: from when on. */
  readonly #idle = new Map<string, number>()
  /** Sessions that changed. */
  readonly #toLookAt = new Set<string>()
  /** Sessions that may have changed: looked at when there is nothing better to do. */
  readonly #toSweep = new Set<string>()
  #cursor: string | undefined

  constructor(parts: StoreParts, only: string | undefined) {
    this.#parts = parts
    this.#only = only
  }

  /** Tasks, and sessions that may have one. */
  get size(): number {
    return this.#due.size + [...this.#toLookAt, ...this.#toSweep].filter((name) => !this.#due.has(name)).length
  }

  /** Tasks that can begin now, those that have waited longest first. */
  ready(): Due[] {
    const now = this.#parts.clock.monotonicMs()
    return [...this.#due.values()].filter(({ readyMs }) => readyMs <= now).sort((a, b) => a.readyMs - b.readyMs)
  }

  /** How long until something becomes due that is not yet. */
  nextMs(): number {
    const now = this.#parts.clock.monotonicMs()
    const later = [...[...this.#due.values()].map(({ readyMs }) => readyMs), ...this.#idle.values()].filter((ms) => ms > now)
    return Math.min(...later) - now
  }

  /** What was known of a task holds no longer: its session is looked at again, while it is at hand and although the feed may not name it. */
  async settle({ name }: Due): Promise<void> {
    this.#due.delete(name)
    // Whatever is wrong with the store shows the next time.
    await this.#lookAt(name).catch(() => this.#toLookAt.add(name))
  }

  postpone({ name, ...due }: Due): void {
    const readyMs = this.#parts.clock.monotonicMs() + POSTPONED_MS
    this.#due.set(name, { ...due, name, readyMs })
    this.#toLookAt.add(name)
  }

  /**
   * Learns what has changed, and looks at sessions until `enough` tasks can begin. The rest is looked at when those have: by the time its
   * turn comes, what was read of a session long before would have to be read again.
   */
  async notice(enough: number): Promise<void> {
    const { engine, clock } = this.#parts
    const { cursor, names, reset } = await engine.changes(this.#cursor)
    this.#cursor = cursor
    for (const name of names) if (this.#only === undefined || name === this.#only) this.#toLookAt.add(name)
    if (reset && this.#only !== undefined) this.#toLookAt.add(this.#only)
    else if (reset) await this.#sweep()
    const now = clock.monotonicMs()
    for (const [name, fromMs] of this.#idle) if (fromMs <= now) this.#toLookAt.add(name)
    for (;;) {
      const from = this.#toLookAt.size > 0 ? this.#toLookAt : this.#toSweep
      if (from.size === 0 || this.ready().length >= enough) return
      const looking = [...from].slice(0, SIDE_BY_SIDE)
      for (const name of looking) from.delete(name)
      await Promise.all(looking.map((name) => this.#lookAt(name)))
    }
  }

  /** In an order of its own: workers that begin at the same moment would otherwise follow each other on every step. */
  async #sweep(): Promise<void> {
    const { ids } = this.#parts
    const names = (await this.#candidates()).map((name) => ({ name, rank: ids.random() }))
    for (const { name } of names.sort((a, b) => a.rank - b.rank)) this.#toSweep.add(name)
  }

  /** Sessions that may have something due: what the catalog knows, which has every change before this call; without one, all of them. */
  async #candidates(): Promise<readonly string[]> {
    const { catalog, engine } = this.#parts
    try {
      return await catalog.ask('due')
    } catch (error) {
      if (!(error instanceof CatalogUnavailable)) throw error
      const names: string[] = []
      for await (const name of engine.names()) names.push(name)
      return names
    }
  }

  async #lookAt(name: string): Promise<void> {
    const held = this.#parts.replicas.once(name)
    try {
      const { state } = await held.replica.read()
      if (state.status !== 'live' || state.id === null || state.space === null) {
        this.#due.delete(name)
        return
      }
      const idleMs = await this.#autoCommit(state.space, state.id, state)
      if (idleMs === undefined) this.#idle.delete(name)
      else this.#idle.set(name, this.#parts.clock.monotonicMs() + idleMs)
      const due = this.#dueOf(name, state)
      if (due === undefined) this.#due.delete(name)
      else {
        this.#due.set(name, due)
        // It will be used in a moment.
        this.#parts.replicas.keep(name, held)
      }
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      // A session that cannot be read has no work that could be done; a repaired one is announced when it is written to.
      this.#due.delete(name)
      if (error.retryable) this.#idle.set(name, this.#parts.clock.monotonicMs() + POSTPONED_MS)
    }
  }

  /** A policy that cannot be carried out keeps no task from being worked on. */
  async #autoCommit(space: string, id: string, state: SessionState): Promise<number | undefined> {
    try {
      return await autoCommit({ ...this.#parts, space }, id, state)
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      return error.retryable ? POSTPONED_MS : undefined
    }
  }

  /** In each session, the first archive that has not ended: they are summarised in order. */
  #dueOf(name: string, { space, id, archives }: SessionState): Due | undefined {
    const archive = archives.find(({ session, status }) => session === null && (status === 'pending' || status === 'running'))
    if (archive === undefined) return undefined
    const { lease } = archive
    const because = lease === null ? `${archive.number} ${archive.ended}` : `${archive.number} ${lease.at}`
    const before = this.#due.get(name)
    if (before?.because === because) return { ...before, archive }
    const now = this.#parts.clock.monotonicMs()
    // Also its own lease runs out, if the store failed while it worked: as long as it works on it, it is renewed.
    const waitMs = lease === null ? archive.waitMs : lease.ms
    return { name, space: space as string, session: id as string, archive, leaseAt: lease?.at ?? null, readyMs: now + waitMs, because }
  }
}
