/** A session at a server. A handle is cheap and holds nothing. Methods are those of the library, with the same promises. */
import { HoldfastError } from '../errors.ts'
import type { Format, Message, WindowMessage } from '../message/shapes.ts'
import { parseCursor } from '../session/change-cursor.ts'
import type { RevertTarget } from '../session/decide.ts'
import type { SessionInfo } from '../session/info.ts'
import type { Entry } from '../session/records.ts'
import type { Usage } from '../session/state.ts'
import type { DescribeOptions, ForkOptions } from '../store/api/branches-api.ts'
import type { SessionApi } from '../store/api/session-api.ts'
import type { CommittedApi } from '../store/api/task-api.ts'
import type { DamagedPlace, DamageReport } from '../store/damage/damage.ts'
import type { WriteOptions, Written } from '../store/handle.ts'
import type { Appended, AppendOptions } from '../store/messages/append.ts'
import type { EntryPage, EntryPageOptions, StoredEntry } from '../store/messages/entries.ts'
import type { Change, FollowOptions } from '../store/messages/follow.ts'
import type { RecordPage, RecordPageOptions } from '../store/messages/record-page.ts'
import type { ReplaceOptions } from '../store/messages/replace.ts'
import type { RevisionOptions, RevisionPage } from '../store/messages/revisions.ts'
import type { StoredMessage } from '../store/messages/stored-message.ts'
import type { MessageRecord, Page, PageOptions } from '../store/messages/transcript.ts'
import type { LastTurn, Window, WindowOptions } from '../store/messages/window.ts'
import type { Shared, ShareOptions } from '../store/sharing/shares.ts'
import type { ArchiveInfo, ArchivePageOptions, CommitOptions } from '../store/task-info.ts'
import type { TreeOptions, TreePage } from '../store/tree.ts'
import { list, type WireOf } from '../wire/codec.ts'
import { acceptedDamageCodec, DAMAGE_HEADER, damageIn, damageReportCodec } from '../wire/damage.ts'
import { appendedCodec, batchCodec, messageRecordCodec, pageCodec, recordPageCodec, storedMessageCodec } from '../wire/messages.ts'
import { archiveName } from '../wire/names.ts'
import { entryCodec, turnCodec, usageCodec, writtenCodec } from '../wire/operations.ts'
import { createdCodec, damageInTree, newShareCodec, sessionCodec, treePageCodec } from '../wire/sessions.ts'
import { commitCodec, storedArchiveCodec, wholeArchiveCodec, windowCodec } from '../wire/tasks.ts'
import { type Decode, withDamage } from './answer.ts'
import { descriptionFields } from './description.ts'
import { changesIn, follow } from './follow.ts'
import { pathOf, segmentOf } from './path.ts'
import { RemoteTask } from './task.ts'
import type { Asked, Transport } from './transport.ts'

/** What a session has before it is there. */
const ABSENT_VERSION = '0-00000000'
/** What a server takes as a plain batch. */
const BATCH_MESSAGES = 100

/**
 * One session at a server. `remote.session(id)` returns it.
 *
 * @example
 * await remote.session('support-42').append({ role: 'user', content: 'Hello' })
 */
export class RemoteSession<M extends object = Message> implements SessionApi<M> {
  readonly id: string
  readonly #transport: Transport
  readonly #path: string
  /** What is asked for after `follow` waits until that has begun, so that nothing falls between the two. */
  #following: Promise<unknown> | undefined

  /** @internal */
  constructor(transport: Transport, id: string) {
    this.#transport = transport
    this.id = id
    this.#path = pathOf`/sessions/${id}`
  }

  async append(message: M | readonly M[], options: AppendOptions = {}): Promise<Appended> {
    const { ids, parent, entries, key, expect, chain } = options
    if (chain !== undefined)
      throw new TypeError('Appends that are under way together have no order at a server: append one after the other.')
    const write = { key, expect }
    const messages = Array.isArray(message) ? message : [message]
    if (ids === 'new' || parent === null || entries !== undefined || messages.length > BATCH_MESSAGES) {
      const body = { messages, ids: idFields(ids), parent, entries }
      return this.#ask('POST', '/messages/group', batchCodec.decode, { ...write, body })
    }
    if (!Array.isArray(message) && (ids === undefined || ids.length === 1)) {
      const asked = { ...write, query: { parent, message_id: ids?.[0] }, body: message }
      return this.#ask('POST', '/messages', appendedCodec.decode, asked)
    }
    const asked = { ...write, query: { parent }, body: { messages, ids: idFields(ids) } }
    return this.#ask('POST', '/messages/batch', batchCodec.decode, asked)
  }

  replaceTail(
    last: readonly M[],
    messages: readonly M[],
    { ids, key, expect }: WriteOptions & Pick<AppendOptions, 'ids'> = {},
  ): Promise<Written> {
    return this.#write('POST', '/messages/replace-tail', { key, expect, body: { last, messages, ids: idFields(ids) } })
  }

  async replace(id: string, message: M, { old, key, expect }: ReplaceOptions<M> = {}): Promise<Written> {
    const body = { message, ...(old === undefined ? {} : { old }) }
    return this.#write('PUT', pathOf`/messages/${id}`, { key, expect, body })
  }

  async erase(id: string, { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('DELETE', pathOf`/messages/${id}`, { key, expect })
  }

  async messages({ limit, before, after, depth, from, archived, branch }: PageOptions = {}): Promise<Page<M>> {
    const query = { limit, before, after, depth, from, branch, archived: archived === true ? 'include' : undefined }
    const { messages, ...page } = await this.#read('/messages', pageCodec.decode, { query })
    return { ...page, messages: typed<M>(messages) }
  }

  async message(id: string): Promise<StoredMessage<M> | undefined> {
    const found = await orUndefined('message_id', () => this.#ask('GET', pathOf`/messages/${id}`, storedMessageCodec.decode))
    return found === undefined ? undefined : typed<M>([found])[0]
  }

  async record(id: string): Promise<MessageRecord | undefined> {
    return orUndefined('message_id', () => this.#ask('GET', pathOf`/messages/${id}/record`, messageRecordCodec.decode))
  }

  async revisions(id: string, { limit, cursor }: RevisionOptions = {}): Promise<RevisionPage<M>> {
    const path = pathOf`/messages/${id}/revisions`
    const decode: Decode<RevisionPage<M>> = (sent, headers) => ({
      revisions: typed<M>(list(storedMessageCodec).decode(sent)),
      cursor: headers.get('x-next-cursor'),
    })
    const page = await orUndefined('message_id', () => this.#ask('GET', path, decode, { query: { limit, cursor: cursor ?? undefined } }))
    return page ?? { revisions: [], cursor: null }
  }

  putEntries(entries: readonly Entry[], { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('PUT', '/entries', { key, expect, body: { entries } })
  }

  async entry(channel: string, key: string): Promise<StoredEntry | undefined> {
    const [entry] = await this.#ask('GET', '/entries', list(entryCodec).decode, { query: { channel, key } })
    return entry
  }

  async *entries(channel: string): AsyncGenerator<StoredEntry> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: EntryPage = await this.entryPage(channel, { cursor })
      yield* page.entries
      cursor = page.cursor
    }
  }

  entryPage(channel: string, { limit, cursor }: EntryPageOptions = {}): Promise<EntryPage> {
    const decode: Decode<EntryPage> = (sent, headers) => ({ entries: list(entryCodec).decode(sent), cursor: headers.get('x-next-cursor') })
    return this.#ask('GET', '/entries', decode, { query: { channel, limit, cursor: cursor ?? undefined } })
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

  fork({ at, ...options }: ForkOptions = {}): Promise<RemoteSession<M>> {
    return this.#createFork(options, { at })
  }

  child(options: Omit<ForkOptions, 'at'> = {}): Promise<RemoteSession<M>> {
    return this.#createFork(options, { child: true })
  }

  async tree({ limit, cursor }: TreeOptions = {}): Promise<TreePage> {
    const decode = (answer: WireOf<typeof treePageCodec>, headers: Headers): TreePage => {
      const root = { ...treePageCodec.decode(answer), cursor: headers.get('x-next-cursor') }
      // Where only the header counts them, they are reported for the tree as a whole.
      return damageInTree(root).length > 0 ? root : { ...root, damage: damageIn({}, headers.get(DAMAGE_HEADER)) }
    }
    return this.#ask('GET', '/tree', decode, { query: { limit, cursor: cursor ?? undefined } })
  }

  async commit({ keep, keepTurns, tokenBudget, key, expect }: CommitOptions = {}): Promise<CommittedApi> {
    const turns = { retention_mode: 'turn_budget', keep_recent_turn_count: keepTurns, retained_message_token_budget: tokenBudget }
    const body = keepTurns === undefined ? { keep_recent_count: keep } : turns
    const committed = await this.#ask('POST', '/commit', commitCodec.decode, { key, expect, body })
    if (committed.status === 'skipped') return committed
    const { id } = committed.task
    return { ...committed, task: new RemoteTask(this.#transport, { id, session: this.id, archive: committed.archive }) }
  }

  async archives(): Promise<ArchiveInfo[]> {
    return this.#ask('GET', '/archives', list(wholeArchiveCodec).decode)
  }

  async archive(number: number, { limit, cursor }: ArchivePageOptions = {}): ReturnType<SessionApi<M>['archive']> {
    return orUndefined('archive_id', async () => {
      const path = `/archives/${archiveName(number)}`
      const query = { format: 'stored', limit, cursor: cursor ?? undefined }
      const decode = (answer: WireOf<typeof storedArchiveCodec>, headers: Headers) => ({
        ...storedArchiveCodec.decode(answer),
        cursor: headers.get('x-next-cursor'),
      })
      const { messages, ...archive } = await this.#read(path, decode, { query })
      return { ...archive, messages: typed<M>(messages) }
    })
  }

  retractMemories(archive: number, { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('DELETE', `/archives/${archiveName(archive)}/memories`, { key, expect })
  }

  async window<F extends Format | undefined = undefined>({
    budget,
    format,
    recall,
    countTokens,
  }: WindowOptions<F> = {}): Promise<Window<WindowMessage<M, F>>> {
    if (countTokens !== undefined) throw new TypeError('A server counts tokens itself: leave out `countTokens`.')
    const query = { token_budget: budget, format: format ?? 'stored', recall }
    const window: Window<object> = await this.#read('/window', windowCodec.decode, { query })
    return window as Window<WindowMessage<M, F>>
  }

  async turn(): Promise<LastTurn> {
    return this.#read('/turn', turnCodec.decode)
  }

  recordUsage(
    { model, inputTokens, outputTokens }: { readonly model: string; readonly inputTokens: number; readonly outputTokens: number },
    { key, expect }: WriteOptions = {},
  ): Promise<Written> {
    return this.#write('POST', '/usage', { key, expect, body: { model, input_tokens: inputTokens, output_tokens: outputTokens } })
  }

  async usage(): Promise<readonly Usage[]> {
    return this.#ask('GET', '/usage', list(usageCodec).decode)
  }

  async share({ expiresAt, redact, key, expect }: ShareOptions = {}): Promise<Shared> {
    const body = { expires_at: expiresAt?.toISOString() ?? null, redact }
    return this.#ask('POST', '/shares', newShareCodec.decode, { key, expect, body })
  }

  async unshare(share: string, { key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#write('DELETE', pathOf`/shares/${share}`, { key, expect })
  }

  follow(options: FollowOptions = {}): AsyncGenerator<Change<M>> {
    const { events, opened } = follow(this.#transport, `${this.#path}/events`, options, parseCursor)
    this.#following = opened
    return changesIn(events) as AsyncGenerator<Change<object>> as AsyncGenerator<Change<M>>
  }

  recordPage({ before, limit, messages }: RecordPageOptions = {}): Promise<RecordPage> {
    const query = { before, limit, messages: messages === false ? 'exclude' : undefined }
    return this.#read('/records', recordPageCodec.decode, { query })
  }

  damage(): Promise<DamageReport[]> {
    return this.#ask('GET', '/damage', list(damageReportCodec).decode)
  }

  async acceptDamage({ key, expect }: WriteOptions = {}): ReturnType<SessionApi['acceptDamage']> {
    return this.#ask('POST', '/accept-damage', acceptedDamageCodec.decode, { key, expect, body: {} })
  }

  async info(): Promise<SessionInfo> {
    return this.#ask('GET', '', sessionCodec.decode)
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

  async #createFork({ id, key, expect, ...description }: Omit<ForkOptions, 'at'>, how: object): Promise<RemoteSession<M>> {
    if (id !== undefined) segmentOf(id)
    const body = { session_id: id, ...how, ...descriptionFields(description) }
    const created = await this.#ask('POST', '/fork', createdCodec.decode, { key, expect, body })
    return new RemoteSession<M>(this.#transport, created.session)
  }

  #write(method: string, path: string, asked: Asked): Promise<Written> {
    return this.#ask(method, path, writtenCodec.decode, asked)
  }

  /** A read, with what it lacks. */
  #read<Out extends object>(path: string, decode: Decode<Out>, asked?: Asked): Promise<Out & { readonly damage: readonly DamagedPlace[] }> {
    return this.#ask('GET', path, withDamage(decode), asked)
  }

  async #ask<Out>(method: string, path: string, decode: Decode<Out>, asked?: Asked): Promise<Out> {
    await this.#following
    return this.#transport.ask(method, `${this.#path}${path}`, decode, asked)
  }
}

/** What the server sent, with the caller's type of its messages. */
function typed<M extends object>(messages: readonly StoredMessage<object>[]): StoredMessage<M>[] {
  return messages as StoredMessage<M>[]
}

function idFields(ids: AppendOptions['ids']): (string | null)[] | 'new' | undefined {
  return ids === 'new' || ids === undefined ? ids : ids.map((id) => id ?? null)
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
