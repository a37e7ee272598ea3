/** What a store offers, in this process and at a server. Both classes implement it, and its comments describe both. */
import type { Message } from '../../message/shapes.ts'
import type { Description } from '../../session/records.ts'
import type { ErasedSession, EraseOptions } from '../lifecycle/erase-owner.ts'
import type { Expired, ExpireOptions } from '../lifecycle/expire.ts'
import type { Purged, PurgeOptions } from '../lifecycle/purge.ts'
import type { RetentionPolicy } from '../lifecycle/retention-policy.ts'
import type { ListOptions, ListPage } from '../list.ts'
import type { MemoriesOptions, Memory } from '../memories.ts'
import type { PageOptions } from '../messages/transcript.ts'
import type { Quota, QuotaUsage } from '../quotas/quota-port.ts'
import type { SearchOptions, SearchResult } from '../search.ts'
import type { SharedView } from '../sharing/shares.ts'
import type { Stats } from '../stats.ts'
import type { TaskInfo } from '../task-info.ts'
import type { RetryOptions, TaskListOptions } from '../task-list.ts'
import type { SessionApi } from './session-api.ts'
import type { TaskApi } from './task-api.ts'

export interface CreateOptions extends Description {
  /** The id of the new session. Defaults to a new one. */
  readonly id?: string
  /** The idempotency key: a repeated call returns the same session. */
  readonly key?: string
  /** The session that the new one is a child of. */
  readonly parent?: string
}

/** Whose quota. Defaults to that of the space. */
export interface QuotaScope {
  /** The id of an API key of a server. */
  readonly key?: string
}

/** Finding sessions, messages and memories. */
export interface SearchApi {
  /**
   * Lists sessions, a page at a time.
   *
   * @param options `limit` defaults to 100, `order` to `updated`: the last changed first. `status` defaults to all but the deleted ones.
   * @returns The sessions, and the cursor of the next page, which is null on the last page.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000, or the cursor belongs to another order.
   * @example
   * const { sessions, cursor } = await store.list({ owner: 'kim', limit: 20 })
   */
  list(options?: ListOptions): Promise<ListPage>

  /**
   * Searches messages, titles, summaries and memories. All words must match, in any inflection. `"in quotes"` matches a phrase, `begin*` a prefix.
   *
   * @param options `limit` defaults to 20, `kinds` to all.
   * @returns The best matches with snippets, the text that is not indexed yet, and damaged sessions that were searched.
   * @throws HoldfastError INVALID_ARGUMENT when there is no word to search for, or the limit is more than 200.
   * @throws HoldfastError UNAVAILABLE when the full-text index cannot be used.
   * @example
   * const { hits } = await store.search('lost parcel', { role: 'user' })
   * for (const { session, snippet } of hits) console.log(session, snippet)
   */
  search(words: string, options?: SearchOptions): Promise<SearchResult>

  /**
   * Reads the memories of an owner, from all sessions.
   *
   * @param options `owner` defaults to memories without an owner. `limit` defaults to all.
   * @returns The memories, the newest first, or the best match first if there is a `query`.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000.
   * @example
   * for (const { text } of await store.memories({ owner: 'kim' })) console.log(text)
   */
  memories(options?: MemoriesOptions): Promise<Memory[]>

  /**
   * Counts the sessions, messages, tokens, bytes and tasks of the space.
   *
   * @returns The counts, and what is not counted by day yet.
   * @throws HoldfastError UNAVAILABLE when the store cannot be reached.
   * @example
   * const { sessions, tokens } = await store.stats()
   */
  stats(): Promise<Stats>

  /**
   * Reads a page of a shared session. The token may belong to any space.
   *
   * @param options As for `session.messages`. Archived messages are always included.
   * @returns The title, and the messages up to the moment of sharing.
   * @throws HoldfastError NOT_FOUND when the token opens nothing: it was revoked, has expired, or never existed.
   * @throws HoldfastError DAMAGED when the session lost the record of the share.
   * @example
   * const { token } = await session.share()
   * const { title, page } = await store.shared(token)
   */
  shared<M extends object = Message>(token: string, options?: PageOptions): Promise<SharedView<M>>
}

/** Finding the tasks of commits. */
export interface TasksApi {
  /**
   * Finds a task by its id.
   *
   * @returns The task.
   * @throws HoldfastError NOT_FOUND when there is no such task.
   * @example
   * const [newest] = await store.tasks({ limit: 1 })
   * if (newest !== undefined) await (await store.task(newest.id)).completed()
   */
  task(id: string): Promise<TaskApi>

  /**
   * Lists tasks of all sessions, or of one.
   *
   * @param options `limit` defaults to 100. `status` and `session` default to all.
   * @returns The tasks, the newest first.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000.
   * @example
   * const failed = await store.tasks({ status: 'failed' })
   */
  tasks(options?: TaskListOptions): Promise<TaskInfo[]>

  /**
   * Starts tasks that ended without a summary again, at a limited rate.
   *
   * @param options `status` defaults to `failed`, `rate` to 10 tasks a second.
   * @returns Each task that it started.
   * @throws HoldfastError INVALID_ARGUMENT when the rate is not more than 0.
   * @example
   * for await (const { id } of store.retryTasks({ rate: 5 })) console.log(id)
   */
  retryTasks(options?: RetryOptions): AsyncGenerator<TaskInfo>
}

/** Removing data, and bounding what a space holds. */
export interface RetentionApi {
  /**
   * Removes deleted sessions for good, except those that a fork still reaches.
   *
   * @param options `olderThanMs` defaults to 30 days. `dryRun` defaults to false.
   * @returns What became of each deleted session.
   * @throws HoldfastError UNAVAILABLE when the purge is done and the catalog may still hold words of it. Purge again.
   * @example
   * for await (const { session, freedBytes } of store.purge()) console.log(session, freedBytes)
   */
  purge(options?: PurgeOptions): AsyncGenerator<Purged>

  /**
   * Applies retention: deletes idle sessions, erases the messages of old archives, and purges deleted sessions.
   *
   * @param options The periods. Without any, those of the policy of the space. `dryRun` defaults to false.
   * @returns What became of each session that it changed.
   * @throws HoldfastError INVALID_ARGUMENT when a period is no number of milliseconds.
   * @throws HoldfastError UNAVAILABLE as for `purge`.
   * @example
   * for await (const { session, action } of store.expire({ deleteIdleAfterMs: 90 * 86_400_000 })) console.log(session, action)
   */
  expire(options?: ExpireOptions): AsyncGenerator<Expired>

  /**
   * Reads the retention policy of the space.
   *
   * @returns The periods that `expire` applies. A period that is missing means that nothing is removed.
   * @throws HoldfastError DAMAGED when the policy was written and cannot be read.
   * @example
   * const { purgeDeletedAfterMs } = await store.retention()
   */
  retention(): Promise<RetentionPolicy>

  /**
   * Replaces the retention policy of the space. An empty policy removes it. Nothing is removed until you call `expire`.
   *
   * @returns The policy as it is now.
   * @throws HoldfastError INVALID_ARGUMENT when a field is unknown, or a period is no number of milliseconds.
   * @example
   * await store.setRetention({ purgeDeletedAfterMs: 30 * 86_400_000 })
   */
  setRetention(policy: RetentionPolicy): Promise<RetentionPolicy>

  /**
   * Removes all sessions of an owner for good, deleted or not. A session that a fork of another owner reaches loses its messages.
   *
   * @param options `dryRun` defaults to false.
   * @returns What became of each session. One whose owner cannot be known, because records of it are lost, is `failed`.
   * @throws HoldfastError INVALID_ARGUMENT when the owner is empty.
   * @example
   * for await (const { session, action } of store.erase({ owner: 'kim' })) console.log(session, action)
   */
  erase(options: EraseOptions): AsyncGenerator<ErasedSession>

  /**
   * Destroys the key of a session. Nothing can decrypt the session any more, here or in any copy.
   *
   * @returns False if the session has no key.
   * @throws HoldfastError FAILED_PRECONDITION when the store is not encrypted.
   * @throws HoldfastError INVALID_ARGUMENT when the id is empty or too long.
   * @example
   * if (store.isEncrypted) await store.destroyKey('support-42')
   */
  destroyKey(session: string): Promise<boolean>

  /**
   * Reads the quota of the space, or of an API key. A store enforces quotas if it was opened with `quotas`, as a server does.
   *
   * @returns The limits. A limit that is missing means no limit.
   * @throws HoldfastError DAMAGED when the quota was written and cannot be read.
   * @example
   * const { sessions } = await store.quota()
   */
  quota(of?: QuotaScope): Promise<Quota>

  /**
   * Reports what counts against the quota of the space, or of an API key.
   *
   * @returns The use so far, or null if it is not counted.
   * @throws HoldfastError DAMAGED when the quota was written and cannot be read.
   * @example
   * const used = (await store.quotaUsage())?.bytes
   */
  quotaUsage(of?: QuotaScope): Promise<QuotaUsage | null>

  /**
   * Replaces the quota of the space, or of an API key. An empty quota removes it.
   *
   * @returns The quota as it is now.
   * @throws HoldfastError INVALID_ARGUMENT when a limit is unknown, or no whole number.
   * @example
   * await store.setQuota({ sessions: 1000, messagesPerMinute: 600 })
   */
  setQuota(quota: Quota, of?: QuotaScope): Promise<Quota>
}

/**
 * A set of sessions in one space, in this process or at a server.
 *
 * Beside the errors that a method lists, every call can throw CLOSED when the store is closed, and UNAVAILABLE when the disk, the database or the
 * server does not answer. A call that writes can throw NO_SPACE. A store at a server can throw UNAUTHENTICATED and PERMISSION_DENIED.
 */
export interface StoreApi extends SearchApi, TasksApi, RetentionApi {
  /** What an operator should know about this store, found while opening it. */
  readonly warnings: readonly string[]

  /**
   * Returns a handle on a session. It reads and writes nothing: the first append creates the session.
   *
   * @typeParam M The type of its messages. Defaults to every shape that Holdfast reads.
   * @returns The handle.
   * @throws HoldfastError INVALID_ARGUMENT when the id is empty or too long. At a server, the first call throws it for a long id.
   * @throws HoldfastError INVALID_ARGUMENT when the store is at a server and the id is `.` or `..`, which cannot be part of an address.
   * @example
   * const support = store.session('support-42')
   * await support.append({ role: 'user', content: 'Hello' })
   */
  session<M extends object = Message>(id: string): SessionApi<M>

  /**
   * Creates a session. A session that was deleted starts again, without its former messages.
   *
   * @typeParam M The type of its messages. Defaults to every shape that Holdfast reads.
   * @param options `id` defaults to a new one.
   * @returns The new session.
   * @throws HoldfastError ALREADY_EXISTS when there is a session with this id.
   * @throws HoldfastError INVALID_ARGUMENT when the id or a field of the description has the wrong type or is too long.
   * @throws HoldfastError NOT_FOUND when there is no session `parent`.
   * @throws HoldfastError RESOURCE_EXHAUSTED when a quota is used up.
   * @example
   * const created = await store.create({ title: 'Lost parcel', owner: 'kim' })
   */
  create<M extends object = Message>(options?: CreateOptions): Promise<SessionApi<M>>

  /**
   * Closes the store after the calls in progress. Later calls throw CLOSED. At a server, it ends the calls in progress.
   *
   * @throws HoldfastError UNAVAILABLE when the last counts of quotas could not be written.
   * @example
   * await store.close()
   */
  close(): Promise<void>
}
