/**
 * One session, as its users have it. A handle is cheap and holds nothing: all handles on one session share what the store keeps of it.
 * Every call that changes something resolves once it is durable. It may carry `key`: the call repeated under the same key changes
 * nothing and is answered with the first outcome; and `expect`, a version that the session must still have, or CONFLICT.
 */

import { HoldfastError } from '../errors.ts'
import { Records } from '../journal/records.ts'
import { estimateTokens } from '../message/tokens.ts'
import type { KeyEntry } from '../record/key-hash.ts'
import { LIMITS } from '../record/limits.ts'
import { retract } from '../session/archives.ts'
import { checkCount, checkDescription, checkId, checkRevertTarget, copyObject, invalid, objectText } from '../session/check.ts'
import type { InheritedKey, Outcome, Terms } from '../session/command.ts'
import * as decide from '../session/decide.ts'
import { withHead } from '../session/fold.ts'
import { infoOf, liveAmount, type SessionInfo } from '../session/info.ts'
import { digestOf, type JsonText } from '../session/json-text.ts'
import { inheritedFrom } from '../session/lineage.ts'
import { type Description, type Entry, type MessagesAppended, messageId } from '../session/records.ts'
import { ABSENT_VERSION, START, type Usage } from '../session/state.ts'
import { recordUsage } from '../session/usage.ts'
import { acceptDamage, type DamageAccepted } from './damage/accept-damage.ts'
import { type DamageReport, damageOf } from './damage/damage.ts'
import { createFork, type TreeNode, treeOf } from './family.ts'
import { Handle, noMessage, type WriteOptions, type Written, written } from './handle.ts'
import { type EraseMessageOptions, erase } from './lifecycle/erase.ts'
import { admit, admitAmount, admitText } from './messages/admission.ts'
import type { Chain } from './messages/chain.ts'
import { entriesToPut, putEntries, readEntries, readEntry, type StoredEntry } from './messages/entries.ts'
import { type Change, type FollowOptions, follow } from './messages/follow.ts'
import { idsOf } from './messages/message-ids.ts'
import { recall } from './messages/recall.ts'
import { type RecordPage, type RecordPageOptions, recordPage } from './messages/record-page.ts'
import { replaceTail } from './messages/replace-tail.ts'
import type { StoredMessage } from './messages/stored-message.ts'
import { type MessageRecord, type Page, type PageOptions, Transcript } from './messages/transcript.ts'
import { type LastTurn, turnOf, type Window, type WindowOptions, windowOf } from './messages/window.ts'
import type { StoreParts } from './parts.ts'
import { type Shared, type ShareOptions, share } from './sharing/shares.ts'
import { type ArchiveInfo, archiveInfo, type CommitOptions, type Committed, commit, type WholeArchive, wholeArchive } from './tasks.ts'

export interface AppendOptions extends WriteOptions {
  /** Ids of the messages, in order. Otherwise a message's own `id`, if it is a text; otherwise, or with `new`, one is made. */
  readonly ids?: readonly (string | undefined)[] | 'new'
  /** The message that these follow; the head unless told; null for none. Another one moves the head, as `revert` does. */
  readonly parent?: string | null
  /** Data to put beside the messages: all of it is kept, or none, together with them. */
  readonly entries?: readonly Entry[]
  /** Of messages that are under way together: none is appended behind one that was refused. @internal */
  readonly chain?: Chain
}

export interface Appended extends Written {
  readonly ids: readonly string[]
  /** Of the last message. */
  readonly id: string
  /** Live messages by now, and their tokens by estimate. */
  readonly messageCount: number
  readonly pendingTokens: number
}

/** What a session is called and whom it belongs to. Null takes a value away; `metadata` and `policies` are patched, field by field. */
export interface DescribeOptions extends Description {
  readonly addTags?: readonly string[]
  readonly removeTags?: readonly string[]
}

export interface ForkOptions extends Description {
  /** The message that the fork ends with; the head unless told. */
  readonly at?: string
  /** The id of the new session. */
  readonly id?: string
  readonly key?: string
  /** The version that this session must still have. */
  readonly expect?: string
  /** When it happened, of one that is imported. @internal */
  readonly when?: string
}

/**
 * One session. `store.session(id)` returns it.
 * @example await store.session('support-42').append({ role: 'user', content: 'Hello' })
 */
export class Session {
  readonly #handle: Handle

  /** @internal */
  constructor(parts: StoreParts, id: string) {
    this.#handle = new Handle(parts, id)
  }

  get id(): string {
    return this.#handle.id
  }

  /** Appends one message, or several that are kept or refused together. Creates the session if there is none. */
  async append(message: object | readonly object[], options: AppendOptions = {}): Promise<Appended> {
    const messages = (Array.isArray(message) ? (message as readonly unknown[]) : [message]).map((one) => this.#admitted(one))
    if (messages.length === 0 || messages.length > LIMITS.messagesPerRecord) {
      throw invalid(`One call appends 1 to ${LIMITS.messagesPerRecord} messages; got ${messages.length}.`)
    }
    const ids = idsOf(messages, options.ids)
    if (this.#handle.parts.quotas !== undefined) {
      const bytes = messages.reduce((sum, { text }) => sum + text.length, 0)
      await admitAmount(this.#handle, { messages: messages.length, bytes })
    }
    const tokens = messages.reduce((sum, { text }) => sum + estimateTokens(text), 0)
    const entries = options.entries === undefined || options.entries.length === 0 ? undefined : entriesToPut(this.#handle, options.entries)
    const located = options.parent == null ? undefined : await this.#handle.locate(options.parent)
    const point = options.parent === null ? START : located?.point
    const body = { messages, ids: ids ?? null, parent: options.parent === null ? START : (options.parent ?? null), entries }
    const terms = this.#handle.terms('append', body, options, located)
    const link = options.chain?.link()
    const make = (full: Terms) => {
      const operation = decide.append(full, { messages, ids, tokens, parent: point, entries })
      return link === undefined ? operation : link(operation)
    }
    const { version, duplicate, placed, first, before } = await this.#handle.submitCreating(terms, make)
    const record =
      placed === undefined
        ? await this.#appendedIds(first as KeyEntry | InheritedKey, ids)
        : messages.map((_, i) => messageId(placed.id, ids, i))
    // They are added to what was there, on the branch that they follow. Nothing is read for it: by now, no failure may be told as one.
    const state = placed === undefined || point === undefined ? before : withHead(before, point)
    const { messageCount, pendingTokens } = liveAmount(state, placed === undefined ? undefined : { n: messages.length, t: tokens })
    return { ids: record, id: record.at(-1) as string, version, duplicate, messageCount, pendingTokens }
  }

  /**
   * Puts messages in place of the last ones, if those are still `last`, in one record; none instead takes them off. Refused with CONFLICT
   * otherwise. Nothing is destroyed, and `undo` returns.
   */
  async replaceTail(
    last: readonly object[],
    messages: readonly object[],
    options: WriteOptions & Pick<AppendOptions, 'ids'> = {},
  ): Promise<Written> {
    if (!Array.isArray(last) || !Array.isArray(messages))
      throw invalid('replaceTail takes two arrays of messages: the last ones as they were read, and the new ones.')
    const texts = messages.map((one) => this.#admitted(one))
    // What somebody said last was written as the opener admitted it.
    const expected = last.map((one) => this.#admitted(one))
    return replaceTail(this.#handle, { last: expected, messages: texts, ids: idsOf(texts, options.ids) }, options)
  }

  #admitted(message: unknown): JsonText {
    return admitText(this.#handle.parts, this.id, objectText('A message', message))
  }

  /** Gives a message other content. What it was stays readable: `revisions`. `old`: refused unless this is still its content. */
  async replace(id: string, message: object, options: WriteOptions & { readonly old?: object } = {}): Promise<Written> {
    const copy = copyObject('A message', admit(this.#handle.parts, this.id, 'message', copyObject('A message', message)))
    const expected = options.old === undefined ? undefined : objectText('The old message', options.old).digest
    if (this.#handle.parts.quotas !== undefined) await admitAmount(this.#handle, { bytes: JSON.stringify(copy).length })
    for (;;) {
      const transcript = await this.#handle.transcript()
      const newest = await transcript.newest(checkId('The message id', id))
      if (newest === undefined) throw (await transcript.whyUnknown(id)) ?? noMessage(id)
      if (newest.erased) throw erased(id)
      const terms = this.#handle.terms('replace', { id, message: copy }, options, newest.located)
      const { message: content, prior } = newest
      const replacement = { target: id, message: copy, old: digestOf(content), prior, expected }
      try {
        return written(await this.#handle.submit(terms, (full) => decide.replace(full, replacement)))
      } catch (error) {
        // Somebody else replaced it meanwhile: unless the caller cares, the later one counts.
        if (options.expect !== undefined || !isReplacedMeanwhile(error)) throw error
      }
    }
  }

  /**
   * Erases a message for good: its bytes, everything that it was before, and every summary and memory that was made from it, here and in all
   * forks. Its place stays, with a marker. When it resolves, nothing of it is left in the store; copies elsewhere, such as backups, are not reached.
   */
  erase(id: string, options: EraseMessageOptions = {}): Promise<Written> {
    return erase(this.#handle, checkId('The message id', id), options)
  }

  /** A page of messages, oldest first: the newest live ones unless told. */
  async messages(options: PageOptions = {}): Promise<Page> {
    if (options.limit !== undefined) checkCount('The limit', options.limit, LIMITS.pageMessages)
    return (await this.#handle.transcript()).page(options)
  }

  /** One message, on any branch; undefined if there is none. DAMAGED if it cannot be read, or may be one of those that cannot be. */
  async message(id: string): Promise<StoredMessage | undefined> {
    const transcript = await this.#handle.transcript()
    return (await transcript.message(checkId('The message id', id))) ?? refuseIfDamaged(transcript, id)
  }

  /** The record that holds a message, as it stands in its journal; undefined if there is no such message. */
  async record(id: string): Promise<MessageRecord | undefined> {
    const transcript = await this.#handle.transcript()
    return (await transcript.record(checkId('The message id', id))) ?? refuseIfDamaged(transcript, id)
  }

  /** Every content that a message has had, the first one first. */
  async revisions(id: string): Promise<StoredMessage[]> {
    const transcript = await this.#handle.transcript()
    const revisions = await transcript.revisions(checkId('The message id', id))
    if (revisions.length === 0) await refuseIfDamaged(transcript, id)
    return revisions
  }

  /** Puts data beside the messages, all entries or none. An entry without a value is removed. Creates the session if there is none. */
  putEntries(entries: readonly Entry[], options: WriteOptions = {}): Promise<Written> {
    return putEntries(this.#handle, entries, options)
  }

  /** The last value of an entry; undefined if there is none. */
  entry(channel: string, key: string): Promise<StoredEntry | undefined> {
    return readEntry(this.#handle, channel, key)
  }

  /** The entries of a channel with their last values, the newest first. */
  entries(channel: string): AsyncGenerator<StoredEntry> {
    return readEntries(this.#handle, channel)
  }

  /** Title, tags, owner, workspace, metadata, policies. Cannot touch a message. */
  async describe(description: DescribeOptions, options: WriteOptions = {}): Promise<Written> {
    const checked = checkDescription(admit(this.#handle.parts, this.id, 'description', description))
    return written(await this.#handle.submit(this.#handle.terms('describe', checked, options), (full) => decide.describe(full, checked)))
  }

  /** Names the head, or the message given, so that `revert` finds it. A name that is used again names the new place. */
  async snapshot(name: string, options: WriteOptions & { readonly at?: string } = {}): Promise<Written> {
    checkId('The name of a snapshot', name)
    const at = options.at === undefined ? undefined : await this.#handle.locate(options.at)
    const terms = this.#handle.terms('snapshot', { name, at: options.at ?? null }, options, at)
    return written(await this.#handle.submit(terms, (full) => decide.snapshot(full, name, at?.point)))
  }

  /**
   * Goes to a message or a snapshot, on this branch or another: the next message follows it. The message null goes before the first message. Nothing is
   * destroyed, and `undo` returns.
   *
   * @example await session.revert({ message: 'm12' })
   * @example await session.revert({ snapshot: 'before-tools' })
   * @throws NOT_FOUND if there is no such message or snapshot.
   */
  async revert(to: decide.RevertTarget, options: WriteOptions = {}): Promise<Written> {
    const target = checkRevertTarget(to)
    const transcript = await this.#handle.transcript()
    const message = 'snapshot' in to ? null : to.message
    const located = message === null ? undefined : ((await transcript.locate(message)) ?? (await refuseIfDamaged(transcript, message)))
    const terms = this.#handle.terms('revert', { target }, options, located)
    return written(await this.#handle.submit(terms, (full) => decide.revert(full, to, target === null ? START : located?.point)))
  }

  /** Takes back the last `revert` that was not taken back. */
  async undo(options: WriteOptions = {}): Promise<Written> {
    return written(await this.#handle.submit(this.#handle.terms('undo', {}, options), decide.undo))
  }

  /** A session that begins with this one's messages. Shares them, copies nothing, and goes its own way. */
  async fork(options: ForkOptions = {}): Promise<Session> {
    const { at, id, key, expect, when, ...description } = options
    const located = at === undefined ? undefined : await this.#handle.locate(at)
    const inherit = ({ before }: Outcome): object => {
      const { title, tags, owner, workspace, metadata, policies } = before
      return { title, tags, owner, workspace, metadata, policies, ...inheritedFrom(this.id, before, located?.point ?? before.head) }
    }
    const wanted = { kind: 'fork', id, key, expect, when, message: at ?? null, born: located?.born, description, inherit } as const
    return new Session(this.#handle.parts, await createFork(this.#handle, wanted))
  }

  /** The session of a sub-agent: it knows whose child it is, and begins with nothing. */
  async child(options: Omit<ForkOptions, 'at'> = {}): Promise<Session> {
    const { id, key, expect, when, ...description } = options
    const inherit = ({ before: { owner, workspace } }: Outcome): object => ({ owner, workspace })
    const wanted = { kind: 'child', id, key, expect, when, message: null, born: undefined, description, inherit } as const
    return new Session(this.#handle.parts, await createFork(this.#handle, wanted))
  }

  /** This session with its forks and children, and theirs. */
  tree(): Promise<TreeNode> {
    return treeOf(this.#handle)
  }

  /**
   * Moves what is live, but for what is to be kept, into a new archive, and returns at once: a worker makes its summary. From now on no
   * other commit can take those messages.
   */
  commit(options: CommitOptions = {}): Promise<Committed> {
    return commit(this.#handle, options)
  }

  /** Every archive, the first one first. */
  async archives(): Promise<ArchiveInfo[]> {
    const transcript = await this.#handle.transcript()
    const { archives } = await this.#handle.liveState()
    return Promise.all(archives.map((archive) => archiveInfo(this.id, archive, transcript)))
  }

  /** One archive with its messages; undefined if there is none of that number. */
  async archive(number: number): Promise<WholeArchive | undefined> {
    const archive = (await this.#handle.liveState()).archives.find((one) => one.number === number)
    return archive === undefined ? undefined : wholeArchive(this.id, archive, await this.#handle.transcript())
  }

  /** Takes back what an archive added to the memories. */
  async retractMemories(archive: number, options: WriteOptions = {}): Promise<Written> {
    const terms = this.#handle.terms('retract', { archive }, options)
    return written(await this.#handle.submit(terms, (full) => retract(full, archive)))
  }

  /** What to send to a model: the last overview, older abstracts, and the newest messages, within a budget of tokens. */
  async window(options: WindowOptions = {}): Promise<Window> {
    const state = await this.#handle.liveState()
    const { parts } = this.#handle
    const transcript = new Transcript(parts, this.id, state)
    return windowOf(this.id, state, transcript, (query, of) => recall(parts, query, this.id, state, transcript, of), options)
  }

  /** Whether the last turn is complete, unanswered or interrupted, with its open tool calls. */
  async turn(): Promise<LastTurn> {
    const state = await this.#handle.liveState()
    return turnOf(state, new Transcript(this.#handle.parts, this.id, state))
  }

  /** Adds what a call to a model took. */
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

  /** What calls to models took so far, by model. */
  async usage(): Promise<readonly Usage[]> {
    return (await this.#handle.liveState()).usage
  }

  /** Lets whoever has the token read this session as it is now. Tells the token once; only a digest of it is kept. */
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

  /** Every change from this call on, or behind a cursor, by whichever process; none is missed and none comes twice. */
  follow(options: FollowOptions = {}): AsyncGenerator<Change> {
    const { held } = this.#handle
    // Asked for now: the generator runs only when somebody waits for its first change.
    const end = options.after === undefined && options.fromStart !== true ? held.replica.end() : Promise.resolve(0)
    end.catch(() => undefined)
    return follow(this.#handle.parts, held, end, options)
  }

  /** What happened to this session, the last thing first, as its journal has it. */
  async recordPage(options: RecordPageOptions = {}): Promise<RecordPage> {
    await this.#handle.liveState()
    const { replica, journal } = this.#handle.held
    return recordPage(journal, await replica.end(), options, replica.loss)
  }

  /** What cannot be read in this session's journal, and where. Reads all of it. */
  async damage(): Promise<DamageReport[]> {
    await this.#handle.state()
    const { journal, replica } = this.#handle.held
    return damageOf(journal, replica.loss)
  }

  /**
   * Lets a session continue whose bytes vanished: reads keep reporting the gap, as accepted, and appends work again. Does nothing where nothing
   * vanished, so it can be repeated. Restore the session from a backup first if there is one: what is restored later is refused.
   *
   * @throws HoldfastError NOT_FOUND when there is no such session; DAMAGED when its files belong to another session; CONFLICT when the session
   * no longer has the version that `expect` names.
   */
  acceptDamage(options: WriteOptions = {}): Promise<DamageAccepted> {
    return acceptDamage(this.#handle, options)
  }

  /** What there is to know of the session but for its messages. */
  async info(): Promise<SessionInfo> {
    const state = await this.#handle.liveState()
    return infoOf(this.id, state, this.#handle.held.replica.damage)
  }

  /** Changes with everything that a caller changes, and with nothing that happens in the background. */
  async version(): Promise<string> {
    const state = await this.#handle.state()
    return state.status === 'absent' ? ABSENT_VERSION : decide.requireLive(state).version
  }

  /** It can be restored until it is purged. Whoever still writes to it is refused. */
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
      ...checkDescription(admit(this.#handle.parts, this.id, 'description', description)),
    }
    // Not waited for without a reason: what is submitted next must come next.
    if (this.#handle.parts.quotas !== undefined) await admitAmount(this.#handle, {})
    return written(await this.#handle.submit(this.#handle.terms('create', session, options), (full) => decide.create(full, session)))
  }

  /** The ids that the first outcome of an append had. */
  async #appendedIds(first: KeyEntry | InheritedKey, ids: readonly (string | null)[] | undefined): Promise<string[]> {
    if (ids?.every((id) => id !== null)) return [...ids] as string[]
    // A fork inherits the calls that appended its messages; they stand where those stand.
    const { held } = 'session' in first ? new Handle(this.#handle.parts, first.session) : this.#handle
    const found = await new Records(held.journal).at(first.at)
    if (found === undefined) {
      throw new HoldfastError('DAMAGED', 'The messages were appended before, but their record cannot be read. Run `holdfast doctor`.')
    }
    const { messages, ids: given } = found.record as unknown as MessagesAppended
    return messages.map((_, index) => messageId(found.record.id, given, index))
  }
}

/** A message that was not found may be one of those that cannot be read. */
async function refuseIfDamaged(transcript: Transcript, id: string): Promise<undefined> {
  const error = await transcript.whyUnknown(id)
  if (error !== undefined) throw error
}

function erased(id: string): HoldfastError {
  return new HoldfastError('CONFLICT', `The message "${id}" was erased. It cannot be given content again.`, {
    details: { reason: 'erased', message_id: id },
  })
}

function isReplacedMeanwhile(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === 'CONFLICT' && error.details.reason === 'replaced meanwhile'
}
