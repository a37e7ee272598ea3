/** A store: a set of sessions. Everything that concerns more than one of them is here. */
import type { CatalogStatus } from '../catalog/requests.ts'
import type { DataKeys } from '../encryption/data-keys.ts'
import { HoldfastError } from '../errors.ts'
import type { Message } from '../message/shapes.ts'
import { checkId, invalid } from '../session/check.ts'
import type { CreateOptions, QuotaScope, StoreApi } from './api/store-api.ts'
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
import type { TaskInfo } from './task-info.ts'
import { listTasks, type RetryOptions, retryTasks, type TaskListOptions } from './task-list.ts'
import { findTask, type Task } from './tasks.ts'

/** The parts of a store in this process. A store at a server has none: what it offers instead is `method`, if there is something. */
export function partsOf(store: Store, method?: string): StoreParts {
  const { parts } = (store ?? {}) as Partial<Store>
  if (parts !== undefined) return parts
  const hint = method === undefined ? 'For a store at a server, call it where the server runs.' : `For a store at a server, call ${method}.`
  throw invalid(`Give a store of this process, which \`openStore\` returns. ${hint}`)
}

/**
 * A set of sessions, seen from one space. `openStore` makes one.
 *
 * @example
 * await using store = await openStore('./store')
 * const { sessions } = await store.list({ limit: 10 })
 */
export class Store implements StoreApi, AsyncDisposable {
  readonly #parts: StoreParts

  /** @internal */
  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  /** For the rooms that work on a store as a whole. @internal */
  get parts(): StoreParts {
    return this.#parts
  }

  /**
   * The space whose sessions this store shows.
   */
  get space(): string {
    return this.#parts.space
  }

  get warnings(): readonly string[] {
    return this.#parts.engine.warnings
  }

  session<M extends object = Message>(id: string): Session<M> {
    return new Session<M>(this.#parts, checkId('The id of a session', id))
  }

  async create<M extends object = Message>({ id, key, parent, ...description }: CreateOptions = {}): Promise<Session<M>> {
    if (parent !== undefined) {
      const of = this.session<M>(parent)
      return of.child({ ...description, ...(id === undefined ? {} : { id }), ...(key === undefined ? {} : { key }) })
    }
    const { ids, clock } = this.#parts
    const session = this.session<M>(id ?? ids.next(clock.now()))
    await session.create(description, key === undefined ? {} : { key })
    return session
  }

  list(options: ListOptions = {}): Promise<ListPage> {
    return list(this.#parts, options)
  }

  purge(options: PurgeOptions = {}): AsyncGenerator<Purged> {
    return purge(this.#parts, options)
  }

  async *expire(options: ExpireOptions = {}): AsyncGenerator<Expired> {
    const { expire } = await import('./lifecycle/expire.ts')
    yield* expire(this.#parts, options)
  }

  retention(): Promise<RetentionPolicy> {
    return retentionOf(this.#parts)
  }

  async setRetention(policy: RetentionPolicy): Promise<RetentionPolicy> {
    await setRetention(this.#parts, policy)
    return this.retention()
  }

  async *erase(options: EraseOptions): AsyncGenerator<ErasedSession> {
    const { eraseOwner } = await import('./lifecycle/erase-owner.ts')
    yield* eraseOwner(this.#parts, options)
  }

  search(words: string, options: SearchOptions = {}): Promise<SearchResult> {
    return search(this.#parts, words, options)
  }

  memories(options: MemoriesOptions = {}): Promise<Memory[]> {
    return memories(this.#parts, options)
  }

  stats(): Promise<Stats> {
    return statsOf(this.#parts)
  }

  /**
   * Keeps the catalog up to date in the background until the store is closed. Use it in a process that lives long, such as a server. Lists and
   * searches need no such call: they catch up first.
   *
   * @example
   * store.keepCatalog()
   */
  keepCatalog(): void {
    // What goes wrong is told by the status, and by whoever asks next.
    this.#parts.catalog.ask('keep').catch(() => undefined)
  }

  /**
   * Reports the state of the catalog.
   *
   * @returns How far the catalog is, and what is wrong with it.
   * @throws HoldfastError CLOSED when the store is closed.
   * @example
   * const status = await store.catalogStatus()
   */
  catalogStatus(): Promise<CatalogStatus> {
    return this.#parts.catalog.ask('status')
  }

  /**
   * Rebuilds the catalog from the journals. Lists and searches work in the meantime.
   *
   * @returns The number of sessions in all spaces.
   * @throws HoldfastError CLOSED when the store is closed.
   * @throws HoldfastError UNAVAILABLE when the catalog cannot be written.
   * @example
   * const sessions = await store.rebuildCatalog()
   */
  rebuildCatalog(): Promise<number> {
    return this.#parts.catalog.ask('rebuild')
  }

  task(id: string): Promise<Task> {
    return findTask(this.#parts, id)
  }

  tasks(options: TaskListOptions = {}): Promise<TaskInfo[]> {
    return listTasks(this.#parts, options)
  }

  retryTasks(options: RetryOptions = {}): AsyncGenerator<TaskInfo> {
    return retryTasks(this.#parts, options)
  }

  async shared<M extends object = Message>(token: string, options: PageOptions = {}): Promise<SharedView<M>> {
    return (await readShared(this.#parts, token, options)) as SharedView<object> as SharedView<M>
  }

  quota(of: QuotaScope = {}): Promise<Quota> {
    return this.#quotas.get(of.key === undefined ? { space: this.space } : { key: of.key })
  }

  quotaUsage(of: QuotaScope = {}): Promise<QuotaUsage | null> {
    return this.#quotas.usage(of.key === undefined ? { space: this.space } : { key: of.key })
  }

  async setQuota(quota: Quota, of: QuotaScope = {}): Promise<Quota> {
    await this.#quotas.set(of.key === undefined ? { space: this.space } : { key: of.key }, quota)
    return this.quota(of)
  }

  get #quotas(): QuotaPort {
    return this.#parts.quotas ?? new Quotas(this.#parts)
  }

  /**
   * Wraps the keys of all sessions with the master key that the store was opened with. The former master key must be among `formerKeys`. You can
   * interrupt and repeat it while the store is in use.
   *
   * @param options `onProgress` is called with the number of keys so far.
   * @returns The number of keys.
   * @throws HoldfastError FAILED_PRECONDITION when the store is not encrypted.
   * @throws HoldfastError UNREADABLE when a master key is missing or wrong.
   * @example
   * if (store.isEncrypted) await store.rotateKeys()
   */
  rotateKeys(options: { readonly onProgress?: (done: number) => void } = {}): Promise<number> {
    return this.#dataKeys.rewrap(options.onProgress)
  }

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

  /**
   * Whether the sessions of this store have keys.
   */
  get isEncrypted(): boolean {
    return this.#parts.dataKeys !== undefined
  }

  get #dataKeys(): DataKeys {
    const { dataKeys } = this.#parts
    if (dataKeys === undefined)
      throw new HoldfastError('FAILED_PRECONDITION', 'This store is not encrypted: it was opened without a master key, and has no keys.', {
        details: { reason: 'not encrypted' },
      })
    return dataKeys
  }

  /**
   * Returns the same store with the sessions of another space. Closing one closes both.
   *
   * @returns The store of that space.
   * @throws HoldfastError INVALID_ARGUMENT when the name is empty or too long.
   * @example
   * const { sessions } = await store.in('team-a').list()
   */
  in(space: string): Store {
    return new Store({ ...this.#parts, space: checkId('The name of a space', space) })
  }

  /** The same store, for a key of a server whose quota counts beside that of the space. @internal */
  withKey(key: string): Store {
    return new Store({ ...this.#parts, key })
  }

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
