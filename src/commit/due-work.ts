/**
 * Which sessions have a task to be worked on. Learnt from the feed, one look at each session that changed; after a start, or where the feed
 * has a gap, from the catalog, and from the feed since the catalog was last caught up. What is not due now is remembered with the moment
 * from which it is.
 *
 * Workers that begin at the same moment do not talk to each other. Each goes through what there is in an order of its own, and leaves alone
 * for a while what the feed names meanwhile: most likely another one has it. By the time that it looks there, the task is done as a rule;
 * and if the other one has died, nothing is left behind.
 */
import { CatalogUnavailable } from '../engine/catalog.ts'
import { HoldfastError } from '../errors.ts'
import type { Archive, SessionState } from '../session/state.ts'
import { LoadedMessages } from '../store/messages/loaded-messages.ts'
import type { StoreParts } from '../store/parts.ts'
import { autoCommit } from './auto-commit.ts'

export interface Due {
  /** Of the journal. */
  readonly name: string
  readonly space: string
  readonly session: string
  readonly archive: Archive
  /** What was read of the session's messages when it was looked at. */
  readonly loaded: LoadedMessages
  /** The lease that has run out, by the position of its record; null if nobody holds it. */
  readonly leaseAt: number | null
  /** From when on, by the monotonic clock. */
  readonly readyMs: number
  /** What it waits for: seen again, it goes on waiting and does not begin anew. */
  readonly because: string
}

const SIDE_BY_SIDE = 16
const POSTPONED_MS = 5000
const SET_ASIDE_MS = 30_000
/** How long a session of a sweep that has changed since is left to whoever changed it. */
const LEFT_MS = 5000
/** If more sessions than this have changed since the catalog was caught up, it is caught up first, in its own thread. */
const FEW = 5000

export class DueWork {
  readonly #parts: StoreParts
  /** The one journal to look at, if it is not all of them. */
  readonly #only: string | undefined
  readonly #due = new Map<string, Due>()
  /** Sessions to look at again: from when on. To commit by their policy if they are still idle then, or to find out whether they can be read or written. */
  readonly #idle = new Map<string, number>()
  /** Sessions that changed. */
  readonly #toLookAt = new Set<string>()
  /** Sessions that may have changed: looked at when there is nothing better to do. */
  readonly #toSweep = new Set<string>()
  /** Those of them that have changed since: from when on they are looked at in any case. */
  readonly #left = new Map<string, number>()
  /** Sessions whose task is being worked on here: they are looked at when that is over. */
  readonly #working = new Set<string>()
  #cursor: string | undefined

  constructor(parts: StoreParts, only: string | undefined) {
    this.#parts = parts
    this.#only = only
  }

  /** Tasks, and sessions that may have one. */
  get size(): number {
    return this.#due.size + [...this.#toLookAt, ...this.#toSweep, ...this.#left.keys()].filter((name) => !this.#due.has(name)).length
  }

  get isEmpty(): boolean {
    return this.#due.size === 0 && this.#toLookAt.size === 0 && this.#toSweep.size === 0 && this.#left.size === 0
  }

  /** Tasks that can begin now, those that have waited longest first. */
  ready(): Due[] {
    const now = this.#parts.clock.monotonicMs()
    return [...this.#due.values()]
      .filter(({ name, readyMs }) => readyMs <= now && !this.#working.has(name))
      .sort((a, b) => a.readyMs - b.readyMs)
  }

  /** How long until something becomes due that is not yet. */
  nextMs(): number {
    const now = this.#parts.clock.monotonicMs()
    let next = Number.POSITIVE_INFINITY
    const sooner = (ms: number): void => {
      if (ms > now && ms < next) next = ms
    }
    for (const { readyMs } of this.#due.values()) sooner(readyMs)
    for (const ms of this.#idle.values()) sooner(ms)
    return next - now
  }

  /** Its task is worked on: until `settle` or `postpone` nothing needs to be known of it. */
  begin({ name }: Due): void {
    this.#working.add(name)
  }

  /**
   * What was known of a task holds no longer. What else there is to do in its session is known here, up to what became of the task; what others did
   * meanwhile the feed has named or will name, and from now on it is looked at. Where nothing is known, the session is looked at again.
   */
  async settle({ name, loaded }: Due): Promise<void> {
    loaded.drop()
    this.#due.delete(name)
    const state = this.#parts.replicas.once(name).replica.known
    // Whatever is wrong with the store shows the next time.
    if (state === undefined) await this.#lookAt(name).catch(() => this.#toLookAt.add(name))
    else await this.#learn(name, state, loaded).catch(() => this.#toLookAt.add(name))
    // Not sooner: somebody who looks while this is learnt would know more, and be overruled.
    this.#working.delete(name)
  }

  /**
   * The task cannot be worked on until an operator repairs the session. It no longer counts as due, so that a worker that drains comes to an end. It is
   * looked at again from time to time: a repair that puts files back is not announced.
   */
  setAside({ name, loaded }: Due): void {
    loaded.drop()
    this.#due.delete(name)
    this.#idle.set(name, this.#parts.clock.monotonicMs() + SET_ASIDE_MS)
    this.#working.delete(name)
  }

  postpone({ name, ...due }: Due): void {
    const readyMs = this.#parts.clock.monotonicMs() + POSTPONED_MS
    due.loaded.drop()
    this.#due.set(name, { ...due, name, readyMs })
    this.#working.delete(name)
    this.#toLookAt.add(name)
  }

  /**
   * Learns what has changed, and looks at sessions until `enough` tasks can begin. The rest is looked at when those have: by the time its
   * turn comes, what was read of a session long before would have to be read again.
   */
  async notice(enough: number): Promise<void> {
    const { engine, clock } = this.#parts
    const { cursor, names, reset } = await engine.changes(this.#cursor)
    if (reset) this.#cursor = (await this.#sweep()) ?? cursor
    else this.#cursor = cursor
    const now = clock.monotonicMs()
    for (const name of names) this.#changed(name, now)
    for (const [name, fromMs] of this.#idle) if (fromMs <= now) this.#toLookAt.add(name)
    while (this.ready().length < enough) {
      const looking = this.#next()
      if (looking.length === 0) return
      await Promise.all(looking.map((name) => this.#lookAt(name)))
    }
  }

  #changed(name: string, now: number): void {
    if ((this.#only !== undefined && name !== this.#only) || this.#left.has(name)) return
    if (this.#toSweep.delete(name)) this.#left.set(name, now + LEFT_MS)
    else this.#toLookAt.add(name)
  }

  /**
   * The sessions to look at next: what changed, then what was left alone for long enough, then what may have changed. Those that are being worked on
   * wait: the feed names them for what is written here, and together with that, or right behind it, for what others write.
   */
  #next(): string[] {
    const now = this.#parts.clock.monotonicMs()
    const overdue = function* (left: ReadonlyMap<string, number>): Generator<string> {
      for (const [name, fromMs] of left) if (fromMs <= now) yield name
    }
    const names: string[] = []
    for (const from of [this.#toLookAt, overdue(this.#left), this.#toSweep, this.#left.keys()]) {
      for (const name of from) {
        if (names.length === SIDE_BY_SIDE) break
        if (!this.#working.has(name)) names.push(name)
      }
      for (const name of names) {
        this.#toLookAt.delete(name)
        this.#toSweep.delete(name)
        this.#left.delete(name)
      }
    }
    return names
  }

  /** Sessions that may have something due, in an order of this worker's own. Tells from where on the feed names what changes after that, if it differs. */
  async #sweep(): Promise<string | undefined> {
    if (this.#only !== undefined) {
      this.#toLookAt.add(this.#only)
      return undefined
    }
    const { ids } = this.#parts
    const { names, cursor } = await this.#candidates()
    const ranked = names.map((name) => ({ name, rank: ids.random() }))
    for (const { name } of ranked.sort((a, b) => a.rank - b.rank)) this.#toSweep.add(name)
    return cursor
  }

  /**
   * What the catalog knows, with what changed since, up to a place of the feed. Where that cannot be told, or is much, what the catalog knows once
   * it has every change before this call; without one, all sessions.
   */
  async #candidates(): Promise<{ names: readonly string[]; cursor?: string }> {
    const { catalog, engine } = this.#parts
    try {
      const known = await catalog.knownDue()
      const since = known.cursor === null ? undefined : await engine.changes(known.cursor)
      if (since === undefined || since.reset || since.names.length > FEW)
        return { names: (await catalog.ask('due', { caughtUp: true })).names }
      return { names: [...new Set([...known.names, ...since.names])], cursor: since.cursor }
    } catch (error) {
      if (!(error instanceof CatalogUnavailable)) throw error
      const names: string[] = []
      for await (const name of engine.names()) names.push(name)
      return { names }
    }
  }

  async #lookAt(name: string): Promise<void> {
    const loaded = new LoadedMessages()
    const held = this.#parts.replicas.once(name, loaded.note)
    try {
      const state = await held.replica.glance()
      loaded.close()
      // It will be used in a moment.
      if (await this.#learn(name, state, loaded)) this.#parts.replicas.keep(name, held)
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      // A session that cannot be read has no work that could be done; a repaired one is announced when it is written to.
      this.#due.delete(name)
      if (error.retryable) this.#idle.set(name, this.#parts.clock.monotonicMs() + POSTPONED_MS)
    }
  }

  /** Whether a session has a task, in a state of it. */
  async #learn(name: string, state: SessionState, loaded: LoadedMessages): Promise<boolean> {
    const isLive = state.status === 'live' && state.id !== null && state.space !== null
    const idleMs = isLive ? await this.#autoCommit(state.space, state.id, state) : undefined
    if (idleMs === undefined) this.#idle.delete(name)
    else this.#idle.set(name, this.#parts.clock.monotonicMs() + idleMs)
    const due = isLive ? this.#dueOf(name, state, loaded) : undefined
    if (due === undefined) this.#due.delete(name)
    else this.#due.set(name, due)
    return due !== undefined
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
  #dueOf(name: string, { space, id, archives }: SessionState, loaded: LoadedMessages): Due | undefined {
    const archive = archives.find(({ session, status }) => session === null && (status === 'pending' || status === 'running'))
    if (archive === undefined) return undefined
    const { lease } = archive
    const because = lease === null ? `${archive.number} ${archive.ended}` : `${archive.number} ${lease.at}`
    const before = this.#due.get(name)
    if (before?.because === because) return { ...before, archive, loaded }
    const now = this.#parts.clock.monotonicMs()
    // Also its own lease runs out, if the store failed while it worked: as long as it works on it, it is renewed.
    const waitMs = lease === null ? archive.waitMs : lease.ms
    // By the time that it can begin, what was read would have been kept for long.
    if (waitMs > 0) loaded.drop()
    return {
      name,
      space: space as string,
      session: id as string,
      archive,
      loaded,
      leaseAt: lease?.at ?? null,
      readyMs: now + waitMs,
      because,
    }
  }
}
