/** A session at a server. A handle is cheap and holds nothing. Methods are those of the library, with the same promises. */
import { HoldfastError } from '../errors.ts'
import type { RevertTarget } from '../session/decide.ts'
import type { SessionInfo } from '../session/info.ts'
import type { Entry } from '../session/records.ts'
import type { Usage } from '../session/state.ts'
import type { DamagedPlace, DamageReport } from '../store/damage/damage.ts'
import type { TreeNode } from '../store/family.ts'
import type { WriteOptions, Written } from '../store/handle.ts'
import type { StoredEntry } from '../store/messages/entries.ts'
import type { Change, FollowOptions } from '../store/messages/follow.ts'
import type { RecordPage, RecordPageOptions } from '../store/messages/record-page.ts'
import type { StoredMessage } from '../store/messages/stored-message.ts'
import type { MessageRecord, Page, PageOptions } from '../store/messages/transcript.ts'
import type { LastTurn, Window, WindowOptions } from '../store/messages/window.ts'
import type { Appended, AppendOptions, DescribeOptions, ForkOptions } from '../store/session.ts'
import type { Shared, ShareOptions } from '../store/sharing/shares.ts'
import type { ArchiveInfo, CommitOptions } from '../store/tasks.ts'
import { type AcceptedFields, DAMAGE_HEADER, damageIn, placeOf } from '../wire/damage.ts'
import { type AppendedFields, type BatchFields, type PageFields, type StoredFields, storedMessage } from '../wire/messages.ts'
import { archiveName, archiveNumber } from '../wire/names.ts'
import { type TurnFields, turnOf, type UsageFields, usageOf, type WrittenFields } from '../wire/operations.ts'
import { damageInTree, type SessionFields, type SharedFields, sessionInfo, type TreeFields, treeNode } from '../wire/sessions.ts'
import { archiveInfo, type CommitFields, type WholeArchiveFields, type WindowFields, windowOf } from '../wire/tasks.ts'
import type { CommittedApi, SessionApi } from './api.ts'
import { descriptionFields } from './description.ts'
import { changesIn, follow } from './follow.ts'
import { RemoteTask } from './task.ts'
import type { Asked, Got, Transport } from './transport.ts'

/** What a session has before it is there. */
const ABSENT_VERSION = '0-00000000'
/** What a server takes as a plain batch. */
const BATCH_MESSAGES = 100

export class RemoteSession implements SessionApi {
  readonly id: string
  readonly #transport: Transport
  readonly #path: string
  /** What is asked for after `follow` waits until that has begun, so that nothing falls between the two. */
  #following: Promise<unknown> | undefined

  /** @internal */
  constructor(transport: Transport, id: string) {
    this.#transport = transport
    this.id = id
    this.#path = `/sessions/${encodeURIComponent(id)}`
  }

  async append(message: object | readonly object[], options: AppendOptions = {}): Promise<Appended> {
    const { ids, parent, entries, key, expect, chain } = options
    if (chain !== undefined)
      throw new TypeError('Appends that are under way together have no order at a server: append one after the other.')
    const write = { key, expect }
    const messages = Array.isArray(message) ? message : [message]
    if (ids === 'new' || parent === null || entries !== undefined || messages.length > BATCH_MESSAGES) {
      const body = { messages, ids: idFields(ids), parent, entries }
      const result = await this.#ask<BatchFields>('POST', '/messages/group', { ...write, body })
      return { ...counts(result), ids: result.message_ids, id: result.message_id }
    }
    if (!Array.isArray(message)) {
      const result = await this.#ask<AppendedFields>('POST', '/messages', {
        ...write,
        query: { parent, message_id: ids?.[0] },
        body: message,
      })
      return { ...counts(result), ids: [result.message_id], id: result.message_id }
    }
    const body = { messages, ids: idFields(ids) }
    const result = await this.#ask<BatchFields>('POST', '/messages/batch', { ...write, query: { parent }, body })
    return { ...counts(result), ids: result.message_ids, id: result.message_id }
  }

  replaceTail(
    last: readonly object[],
    messages: readonly object[],
    { ids, key, expect }: WriteOptions & Pick<AppendOptions, 'ids'> = {},
  ): Promise<Written> {
    return this.#write('POST', '/messages/replace-tail', { key, expect, body: { last, messages, ids: idFields(ids) } })
  }

  replace(id: string, message: object, { old, key, expect }: WriteOptions & { readonly old?: object } = {}): Promise<Written> {
    const body = { message, ...(old === undefined ? {} : { old }) }
    return this.#write('PUT', `/messages/${encodeURIComponent(id)}`, { key, expect, body })
  }

  erase(id: string, { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('DELETE', `/messages/${encodeURIComponent(id)}`, { key, expect })
  }

  async messages({ limit, before, after, depth, from, archived, branch }: PageOptions = {}): Promise<Page> {
    const query = { limit, before, after, depth, from, branch, archived: archived === true ? 'include' : undefined }
    const { result, damage } = await this.#read<PageFields>('/messages', { query })
    return { messages: result.messages.map(storedMessage), more: result.more, damage }
  }

  async message(id: string): Promise<StoredMessage | undefined> {
    return orUndefined('message_id', async () => storedMessage(await this.#ask<StoredFields>('GET', `/messages/${encodeURIComponent(id)}`)))
  }

  async record(id: string): Promise<MessageRecord | undefined> {
    type Fields = Omit<MessageRecord, 'session'> & { readonly session_id: string }
    const path = `/messages/${encodeURIComponent(id)}/record`
    const found = await orUndefined('message_id', () => this.#ask<Fields>('GET', path))
    return found === undefined ? undefined : { session: found.session_id, position: found.position, record: found.record }
  }

  async revisions(id: string): Promise<StoredMessage[]> {
    const path = `/messages/${encodeURIComponent(id)}/revisions`
    return (await orUndefined('message_id', () => this.#ask<StoredFields[]>('GET', path)))?.map(storedMessage) ?? []
  }

  putEntries(entries: readonly Entry[], { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('PUT', '/entries', { key, expect, body: { entries } })
  }

  async entry(channel: string, key: string): Promise<StoredEntry | undefined> {
    const [entry] = await this.#ask<StoredEntry[]>('GET', '/entries', { query: { channel, key } })
    return entry
  }

  async *entries(channel: string): AsyncGenerator<StoredEntry> {
    yield* await this.#ask<StoredEntry[]>('GET', '/entries', { query: { channel } })
  }

  describe({ addTags, removeTags, ...description }: DescribeOptions, { key, expect }: WriteOptions = {}): Promise<Written> {
    const body = { ...descriptionFields(description), add_tags: addTags, remove_tags: removeTags }
    return this.#write('PATCH', '', { key, expect, body })
  }

  snapshot(name: string, { at, key, expect }: WriteOptions & { readonly at?: string } = {}): Promise<Written> {
    return this.#write('POST', '/snapshots', { key, expect, body: { name, at } })
  }

  revert(to: RevertTarget, { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('POST', '/revert', { key, expect, body: to })
  }

  undo({ key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('POST', '/undo', { key, expect, body: {} })
  }

  fork({ at, ...options }: ForkOptions = {}): Promise<RemoteSession> {
    return this.#createFork(options, { at })
  }

  child(options: Omit<ForkOptions, 'at'> = {}): Promise<RemoteSession> {
    return this.#createFork(options, { child: true })
  }

  async tree(): Promise<TreeNode> {
    const { result, headers } = await this.#get<TreeFields>('/tree')
    const root = treeNode(result)
    // Where only the header counts them, they are reported for the tree as a whole.
    return damageInTree(root).length > 0 ? root : { ...root, damage: damageIn({}, headers.get(DAMAGE_HEADER)) }
  }

  async commit({ keep, keepTurns, tokenBudget, key, expect }: CommitOptions = {}): Promise<CommittedApi> {
    const turns = { retention_mode: 'turn_budget', keep_recent_turn_count: keepTurns, retained_message_token_budget: tokenBudget }
    const body = keepTurns === undefined ? { keep_recent_count: keep } : turns
    const result = await this.#ask<CommitFields>('POST', '/commit', { key, expect, body })
    if (result.status === 'skipped' || result.task_id === null || result.archive_id === null) {
      return { status: 'skipped', reason: result.reason ?? 'no_messages' }
    }
    const archive = archiveNumber(result.archive_id) ?? 0
    const task = new RemoteTask(this.#transport, { id: result.task_id, session: this.id, archive })
    return { status: 'accepted', task, archive, messageCount: result.archived_count, duplicate: result.duplicate }
  }

  async archives(): Promise<ArchiveInfo[]> {
    return (await this.#ask<WholeArchiveFields[]>('GET', '/archives')).map(archiveInfo)
  }

  async archive(number: number): ReturnType<SessionApi['archive']> {
    return orUndefined('archive_id', async () => {
      const path = `/archives/${archiveName(number)}`
      const query = { format: 'stored' }
      const { result, damage } = await this.#read<WholeArchiveFields & { messages: StoredFields[] }>(path, { query })
      return { ...archiveInfo(result), messages: result.messages.map(storedMessage), damage }
    })
  }

  retractMemories(archive: number, { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('DELETE', `/archives/${archiveName(archive)}/memories`, { key, expect })
  }

  /** Tokens are counted by the server. */
  async window({ budget, format, recall, countTokens }: WindowOptions = {}): Promise<Window> {
    if (countTokens !== undefined) throw new TypeError('A server counts tokens itself: leave out `countTokens`.')
    const query = { token_budget: budget, format: format ?? 'stored', recall }
    const { result, damage } = await this.#read<WindowFields>('/context', { query })
    return windowOf(result, damage)
  }

  async turn(): Promise<LastTurn> {
    const { result, damage } = await this.#read<TurnFields>('/turn')
    return { ...turnOf(result), damage }
  }

  recordUsage(
    { model, inputTokens, outputTokens }: { readonly model: string; readonly inputTokens: number; readonly outputTokens: number },
    { key, expect }: WriteOptions = {},
  ): Promise<Written> {
    return this.#write('POST', '/usage', { key, expect, body: { model, input_tokens: inputTokens, output_tokens: outputTokens } })
  }

  async usage(): Promise<readonly Usage[]> {
    return (await this.#ask<UsageFields[]>('GET', '/usage')).map(usageOf)
  }

  async share({ expiresAt, redact, key, expect }: ShareOptions = {}): Promise<Shared> {
    const body = { expires_at: expiresAt?.toISOString() ?? null, redact }
    const { version, duplicate, share_id: share, token } = await this.#ask<SharedFields>('POST', '/shares', { key, expect, body })
    return { version, duplicate, share, token }
  }

  unshare(share: string, { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('DELETE', `/shares/${encodeURIComponent(share)}`, { key, expect })
  }

  follow(options: FollowOptions = {}): AsyncGenerator<Change> {
    const { events, opened } = follow(this.#transport, `${this.#path}/events`, options)
    this.#following = opened
    return changesIn(events)
  }

  recordPage({ before, limit, messages }: RecordPageOptions = {}): Promise<RecordPage> {
    const query = { before, limit, messages: messages === false ? 'exclude' : undefined }
    return this.#ask<RecordPage>('GET', '/records', { query })
  }

  damage(): Promise<DamageReport[]> {
    return this.#ask<DamageReport[]>('GET', '/damage')
  }

  async acceptDamage({ key, expect }: WriteOptions = {}): ReturnType<SessionApi['acceptDamage']> {
    const result = await this.#ask<AcceptedFields>('POST', '/accept-damage', { key, expect, body: {} })
    return { version: result.version, duplicate: result.duplicate, accepted: result.accepted.map(placeOf) }
  }

  async info(): Promise<SessionInfo> {
    return sessionInfo(await this.#ask<SessionFields>('GET', ''))
  }

  async version(): Promise<string> {
    try {
      return (await this.info()).version
    } catch (error) {
      if (error instanceof HoldfastError && error.details.reason === 'absent') return ABSENT_VERSION
      throw error
    }
  }

  delete({ key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('DELETE', '', { key, expect })
  }

  restore({ key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('POST', '/restore', { key, expect, body: {} })
  }

  async #createFork({ id, key, expect, ...description }: Omit<ForkOptions, 'at'>, how: object): Promise<RemoteSession> {
    const body = { session_id: id, ...how, ...descriptionFields(description) }
    const { session_id } = await this.#ask<{ session_id: string }>('POST', '/fork', { key, expect, body })
    return new RemoteSession(this.#transport, session_id)
  }

  async #write(method: string, path: string, asked: Asked): Promise<Written> {
    const { version, duplicate } = await this.#ask<WrittenFields>(method, path, asked)
    return { version, duplicate }
  }

  /** A read, with what it lacks. */
  async #read<T extends object>(path: string, asked?: Asked): Promise<{ result: T; damage: readonly DamagedPlace[] }> {
    const { result, headers } = await this.#get<T>(path, asked)
    return { result, damage: damageIn(result, headers.get(DAMAGE_HEADER)) }
  }

  async #get<T>(path: string, asked?: Asked): Promise<Got<T>> {
    await this.#following
    return this.#transport.ask<T>('GET', `${this.#path}${path}`, asked)
  }

  async #ask<T>(method: string, path: string, asked?: Asked): Promise<T> {
    await this.#following
    return (await this.#transport.ask<T>(method, `${this.#path}${path}`, asked)).result
  }
}

function idFields(ids: AppendOptions['ids']): (string | null)[] | 'new' | undefined {
  return ids === 'new' || ids === undefined ? ids : ids.map((id) => id ?? null)
}

function counts(fields: AppendedFields): Omit<Appended, 'id' | 'ids'> {
  const { version, duplicate, message_count: messageCount, pending_tokens: pendingTokens } = fields
  return { version, duplicate, messageCount, pendingTokens }
}

/** What the library answers with undefined, a server answers with NOT_FOUND, of just that. */
async function orUndefined<T>(what: string, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'NOT_FOUND' && what in error.details) return undefined
    throw error
  }
}
