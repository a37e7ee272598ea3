/** A store at a server: the sessions of one space, which the key says. */

import { HoldfastError } from '../errors.ts'
import type { Message } from '../message/shapes.ts'
import type { SessionInfo } from '../session/info.ts'
import type { CreateOptions, QuotaScope, StoreApi } from '../store/api/store-api.ts'
import type { ErasedSession, EraseOptions } from '../store/lifecycle/erase-owner.ts'
import type { Expired, ExpireOptions } from '../store/lifecycle/expire.ts'
import type { Purged, PurgeOptions } from '../store/lifecycle/purge.ts'
import type { RetentionPolicy } from '../store/lifecycle/retention-policy.ts'
import type { ListOptions, ListPage } from '../store/list.ts'
import type { MemoriesOptions, Memory } from '../store/memories.ts'
import type { FollowOptions } from '../store/messages/follow.ts'
import type { Page, PageOptions } from '../store/messages/transcript.ts'
import { requireQuotaFields, requireRetentionFields } from '../store/policy-fields.ts'
import type { Quota, QuotaUsage } from '../store/quotas/quota-port.ts'
import type { SearchOptions, SearchResult } from '../store/search.ts'
import type { SharedView } from '../store/sharing/shares.ts'
import type { Stats } from '../store/stats.ts'
import type { TaskInfo } from '../store/task-info.ts'
import type { RetryOptions, TaskListOptions } from '../store/task-list.ts'
import type { ExportOptions } from '../transfer/export/export.ts'
import type { ImportedSession, ImportOptions } from '../transfer/import/report.ts'
import type { Finding } from '../verify/findings.ts'
import { type AuditInfo, auditCodec, type Caller, callerCodec, type KeyInfo, keyCodec, newKeyCodec, tokenCodec } from '../wire/access.ts'
import { list, type WireOf } from '../wire/codec.ts'
import { DAMAGE_HEADER, placesInHeader } from '../wire/damage.ts'
import { importReportCodec } from '../wire/imports.ts'
import { sharedSessionCodec } from '../wire/messages.ts'
import {
  checkedCodec,
  destroyedCodec,
  erasedCodec,
  expiredCodec,
  purgedCodec,
  quotaCodec,
  quotaUsageCodec,
  retentionCodec,
} from '../wire/operations.ts'
import { foundCodec, statsCodec } from '../wire/search.ts'
import { createdCodec, type SessionFields, sessionCodec } from '../wire/sessions.ts'
import { memoryCodec, taskCodec } from '../wire/tasks.ts'
import { withDamage } from './answer.ts'
import { descriptionFields } from './description.ts'
import { dataOf, follow } from './follow.ts'
import { pathOf, segmentOf } from './path.ts'
import { RemoteSession } from './session.ts'
import { RemoteTask } from './task.ts'
import { type ConnectOptions, Transport } from './transport.ts'

export interface RemoteExportOptions extends Omit<ExportOptions, 'onSession'> {
  readonly signal?: AbortSignal
  /** Called before the first piece if the export lacks something, with the number of places. */
  readonly onDamage?: (places: number) => void
}

/** A large file takes its time; it is safe to send it again. */
const IMPORT_MS = 600_000

export interface AuditOptions {
  readonly from?: Date
  readonly to?: Date
  /** Defaults to `oldest`: the first entry first. */
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

/**
 * A store at a server: the sessions of the space that the API key belongs to. `connect` returns one.
 *
 * @example
 * await using remote = connect('http://127.0.0.1:7717', { key: 'hf_…' })
 * await remote.session('support-42').append({ role: 'user', content: 'Hello' })
 */
export class RemoteStore implements StoreApi, AsyncDisposable {
  readonly #transport: Transport
  readonly warnings: readonly string[] = []

  constructor(url: string, options: ConnectOptions) {
    this.#transport = new Transport(url, options)
  }

  session<M extends object = Message>(id: string): RemoteSession<M> {
    return new RemoteSession<M>(this.#transport, id)
  }

  async create<M extends object = Message>({ id, key, parent, ...description }: CreateOptions = {}): Promise<RemoteSession<M>> {
    if (id !== undefined) segmentOf(id)
    const body = { session_id: id, parent, ...descriptionFields(description) }
    const created = await this.#transport.ask('POST', '/sessions', createdCodec.decode, { key, body })
    return new RemoteSession<M>(this.#transport, created.session)
  }

  async list({ query, metadata = {}, from, to, cursor, ...rest }: ListOptions = {}): Promise<ListPage> {
    const fields = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, JSON.stringify(value)])
    const times = { from: from?.toISOString(), to: to?.toISOString() }
    const asked = { q: query, cursor: cursor ?? undefined, ...rest, ...times, ...Object.fromEntries(fields) }
    const decode = (answer: SessionFields[], headers: Headers): ListPage => {
      const total = headers.get('x-total-count')
      const page = { sessions: list(sessionCodec).decode(answer), cursor: headers.get('x-next-cursor') }
      return total === null ? page : { ...page, total: Number(total) }
    }
    return this.#transport.ask('GET', '/sessions', decode, { query: { limit: 100, ...asked } })
  }

  async memories({ owner = null, query, limit }: MemoriesOptions = {}): Promise<Memory[]> {
    const asked = { owner: owner ?? undefined, q: query, limit }
    return this.#transport.ask('GET', '/memories', list(memoryCodec).decode, { query: asked })
  }

  async search(query: string, { kinds, session, from, to, ...rest }: SearchOptions = {}): Promise<SearchResult> {
    const times = { from: from?.toISOString(), to: to?.toISOString() }
    const asked = { q: query, kinds: kinds?.join(','), session_id: session, ...rest, ...times }
    return this.#transport.ask('GET', '/search', withDamage(foundCodec.decode), { query: asked })
  }

  async stats(): Promise<Stats> {
    return this.#transport.ask('GET', '/stats', statsCodec.decode)
  }

  async destroyKey(session: string): Promise<boolean> {
    try {
      return (await this.#transport.ask('DELETE', pathOf`/sessions/${session}/key`, destroyedCodec.decode)).destroyed
    } catch (error) {
      if (error instanceof HoldfastError && error.code === 'NOT_FOUND') return false
      throw error
    }
  }

  async quota({ key }: QuotaScope = {}): Promise<Quota> {
    return this.#transport.ask('GET', '/quota', quotaCodec.decode, { query: { key_id: key } })
  }

  async quotaUsage({ key }: QuotaScope = {}): Promise<QuotaUsage | null> {
    return (await this.#transport.ask('GET', '/quota', quotaUsageCodec.decode, { query: { key_id: key } })).used
  }

  async setQuota(quota: Quota, { key }: QuotaScope = {}): Promise<Quota> {
    const body = { ...quotaCodec.encode(requireQuotaFields(quota)), key_id: key }
    return this.#transport.ask('PUT', '/quota', quotaCodec.decode, { body })
  }

  async task(id: string): Promise<RemoteTask> {
    return new RemoteTask(this.#transport, await this.#transport.ask('GET', pathOf`/tasks/${id}`, taskCodec.decode))
  }

  async tasks({ status, session, limit = 100 }: TaskListOptions = {}): Promise<TaskInfo[]> {
    return this.#transport.ask('GET', '/tasks', list(taskCodec).decode, { query: { status, resource_id: session, limit } })
  }

  async *retryTasks({ status, session, since, rate }: RetryOptions = {}): AsyncGenerator<TaskInfo> {
    const body = { status, resource_id: session, since: since?.toISOString(), rate }
    yield* await this.#transport.ask('POST', '/tasks/retry', list(taskCodec).decode, { body })
  }

  async *purge({ olderThanMs, dryRun }: PurgeOptions = {}): AsyncGenerator<Purged> {
    const body = { older_than_seconds: olderThanMs === undefined ? undefined : olderThanMs / 1000, dry_run: dryRun }
    yield* await this.#transport.ask('POST', '/purge', list(purgedCodec).decode, { body })
  }

  async *expire({ dryRun, ...times }: ExpireOptions = {}): AsyncGenerator<Expired> {
    // What is not told is left out: null says something else, and is refused.
    const told = Object.entries(retentionCodec.encode(times)).filter(([, seconds]) => seconds !== null)
    const body = { ...Object.fromEntries(told), dry_run: dryRun }
    yield* await this.#transport.ask('POST', '/expire', list(expiredCodec).decode, { body })
  }

  async retention(): Promise<RetentionPolicy> {
    return this.#transport.ask('GET', '/retention', retentionCodec.decode)
  }

  async setRetention(policy: RetentionPolicy): Promise<RetentionPolicy> {
    return this.#transport.ask('PUT', '/retention', retentionCodec.decode, { body: retentionCodec.encode(requireRetentionFields(policy)) })
  }

  async *erase({ owner, dryRun }: EraseOptions): AsyncGenerator<ErasedSession> {
    yield* await this.#transport.ask('POST', '/erase', list(erasedCodec).decode, { body: { owner, dry_run: dryRun } })
  }

  /**
   * Reads the audit log of the space.
   *
   * @param options `from` defaults to one day ago, `to` to now. `order` defaults to `oldest`.
   * @returns Each entry: what was done, when, and with which API key.
   * @throws HoldfastError UNAUTHENTICATED or PERMISSION_DENIED when the API key may not do this.
   * @example
   * for await (const { action, key } of remote.audit()) console.log(action, key)
   */
  async *audit({ from, to, order }: AuditOptions = {}): AsyncGenerator<AuditInfo> {
    const query = { from: from?.toISOString(), to: to?.toISOString(), order }
    for (let cursor: string | undefined; ; ) {
      const page = await this.#transport.ask('GET', '/audit', auditPageOf, { query: { ...query, cursor } })
      yield* page.entries
      cursor = page.cursor ?? undefined
      if (cursor === undefined) return
    }
  }

  /**
   * Lets the server verify the space, or one session of it. Changes nothing.
   *
   * @param options `session` defaults to all sessions of the space.
   * @returns The number of sessions, and what is wrong with them.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError UNAUTHENTICATED or PERMISSION_DENIED when the API key may not do this.
   * @example
   * const { findings } = await remote.doctor({ session: 'support-42' })
   */
  async doctor({ session }: { readonly session?: string } = {}): Promise<{ sessions: number; findings: readonly Finding[] }> {
    return this.#transport.ask('POST', '/doctor', checkedCodec.decode, { body: { session_id: session } })
  }

  /**
   * Exports sessions as text, in pieces, as `exportFrom` does for a store in this process.
   *
   * @param options `session` defaults to all sessions. `format` defaults to `jsonl`, `tree` and `redact` to false.
   * @returns The text, in pieces.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError UNAVAILABLE when the server does not answer.
   * @example
   * for await (const piece of remote.export({ session: 'support-42', format: 'markdown' })) process.stdout.write(piece)
   */
  export({ session, tree, format, redact, signal, onDamage }: RemoteExportOptions = {}): AsyncGenerator<string> {
    const path = session === undefined ? '/export' : pathOf`/sessions/${session}/export`
    const onHeaders = (headers: Headers): void => {
      const places = placesInHeader(headers.get(DAMAGE_HEADER)).length
      if (places > 0) onDamage?.(places)
    }
    return this.#transport.text(path, { query: { format, tree, redact }, signal, onHeaders })
  }

  /**
   * Imports the sessions of one file, plain or compressed, as `importInto` does for a store in this process. You can repeat it.
   *
   * @param name The name of the file. Some formats are recognised by it.
   * @param options `from` defaults to the format that the server recognises. `dryRun` defaults to false.
   * @returns A report of each session.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the file is too large for the server.
   * @throws HoldfastError UNAVAILABLE when the server does not answer.
   * @example
   * for (const { session, messages } of await remote.importFile('chat.jsonl', bytes)) console.log(session, messages)
   */
  async importFile(
    name: string,
    bytes: Uint8Array,
    { from, dryRun, signal }: Pick<ImportOptions, 'from' | 'dryRun' | 'signal'> = {},
  ): Promise<ImportedSession[]> {
    const query = { name, from, dry_run: dryRun }
    const asked = { query, bytes, signal, timeoutMs: IMPORT_MS }
    return (await this.#transport.ask('POST', '/import', importReportCodec.decode, asked)).sessions
  }

  async shared<M extends object = Message>(token: string, options: PageOptions = {}): Promise<SharedView<M>> {
    const { limit, before, after, depth, from } = options
    const query = { limit, before, after, depth, from }
    const view = await this.#transport.ask('GET', pathOf`/shared/${token}`, withDamage(sharedSessionCodec.decode), { query })
    const { messages, more, damage, ...shared } = view
    const page = { messages, more, damage }
    return { ...shared, page: page as Page<object> as Page<M> }
  }

  /**
   * Reports who the server takes you for.
   *
   * @returns The space, the scope and the API key of the caller, and the version of the server.
   * @throws HoldfastError UNAUTHENTICATED when the API key is wrong.
   * @throws HoldfastError UNAVAILABLE when the server does not answer.
   * @example
   * const { space, scope } = await remote.whoami()
   */
  async whoami(): Promise<Caller> {
    return this.#transport.ask('GET', '/whoami', callerCodec.decode)
  }

  /**
   * Follows the space: yields each session that changes.
   *
   * @param options `after` is a cursor and defaults to now. `signal` ends the iteration.
   * @returns The session after each change. Undefined at the start, and if changes may have been missed: list the sessions again.
   * @throws HoldfastError UNAUTHENTICATED or PERMISSION_DENIED when the API key may not do this.
   * @example
   * for await (const info of remote.changes()) {
   *   console.log(info?.id ?? 'List the sessions again.')
   *   break
   * }
   */
  async *changes(options: Pick<FollowOptions, 'after' | 'signal'> = {}): AsyncGenerator<SessionInfo | undefined> {
    let resumes = options.after !== undefined
    for await (const event of follow(this.#transport, '/events', options).events) {
      if (event.type === 'session.changed') yield dataOf(event, sessionCodec.decode)
      else if (event.type === 'reset' || (event.type === 'ready' && !resumes)) yield undefined
      resumes = true
    }
  }

  /**
   * Creates an API key.
   *
   * @param options `scope` defaults to `write`. `owner` and `expiresAt` default to none. `replaces` names the key that this one follows.
   * @returns The key. The server keeps only a digest, so it is returned once.
   * @throws HoldfastError INVALID_ARGUMENT when an option is wrong.
   * @throws HoldfastError UNAUTHENTICATED or PERMISSION_DENIED when the API key may not do this.
   * @example
   * const { key } = await remote.createKey({ name: 'worker', scope: 'write' })
   */
  async createKey({
    scope,
    owner,
    name,
    expiresAt,
    replaces,
    overlapSeconds,
  }: NewKeyOptions = {}): Promise<KeyInfo & { readonly key: string }> {
    const body = { scope, owner, name, expires_at: expiresAt?.toISOString(), replaces, overlap_seconds: overlapSeconds }
    return this.#transport.ask('POST', '/keys', newKeyCodec.decode, { body })
  }

  /**
   * Lists the API keys of the space.
   *
   * @returns The keys without their secrets.
   * @throws HoldfastError UNAUTHENTICATED or PERMISSION_DENIED when the API key may not do this.
   * @example
   * for (const { id, name } of await remote.keys()) console.log(id, name)
   */
  async keys(): Promise<KeyInfo[]> {
    return this.#transport.ask('GET', '/keys', list(keyCodec).decode)
  }

  /**
   * Revokes an API key.
   *
   * @returns The key, with the time of the revocation.
   * @throws HoldfastError NOT_FOUND when there is no such key.
   * @throws HoldfastError UNAUTHENTICATED or PERMISSION_DENIED when the API key may not do this.
   * @example
   * for (const { id, name } of await remote.keys()) if (name === 'worker') await remote.revokeKey(id)
   */
  async revokeKey(id: string): Promise<KeyInfo> {
    return this.#transport.ask('DELETE', pathOf`/keys/${id}`, keyCodec.decode)
  }

  /**
   * Creates a session token for a browser. It lives for minutes, and opens one session or the sessions of one owner.
   *
   * @param options `scope` defaults to `read`. Name `session` or `owner`.
   * @returns The token, and when it expires.
   * @throws HoldfastError INVALID_ARGUMENT when an option is wrong.
   * @throws HoldfastError UNAUTHENTICATED or PERMISSION_DENIED when the API key may not do this.
   * @example
   * const { token } = await remote.createToken({ session: 'support-42' })
   */
  async createToken({
    session,
    owner,
    scope,
    expiresInSeconds,
  }: TokenOptions): Promise<{ readonly token: string; readonly expiresAt: string }> {
    const body = { session_id: session, owner, scope, expires_in: expiresInSeconds }
    return this.#transport.ask('POST', '/tokens', tokenCodec.decode, { body })
  }

  async close(): Promise<void> {
    this.#transport.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function auditPageOf(answer: WireOf<typeof auditCodec>[], headers: Headers): { entries: AuditInfo[]; cursor: string | null } {
  return { entries: list(auditCodec).decode(answer), cursor: headers.get('x-next-cursor') }
}
