/**
 * One session, as its users have it. A handle is cheap and holds nothing: all handles on one session share what the store keeps of it.
 * Every call that changes something resolves once it is durable. It may carry `key`: the call repeated under the same key changes
 * nothing and is answered with the first outcome; and `expect`, a version that the session must still have, or CONFLICT.
 */

import type { Format, Message, WindowMessage } from '../message/shapes.ts'
import { checkCount, checkId, checkRevertTarget, invalid } from '../session/check.ts'
import { checkCallersDescription } from '../session/check-policies.ts'
import type { Outcome } from '../session/command.ts'
import * as decide from '../session/decide.ts'
import { retract } from '../session/decide-commit.ts'
import { infoOf, type SessionInfo } from '../session/info.ts'
import { inheritedFrom } from '../session/lineage.ts'
import type { Description, Entry } from '../session/records.ts'
import { ABSENT_VERSION, START, type Usage } from '../session/state.ts'
import { recordUsage } from '../session/usage.ts'
import type { DescribeOptions, ForkOptions } from './api/branches-api.ts'
import type { SessionApi } from './api/session-api.ts'
import { acceptDamage, type DamageAccepted } from './damage/accept-damage.ts'
import { type DamageReport, damageOf } from './damage/damage.ts'
import { createFork } from './family.ts'
import { Handle, type WriteOptions, type Written, written } from './handle.ts'
import { type EraseMessageOptions, erase } from './lifecycle/erase.ts'
import { admit, admitAmount } from './messages/admission.ts'
import { type Appended, type AppendOptions, admitted, append } from './messages/append.ts'
import { type EntryPage, type EntryPageOptions, entriesOf, entryOf, entryPage, putEntries, type StoredEntry } from './messages/entries.ts'
import { type Change, type FollowOptions, follow } from './messages/follow.ts'
import { messageIds } from './messages/message-ids.ts'
import { recall } from './messages/recall.ts'
import { type RecordPage, type RecordPageOptions, recordPage } from './messages/record-page.ts'
import { type ReplaceOptions, replace } from './messages/replace.ts'
import { replaceTail } from './messages/replace-tail.ts'
import type { RevisionOptions, RevisionPage } from './messages/revisions.ts'
import type { StoredMessage } from './messages/stored-message.ts'
import { checkPage, type MessageRecord, type Page, type PageOptions, Transcript } from './messages/transcript.ts'
import { type LastTurn, turnOf, type Window, type WindowOptions, windowOf } from './messages/window.ts'
import type { StoreParts } from './parts.ts'
import { type Shared, type ShareOptions, share } from './sharing/shares.ts'
import type { ArchiveInfo, ArchivePageOptions, CommitOptions, WholeArchive } from './task-info.ts'
import { archiveInfo, archivePage, type Committed, commit } from './tasks.ts'
import { type TreeOptions, type TreePage, treePage } from './tree.ts'

/**
 * One session. `store.session(id)` returns it.
 * @example await store.session('support-42').append({ role: 'user', content: 'Hello' })
 */
export class Session<M extends object = Message> implements SessionApi<M> {
  readonly #handle: Handle<StoreParts>

  /** @internal */
  constructor(parts: StoreParts, id: string) {
    this.#handle = new Handle(parts, id)
  }

  get id(): string {
    return this.#handle.id
  }

  async append(message: M | readonly M[], options: AppendOptions = {}): Promise<Appended> {
    return append(this.#handle, message, options)
  }

  async replaceTail(last: readonly M[], messages: readonly M[], options: WriteOptions & Pick<AppendOptions, 'ids'> = {}): Promise<Written> {
    if (!Array.isArray(last) || !Array.isArray(messages))
      throw invalid('replaceTail takes two arrays of messages: the last ones as they were read, and the new ones.')
    const texts = messages.map((one) => admitted(this.#handle, one))
    // The last messages were written as the opener admitted them.
    const expected = last.map((one) => admitted(this.#handle, one))
    return replaceTail(this.#handle, { last: expected, messages: texts, ids: messageIds(texts, options.ids) }, options)
  }

  async replace(id: string, message: M, options: ReplaceOptions<M> = {}): Promise<Written> {
    return replace(this.#handle, id, message, options)
  }

  erase(id: string, options: EraseMessageOptions = {}): Promise<Written> {
    return erase(this.#handle, checkId('The message id', id), options)
  }

  async messages(options: PageOptions = {}): Promise<Page<M>> {
    checkPage(options)
    return typed(await (await this.#handle.transcript()).page(options))
  }

  async message(id: string): Promise<StoredMessage<M> | undefined> {
    const transcript = await this.#handle.transcript()
    const found = await transcript.message(checkId('The message id', id))
    return found === undefined ? refuseIfDamaged(transcript, id) : typed(found)
  }

  async record(id: string): Promise<MessageRecord | undefined> {
    const transcript = await this.#handle.transcript()
    return (await transcript.record(checkId('The message id', id))) ?? refuseIfDamaged(transcript, id)
  }

  async revisions(id: string, options: RevisionOptions = {}): Promise<RevisionPage<M>> {
    const transcript = await this.#handle.transcript()
    const page = await transcript.revisions(checkId('The message id', id), options)
    if (page === undefined) await refuseIfDamaged(transcript, id)
    return typed(page ?? { revisions: [], cursor: null })
  }

  putEntries(entries: readonly Entry[], options: WriteOptions = {}): Promise<Written> {
    return putEntries(this.#handle, entries, options)
  }

  entry(channel: string, key: string): Promise<StoredEntry | undefined> {
    return entryOf(this.#handle, channel, key)
  }

  entries(channel: string): AsyncGenerator<StoredEntry> {
    return entriesOf(this.#handle, channel)
  }

  entryPage(channel: string, options: EntryPageOptions = {}): Promise<EntryPage> {
    return entryPage(this.#handle, checkId('A channel', channel), options)
  }

  async describe(description: DescribeOptions, options: WriteOptions = {}): Promise<Written> {
    const checked = checkCallersDescription(admit(this.#handle.parts, this.id, 'description', description))
    return written(await this.#handle.submit(this.#handle.terms('describe', checked, options), (full) => decide.describe(full, checked)))
  }

  async snapshot(name: string, options: WriteOptions & { readonly at?: string } = {}): Promise<Written> {
    checkId('The name of a snapshot', name)
    const at = options.at === undefined ? undefined : await this.#handle.locate(options.at)
    const terms = this.#handle.terms('snapshot', { name, at: options.at ?? null }, options, at)
    return written(await this.#handle.submit(terms, (full) => decide.snapshot(full, name, at?.point)))
  }

  async revert(to: decide.RevertTarget, options: WriteOptions = {}): Promise<Written> {
    const target = checkRevertTarget(to)
    const transcript = await this.#handle.transcript()
    const message = 'snapshot' in target ? null : target.message
    const named = 'snapshot' in target ? target.snapshot : message
    const located = message === null ? undefined : ((await transcript.locate(message)) ?? (await refuseIfDamaged(transcript, message)))
    const terms = this.#handle.terms('revert', { target: named }, options, located)
    return written(await this.#handle.submit(terms, (full) => decide.revert(full, target, named === null ? START : located?.point)))
  }

  async undo(options: WriteOptions = {}): Promise<Written> {
    return written(await this.#handle.submit(this.#handle.terms('undo', {}, options), decide.undo))
  }

  async fork(options: ForkOptions = {}): Promise<Session<M>> {
    const { at, id, key, expect, when, ...description } = options
    const located = at === undefined ? undefined : await this.#handle.locate(at)
    const inherit = ({ before }: Outcome): object => {
      const { title, tags, owner, workspace, metadata, policies } = before
      return { title, tags, owner, workspace, metadata, policies, ...inheritedFrom(this.id, before, located?.point ?? before.head) }
    }
    const wanted = { kind: 'fork', id, key, expect, when, message: at ?? null, born: located?.born, description, inherit } as const
    return new Session<M>(this.#handle.parts, await createFork(this.#handle, wanted))
  }

  async child(options: Omit<ForkOptions, 'at'> = {}): Promise<Session<M>> {
    const { id, key, expect, when, ...description } = options
    const inherit = ({ before: { owner, workspace } }: Outcome): object => ({ owner, workspace })
    const wanted = { kind: 'child', id, key, expect, when, message: null, born: undefined, description, inherit } as const
    return new Session<M>(this.#handle.parts, await createFork(this.#handle, wanted))
  }

  tree(options?: TreeOptions): Promise<TreePage> {
    return treePage(this.#handle, options)
  }

  commit(options: CommitOptions = {}): Promise<Committed> {
    return commit(this.#handle, options)
  }

  async archives(): Promise<ArchiveInfo[]> {
    const transcript = await this.#handle.transcript()
    const { archives } = await this.#handle.liveState()
    return Promise.all(archives.map((archive) => archiveInfo(this.id, archive, transcript)))
  }

  async archive(number: number, options: ArchivePageOptions = {}): Promise<WholeArchive<M> | undefined> {
    const archive = (await this.#handle.liveState()).archives.find((one) => one.number === number)
    return archive === undefined ? undefined : typed(await archivePage(this.id, archive, await this.#handle.transcript(), options))
  }

  async retractMemories(archive: number, options: WriteOptions = {}): Promise<Written> {
    const terms = this.#handle.terms('retract', { archive }, options)
    return written(await this.#handle.submit(terms, (full) => retract(full, archive)))
  }

  async window<F extends Format | undefined = undefined>(options: WindowOptions<F> = {}): Promise<Window<WindowMessage<M, F>>> {
    const state = await this.#handle.liveState()
    const { parts } = this.#handle
    const transcript = new Transcript(parts, this.id, state)
    return typed(await windowOf(this.id, state, transcript, (query, of) => recall(parts, query, this.id, state, transcript, of), options))
  }

  async turn(): Promise<LastTurn> {
    const state = await this.#handle.liveState()
    return turnOf(state, new Transcript(this.#handle.parts, this.id, state))
  }

  async recordUsage(
    usage: { readonly model: string; readonly inputTokens: number; readonly outputTokens: number },
    options: WriteOptions = {},
  ): Promise<Written> {
    const checked = {
      model: checkId('The name of a model', usage.model),
      inputTokens: checkCount('inputTokens', usage.inputTokens, Number.MAX_SAFE_INTEGER),
      outputTokens: checkCount('outputTokens', usage.outputTokens, Number.MAX_SAFE_INTEGER),
    }
    return written(await this.#handle.submit(this.#handle.terms('usage', checked, options), (full) => recordUsage(full, checked)))
  }

  async usage(): Promise<readonly Usage[]> {
    return (await this.#handle.liveState()).usage
  }

  share(options: ShareOptions = {}): Promise<Shared> {
    return share(this.#handle, options)
  }

  async unshare(share: string, options: WriteOptions = {}): Promise<Written> {
    return written(
      await this.#handle.submit(this.#handle.terms('unshare', { share }, options), (full) =>
        decide.unshare(full, checkId('The id of a share', share)),
      ),
    )
  }

  follow(options: FollowOptions = {}): AsyncGenerator<Change<M>> {
    const { held } = this.#handle
    // Asked for now: the generator runs only when somebody waits for its first change.
    const end = options.after === undefined && options.fromStart !== true ? held.replica.end() : Promise.resolve(0)
    end.catch(() => undefined)
    return typed(follow(this.#handle.parts, held, end, options))
  }

  async recordPage(options: RecordPageOptions = {}): Promise<RecordPage> {
    await this.#handle.liveState()
    const { replica, journal } = this.#handle.held
    return recordPage(journal, await replica.end(), options, replica.loss)
  }

  async damage(): Promise<DamageReport[]> {
    await this.#handle.state()
    const { journal, replica } = this.#handle.held
    return damageOf(journal, replica.loss)
  }

  acceptDamage(options: WriteOptions = {}): Promise<DamageAccepted> {
    return acceptDamage(this.#handle, options)
  }

  async info(): Promise<SessionInfo> {
    const state = await this.#handle.liveState()
    return infoOf(this.id, state, this.#handle.held.replica.damage)
  }

  async version(): Promise<string> {
    const state = await this.#handle.state()
    return state.status === 'absent' ? ABSENT_VERSION : decide.requireLive(state).version
  }

  async delete(options: WriteOptions = {}): Promise<Written> {
    return written(await this.#handle.submit(this.#handle.terms('delete', {}, options), decide.remove))
  }

  async restore(options: WriteOptions = {}): Promise<Written> {
    return written(await this.#handle.submit(this.#handle.terms('restore', {}, options), decide.restore))
  }

  /** Creates the session, or refuses with ALREADY_EXISTS. One that was deleted begins anew. @internal */
  async create(description: Description, options: { readonly key?: string } = {}): Promise<Written> {
    const session = {
      space: this.#handle.parts.space,
      session: this.id,
      ...checkCallersDescription(admit(this.#handle.parts, this.id, 'description', description)),
    }
    // Not waited for without a reason: what is submitted next must come next.
    if (this.#handle.parts.quotas !== undefined) await admitAmount(this.#handle, {})
    return written(await this.#handle.submit(this.#handle.terms('create', session, options), (full) => decide.create(full, session)))
  }
}

/** What was read, with the caller's type of its messages: a journal holds JSON, and the caller says of which type. */
function typed<T>(read: unknown): T {
  return read as T
}

/** A message that was not found may be one of those that cannot be read. */
async function refuseIfDamaged(transcript: Transcript, id: string): Promise<undefined> {
  const error = await transcript.whyUnknown(id)
  if (error !== undefined) throw error
}
