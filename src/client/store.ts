/** A store at a server: the sessions of one space, which the key says. */

import { HoldfastError } from '../errors.ts'
import type { SessionInfo } from '../session/info.ts'
import type { ErasedSession, EraseOptions } from '../store/lifecycle/erase-owner.ts'
import type { Expired, ExpireOptions } from '../store/lifecycle/expire.ts'
import type { Purged, PurgeOptions } from '../store/lifecycle/purge.ts'
import type { RetentionPolicy } from '../store/lifecycle/retention-policy.ts'
import type { ListOptions, ListPage } from '../store/list.ts'
import type { MemoriesOptions, Memory } from '../store/memories.ts'
import type { FollowOptions } from '../store/messages/follow.ts'
import type { PageOptions } from '../store/messages/transcript.ts'
import type { Quota, QuotaUsage } from '../store/quotas/quota-port.ts'
import type { SearchOptions, SearchResult } from '../store/search.ts'
import type { SharedView } from '../store/sharing/shares.ts'
import type { Stats } from '../store/stats.ts'
import type { CreateOptions } from '../store/store.ts'
import type { RetryOptions, TaskListOptions } from '../store/task-list.ts'
import type { TaskInfo } from '../store/tasks.ts'
import type { ExportOptions } from '../transfer/export/export.ts'
import type { ImportedSession, ImportOptions } from '../transfer/import/report.ts'
import type { Finding } from '../verify/findings.ts'
import { DAMAGE_HEADER, damageIn, placesInHeader } from '../wire/damage.ts'
import { type ImportedFields, importedOf } from '../wire/imports.ts'
import { type PageFields, storedMessage } from '../wire/messages.ts'
import {
  type ErasedFields,
  type ExpiredFields,
  erasedOf,
  expiredOf,
  type PurgedFields,
  purgedOf,
  type QuotaFields,
  type QuotaUsageFields,
  quotaFields,
  quotaOf,
  type RetentionFields,
  retentionFields,
  retentionPolicyOf,
} from '../wire/operations.ts'
import { type FoundFields, hitOf, type StatsFields, statsOf } from '../wire/search.ts'
import { type SessionFields, sessionInfo } from '../wire/sessions.ts'
import { type MemoryFields, memoryOf, type TaskFields, taskInfo } from '../wire/tasks.ts'
import type { StoreApi } from './api.ts'
import { descriptionFields } from './description.ts'
import { follow } from './follow.ts'
import { RemoteSession } from './session.ts'
import { type RemoteTask, taskOf } from './task.ts'
import { type ConnectOptions, Transport } from './transport.ts'

export interface RemoteExportOptions extends Omit<ExportOptions, 'onSession'> {
  readonly signal?: AbortSignal
  /** Called before the first piece if the export lacks something, with the number of places. */
  readonly onDamage?: (places: number) => void
}

/** A large file takes its time; it is safe to send it again. */
const IMPORT_MS = 600_000

/** Whom a server takes the caller for. */
export interface Caller {
  readonly key_id: string
  readonly kind: 'key' | 'token' | 'cookie' | 'nobody'
  readonly space: string
  readonly scope: KeyInfo['scope']
  readonly owner: string | null
  readonly session_id: string | null
  readonly server_version: string
  /** Whether sessions have keys, which can be destroyed. */
  readonly encrypted: boolean
}

/** What is kept of a key, and the key itself when it is made. */
export interface KeyInfo {
  readonly key_id: string
  readonly space: string
  readonly scope: 'read' | 'write' | 'admin'
  readonly owner: string | null
  readonly name: string | null
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

/** One deed, or several of a kind. */
export interface AuditInfo {
  readonly at: string
  readonly key_id: string
  readonly space: string
  readonly action: string
  readonly session_id: string | null
  readonly status: number
  readonly count: number
  readonly request_id: string | null
}

export interface AuditOptions {
  readonly from?: Date
  readonly to?: Date
  /** What was written down first unless told. */
  readonly order?: 'oldest' | 'newest'
}

export interface NewKeyOptions {
  readonly scope?: KeyInfo['scope']
  readonly owner?: string
  readonly name?: string
  readonly expiresAt?: Date
  readonly replaces?: string
  readonly overlapSeconds?: number
}

export interface TokenOptions {
  readonly session?: string
  readonly owner?: string
  readonly scope?: 'read' | 'write'
  readonly expiresInSeconds?: number
}

export class RemoteStore implements StoreApi, AsyncDisposable {
  readonly #transport: Transport
  readonly warnings: readonly string[] = []

  constructor(url: string, options: ConnectOptions) {
    this.#transport = new Transport(url, options)
  }

  session(id: string): RemoteSession {
    return new RemoteSession(this.#transport, id)
  }

  async create({ id, key, parent, ...description }: CreateOptions = {}): Promise<RemoteSession> {
    const body = { session_id: id, parent, ...descriptionFields(description) }
    const { result } = await this.#transport.ask<{ session_id: string }>('POST', '/sessions', { key, body })
    return new RemoteSession(this.#transport, result.session_id)
  }

  async list({ query, metadata = {}, from, to, ...rest }: ListOptions = {}): Promise<ListPage> {
    const fields = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, JSON.stringify(value)])
    const times = { from: from?.toISOString(), to: to?.toISOString() }
    const asked = { q: query, ...rest, ...times, ...Object.fromEntries(fields) }
    const { result, headers } = await this.#transport.ask<SessionFields[]>('GET', '/sessions', { query: { limit: 100, ...asked } })
    const total = headers.get('x-total-count')
    return { sessions: result.map(sessionInfo), cursor: headers.get('x-next-cursor'), ...(total === null ? {} : { total: Number(total) }) }
  }

  async memories({ owner = null, query, limit }: MemoriesOptions = {}): Promise<Memory[]> {
    const asked = { owner: owner ?? undefined, q: query, limit }
    const { result } = await this.#transport.ask<MemoryFields[]>('GET', '/memories', { query: asked })
    return result.map(memoryOf)
  }

  async search(query: string, { kinds, session, from, to, ...rest }: SearchOptions = {}): Promise<SearchResult> {
    const times = { from: from?.toISOString(), to: to?.toISOString() }
    const asked = { q: query, kinds: kinds?.join(','), session_id: session, ...rest, ...times }
    const { result, headers } = await this.#transport.ask<FoundFields>('GET', '/search', { query: asked })
    return {
      hits: result.hits.map(hitOf),
      lag: result.lag,
      damage: damageIn(result, headers.get(DAMAGE_HEADER)),
      moreDamage: result.more_damage ?? false,
    }
  }

  async stats(): Promise<Stats> {
    const { result } = await this.#transport.ask<StatsFields>('GET', '/stats')
    return statsOf(result)
  }

  async destroyKey(session: string): Promise<boolean> {
    try {
      await this.#transport.ask('DELETE', `/sessions/${encodeURIComponent(session)}/key`)
      return true
    } catch (error) {
      if (error instanceof HoldfastError && error.code === 'NOT_FOUND') return false
      throw error
    }
  }

  async quota({ key }: { readonly key?: string } = {}): Promise<Quota> {
    const { result } = await this.#transport.ask<QuotaFields>('GET', '/quota', { query: { key_id: key } })
    return quotaOf(result)
  }

  async quotaUsage({ key }: { readonly key?: string } = {}): Promise<QuotaUsage | null> {
    return (await this.#transport.ask<QuotaUsageFields>('GET', '/quota', { query: { key_id: key } })).result.used
  }

  async setQuota(quota: Quota, { key }: { readonly key?: string } = {}): Promise<Quota> {
    const { result } = await this.#transport.ask<QuotaFields>('PUT', '/quota', { body: { ...quotaFields(quota), key_id: key } })
    return quotaOf(result)
  }

  async task(id: string): Promise<RemoteTask> {
    const { result } = await this.#transport.ask<TaskFields>('GET', `/tasks/${encodeURIComponent(id)}`)
    return taskOf(this.#transport, result)
  }

  async tasks({ status, session, limit = 100 }: TaskListOptions = {}): Promise<TaskInfo[]> {
    const { result } = await this.#transport.ask<TaskFields[]>('GET', '/tasks', { query: { status, resource_id: session, limit } })
    return result.map(taskInfo)
  }

  async *retryTasks({ status, session, since, rate }: RetryOptions = {}): AsyncGenerator<TaskInfo> {
    const body = { status, resource_id: session, since: since?.toISOString(), rate }
    const { result } = await this.#transport.ask<TaskFields[]>('POST', '/tasks/retry', { body })
    yield* result.map(taskInfo)
  }

  async *purge({ olderThanMs, dryRun }: PurgeOptions = {}): AsyncGenerator<Purged> {
    const body = { older_than_seconds: olderThanMs === undefined ? undefined : olderThanMs / 1000, dry_run: dryRun }
    const { result } = await this.#transport.ask<PurgedFields[]>('POST', '/purge', { body })
    yield* result.map(purgedOf)
  }

  async *expire({ dryRun, ...times }: ExpireOptions = {}): AsyncGenerator<Expired> {
    // What is not told is left out: null says something else, and is refused.
    const told = Object.entries(retentionFields(times)).filter(([, seconds]) => seconds !== null)
    const body = { ...Object.fromEntries(told), dry_run: dryRun }
    const { result } = await this.#transport.ask<ExpiredFields[]>('POST', '/expire', { body })
    yield* result.map(expiredOf)
  }

  async retention(): Promise<RetentionPolicy> {
    return retentionPolicyOf((await this.#transport.ask<RetentionFields>('GET', '/retention')).result)
  }

  async setRetention(policy: RetentionPolicy): Promise<RetentionPolicy> {
    const { result } = await this.#transport.ask<RetentionFields>('PUT', '/retention', { body: retentionFields(policy) })
    return retentionPolicyOf(result)
  }

  async *erase({ owner, dryRun }: EraseOptions): AsyncGenerator<ErasedSession> {
    const { result } = await this.#transport.ask<ErasedFields[]>('POST', '/erase', { body: { owner, dry_run: dryRun } })
    yield* result.map(erasedOf)
  }

  /** Who did what in the space, in the order in which it was written down; of the last day unless told. */
  async *audit({ from, to, order }: AuditOptions = {}): AsyncGenerator<AuditInfo> {
    const query = { from: from?.toISOString(), to: to?.toISOString(), order }
    for (let cursor: string | undefined; ; ) {
      const { result, headers } = await this.#transport.ask<AuditInfo[]>('GET', '/audit', { query: { ...query, cursor } })
      yield* result
      cursor = headers.get('x-next-cursor') ?? undefined
      if (cursor === undefined) return
    }
  }

  /** Has the server verify the space, or one session of it. */
  async doctor({ session }: { readonly session?: string } = {}): Promise<{ sessions: number; findings: readonly Finding[] }> {
    const body = { session_id: session }
    return (await this.#transport.ask<{ sessions: number; findings: Finding[] }>('POST', '/doctor', { body })).result
  }

  /** Sessions as text, in pieces, as `exportFrom` makes it where the store is. */
  export({ session, tree, format, redact, signal, onDamage }: RemoteExportOptions = {}): AsyncGenerator<string> {
    const path = session === undefined ? '/export' : `/sessions/${encodeURIComponent(session)}/export`
    const onHeaders = (headers: Headers): void => {
      const places = placesInHeader(headers.get(DAMAGE_HEADER)).length
      if (places > 0) onDamage?.(places)
    }
    return this.#transport.text(path, { query: { format, tree, redact }, signal, onHeaders })
  }

  /** Brings in the sessions of one file, plain or compressed; `name` is what it is called. Safe to repeat. */
  async importFile(
    name: string,
    bytes: Uint8Array,
    { from, dryRun, signal }: Pick<ImportOptions, 'from' | 'dryRun' | 'signal'> = {},
  ): Promise<ImportedSession[]> {
    const query = { name, from, dry_run: dryRun }
    const asked = { query, bytes, signal, timeoutMs: IMPORT_MS }
    const { result } = await this.#transport.ask<{ sessions: ImportedFields[] }>('POST', '/import', asked)
    return result.sessions.map(importedOf)
  }

  async shared(token: string, options: PageOptions = {}): Promise<SharedView> {
    const { limit, before, after, depth, from } = options
    type Fields = PageFields & { title: string | null; granted_at: string; expires_at: string | null; message_count: number }
    const { result, headers } = await this.#transport.ask<Fields>('GET', `/shared/${encodeURIComponent(token)}`, {
      query: { limit, before, after, depth, from },
    })
    const damage = damageIn(result, headers.get(DAMAGE_HEADER))
    const { title, granted_at: grantedAt, expires_at: expiresAt, message_count: messageCount, messages, more } = result
    return { title, grantedAt, expiresAt, messageCount, page: { messages: messages.map(storedMessage), more, damage } }
  }

  async whoami(): Promise<Caller> {
    return (await this.#transport.ask<Caller>('GET', '/whoami')).result
  }

  /**
   * Tells which sessions of the space change, and what they are then; `undefined` when it begins, unless it goes on behind a cursor, and if some
   * may have been missed: whoever lists them then misses nothing.
   */
  async *changes(options: Pick<FollowOptions, 'after' | 'signal'> = {}): AsyncGenerator<SessionInfo | undefined> {
    let resumes = options.after !== undefined
    for await (const { type, data } of follow(this.#transport, '/events', options).events) {
      if (type === 'session.changed') yield sessionInfo(JSON.parse(data) as SessionFields)
      else if (type === 'reset' || (type === 'ready' && !resumes)) yield undefined
      resumes = true
    }
  }

  async createKey({
    scope,
    owner,
    name,
    expiresAt,
    replaces,
    overlapSeconds,
  }: NewKeyOptions = {}): Promise<KeyInfo & { readonly key: string }> {
    const body = { scope, owner, name, expires_at: expiresAt?.toISOString(), replaces, overlap_seconds: overlapSeconds }
    return (await this.#transport.ask<KeyInfo & { key: string }>('POST', '/keys', { body })).result
  }

  async keys(): Promise<KeyInfo[]> {
    return (await this.#transport.ask<KeyInfo[]>('GET', '/keys')).result
  }

  async revokeKey(id: string): Promise<KeyInfo> {
    return (await this.#transport.ask<KeyInfo>('DELETE', `/keys/${encodeURIComponent(id)}`)).result
  }

  /** A token for a browser: it lives for minutes, and opens one session or the sessions of one owner. */
  async createToken({
    session,
    owner,
    scope,
    expiresInSeconds,
  }: TokenOptions): Promise<{ readonly token: string; readonly expiresAt: string }> {
    const body = { session_id: session, owner, scope, expires_in: expiresInSeconds }
    const { result } = await this.#transport.ask<{ token: string; expires_at: string }>('POST', '/tokens', { body })
    return { token: result.token, expiresAt: result.expires_at }
  }

  /** Gives up what is under way. */
  async close(): Promise<void> {
    this.#transport.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
