/** A store: a set of sessions. Everything that concerns more than one of them is here. */
import type { CatalogStatus } from '../catalog/requests.ts'
import type { DataKeys } from '../encryption/data-keys.ts'
import { HoldfastError } from '../errors.ts'
import { checkId } from '../session/check.ts'
import type { Description } from '../session/records.ts'
import type { ErasedSession, EraseOptions } from './lifecycle/erase-owner.ts'
import type { Expired, ExpireOptions } from './lifecycle/expire.ts'
import { type Purged, type PurgeOptions, purge } from './lifecycle/purge.ts'
import { type RetentionPolicy, retentionOf, setRetention } from './lifecycle/retention-policy.ts'
import { type ListOptions, type ListPage, list } from './list.ts'
import { type MemoriesOptions, type Memory, memories } from './memories.ts'
import type { PageOptions } from './messages/transcript.ts'
import type { StoreParts } from './parts.ts'
import type { Quota, QuotaPort, QuotaUsage } from './quotas/quota-port.ts'
import { Quotas } from './quotas/quotas.ts'
import { type SearchOptions, type SearchResult, search } from './search.ts'
import { Session } from './session.ts'
import { readShared, type SharedView } from './sharing/shares.ts'
import { type Stats, statsOf } from './stats.ts'
import { listTasks, type RetryOptions, retryTasks, type TaskListOptions } from './task-list.ts'
import { findTask, type Task, type TaskInfo } from './tasks.ts'

export interface CreateOptions extends Description {
  /** Made if it is not given. */
  readonly id?: string
  readonly key?: string
  /** The session that this one is a child of. */
  readonly parent?: string
}

/**
 * A set of sessions, seen from one space. `openStore` makes one.
 *
 * @example
 * await using store = await openStore('./store')
 * const { sessions } = await store.list({ limit: 10 })
 */
export class Store implements AsyncDisposable {
  readonly #parts: StoreParts

  /** @internal */
  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  /** For the rooms that work on a store as a whole. @internal */
  get parts(): StoreParts {
    return this.#parts
  }

  get space(): string {
    return this.#parts.space
  }

  /** What an operator should know about this store, found while opening it. */
  get warnings(): readonly string[] {
    return this.#parts.engine.warnings
  }

  /**
   * A handle on a session. It reads and writes nothing: whether the session exists shows at the first call, and the first append creates it.
   *
   * @example const session = store.session('support-42')
   * @throws INVALID_ARGUMENT if this can be no id.
   */
  session(id: string): Session {
    return new Session(this.#parts, checkId('The id of a session', id))
  }

  /** Creates a session; ALREADY_EXISTS if there is one. A deleted one begins anew, with nothing of what it was. */
  async create({ id, key, parent, ...description }: CreateOptions = {}): Promise<Session> {
    if (parent !== undefined) {
      const of = this.session(parent)
      return of.child({ ...description, ...(id === undefined ? {} : { id }), ...(key === undefined ? {} : { key }) })
    }
    const { ids, clock } = this.#parts
    const session = this.session(id ?? ids.next(clock.now()))
    await session.create(description, key === undefined ? {} : { key })
    return session
  }

  /** Sessions, those changed last first unless told, a page at a time. */
  list(options: ListOptions = {}): Promise<ListPage> {
    return list(this.#parts, options)
  }

  /** Removes for good what was deleted long enough ago, but for what a fork still reaches. Tells of each session. */
  purge(options: PurgeOptions = {}): AsyncGenerator<Purged> {
    return purge(this.#parts, options)
  }

  /**
   * Deletes what was idle for long enough, erases the messages of old archives, and purges what was deleted for long enough: after the times that are
   * given, else after those of the space's policy. Tells of each session.
   */
  async *expire(options: ExpireOptions = {}): AsyncGenerator<Expired> {
    const { expire } = await import('./lifecycle/expire.ts')
    yield* expire(this.#parts, options)
  }

  /** How long this space keeps things, where `expire` is told no time; nothing has an end unless it was said. */
  retention(): Promise<RetentionPolicy> {
    return retentionOf(this.#parts)
  }

  /** In place of what was said before; an empty one takes it away. Nothing happens before somebody calls `expire`. */
  async setRetention(policy: RetentionPolicy): Promise<RetentionPolicy> {
    await setRetention(this.#parts, policy)
    return this.retention()
  }

  /** Removes everything of an owner for good, whether it was deleted before or not. Tells of each session. */
  async *erase(options: EraseOptions): AsyncGenerator<ErasedSession> {
    const { eraseOwner } = await import('./lifecycle/erase-owner.ts')
    yield* eraseOwner(this.#parts, options)
  }

  /** Messages, titles, summaries and memories with some words: all of `words`, each in any of its forms; "in a row"; or the beginning* of one. */
  search(words: string, options: SearchOptions = {}): Promise<SearchResult> {
    return search(this.#parts, words, options)
  }

  /** What is known of an owner, from all sessions; the newest first. */
  memories(options: MemoriesOptions = {}): Promise<Memory[]> {
    return memories(this.#parts, options)
  }

  /** How much there is. */
  stats(): Promise<Stats> {
    return statsOf(this.#parts)
  }

  /**
   * Keeps the catalog up to date from now on, in the background, until the store is closed: for a process that lives long, such as a server. Others need
   * not: whoever lists or searches catches up first.
   */
  keepCatalog(): void {
    // What goes wrong is told by the status, and by whoever asks next.
    this.#parts.catalog.ask('keep').catch(() => undefined)
  }

  catalogStatus(): Promise<CatalogStatus> {
    return this.#parts.catalog.ask('status')
  }

  /** Makes the catalog anew from the journals. Lists and searches go on meanwhile. Tells how many sessions there are, in all spaces. */
  rebuildCatalog(): Promise<number> {
    return this.#parts.catalog.ask('rebuild')
  }

  /** A task by its id; NOT_FOUND if there is none. */
  task(id: string): Promise<Task> {
    return findTask(this.#parts, id)
  }

  /** Tasks of all sessions or of one, the newest first. */
  tasks(options: TaskListOptions = {}): Promise<TaskInfo[]> {
    return listTasks(this.#parts, options)
  }

  /** Begins tasks that ended without a summary again, at a bounded rate. Tells of each. */
  retryTasks(options: RetryOptions = {}): AsyncGenerator<TaskInfo> {
    return retryTasks(this.#parts, options)
  }

  /** A page of what the holder of a share's token sees; NOT_FOUND if the token opens nothing. Of whatever space. */
  shared(token: string, options: PageOptions = {}): Promise<SharedView> {
    return readShared(this.#parts, token, options)
  }

  /** How much this space, or a key of a server, may hold and add. Enforced by whoever opened the store with `quotas`, such as a server. */
  quota(of: { readonly key?: string } = {}): Promise<Quota> {
    return this.#quotas.get(of.key === undefined ? { space: this.space } : { key: of.key })
  }

  /** What this space holds, or what a key has added since it has a quota of sessions or bytes; null if that is not counted. */
  quotaUsage(of: { readonly key?: string } = {}): Promise<QuotaUsage | null> {
    return this.#quotas.usage(of.key === undefined ? { space: this.space } : { key: of.key })
  }

  /** In place of what was said before; an empty one takes it away. */
  async setQuota(quota: Quota, of: { readonly key?: string } = {}): Promise<Quota> {
    await this.#quotas.set(of.key === undefined ? { space: this.space } : { key: of.key }, quota)
    return this.quota(of)
  }

  get #quotas(): QuotaPort {
    return this.#parts.quotas ?? new Quotas(this.#parts)
  }

  /**
   * Wraps the keys of all sessions anew, by the master key that the store was opened with; it must have been opened with the former one too. Tells how many there are.
   * Safe to interrupt and to repeat, while the store is in use.
   */
  rotateKeys(options: { readonly onProgress?: (done: number) => void } = {}): Promise<number> {
    return this.#dataKeys.rewrap(options.onProgress)
  }

  /** Destroys the key of a session: from then on nobody can read it, here or in any copy. False if it has none. */
  async destroyKey(session: string): Promise<boolean> {
    const { engine, space, replicas, catalog } = this.#parts
    const name = engine.name(space, checkId('The id of a session', session))
    const destroyed = await this.#dataKeys.destroy(name)
    replicas.forget(name)
    // What it knows of the session, by a key that was there, goes too. Others do the same when they meet it in the ring of keys.
    if (destroyed) await catalog.notice({ damaged: [name], whole: [] })
    await catalog.scrub('erasure')
    return destroyed
  }

  /** Whether sessions of this store have keys. */
  get isEncrypted(): boolean {
    return this.#parts.dataKeys !== undefined
  }

  get #dataKeys(): DataKeys {
    const { dataKeys } = this.#parts
    if (dataKeys === undefined)
      throw new HoldfastError('FAILED_PRECONDITION', 'This store is not encrypted: it was opened without a master key, and has no keys.')
    return dataKeys
  }

  /** The same store, with the sessions of another space. Closing one closes both. */
  in(space: string): Store {
    return new Store({ ...this.#parts, space: checkId('The name of a space', space) })
  }

  /** The same store, for a key of a server whose quota counts beside that of the space. @internal */
  withKey(key: string): Store {
    return new Store({ ...this.#parts, key })
  }

  /** Waits for what is under way, then lets go of every file. Later calls are refused with CLOSED. */
  async close(): Promise<void> {
    try {
      await this.#parts.quotas?.settle()
    } finally {
      await this.#parts.catalog.close()
      await this.#parts.replicas.idle()
      await this.#parts.engine.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
