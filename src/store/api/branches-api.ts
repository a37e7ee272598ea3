/** What a session offers for its description, its entries, its branches and its forks, in this process and at a server. */
import type { RevertTarget } from '../../session/decide.ts'
import type { Description, Entry } from '../../session/records.ts'
import type { WriteOptions, Written } from '../handle.ts'
import type { EntryPage, EntryPageOptions, StoredEntry } from '../messages/entries.ts'
import type { TreeOptions, TreePage } from '../tree.ts'

/** The title, tags, owner and other fields of a session. Null removes a value. `metadata` and `policies` are patched field by field. */
export interface DescribeOptions extends Description {
  /** Tags to add to those that the session has. */
  readonly addTags?: readonly string[]
  /** Tags to remove. */
  readonly removeTags?: readonly string[]
}

export interface ForkOptions extends Description {
  /** The message that the fork ends with. Defaults to the head. */
  readonly at?: string
  /** The id of the new session. Defaults to a new one, or to one that is derived from `key`. */
  readonly id?: string
  /** The idempotency key: a repeated call returns the same fork. */
  readonly key?: string
  /** The version that this session must still have. */
  readonly expect?: string
  /** When it was made, for a fork that is imported. @internal */
  readonly when?: string
}

/** Describing a session, and keeping data beside its messages. */
export interface DescriptionApi {
  /**
   * Changes the title, tags, owner, workspace, metadata or policies. Cannot touch a message.
   *
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError INVALID_ARGUMENT when a field has the wrong type or is too long.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the session would have too many tags or too much metadata.
   * @example
   * await session.describe({ title: 'Lost parcel', addTags: ['refund'] })
   */
  describe(description: DescribeOptions, options?: WriteOptions): Promise<Written>

  /**
   * Writes data beside the messages: all entries or none. An entry without a value is removed. Creates the session if there is none.
   *
   * @returns The new version.
   * @throws HoldfastError INVALID_ARGUMENT when there are no entries or more than 10,000, or a name is empty or too long.
   * @throws HoldfastError CONFLICT when the session was deleted, its version is not `expect`, or the key was used with other entries.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when a value is too long, or the session has too many channels.
   * @throws HoldfastError RESOURCE_EXHAUSTED when a quota is used up.
   * @example
   * await session.putEntries([{ channel: 'state', key: 'step', value: 3 }])
   */
  putEntries(entries: readonly Entry[], options?: WriteOptions): Promise<Written>

  /**
   * Reads the last value of an entry.
   *
   * @returns The entry, or undefined if there is none. It has `damage` if a record that cannot be read may have changed it.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when the entry cannot be read, or may be one that cannot be read.
   * @example
   * const step = (await session.entry('state', 'step'))?.value
   */
  entry(channel: string, key: string): Promise<StoredEntry | undefined>

  /**
   * Reads the last value of every entry of a channel.
   *
   * @returns The entries, the newest first. An entry has `damage` if something cannot be read between it and the one before it.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when none is found, and a record that cannot be read may have held one.
   * @example
   * for await (const { key, value } of session.entries('state')) console.log(key, value)
   */
  entries(channel: string): AsyncGenerator<StoredEntry>

  /**
   * Reads the last values of the entries of a channel, page by page.
   *
   * @param options `limit` defaults to 1000 entries. `cursor` is that of the page before, and defaults to the first page.
   * @returns A page of entries, the newest first, with damage as in `entries`.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000, or the cursor belongs to another channel.
   * @throws HoldfastError DAMAGED when none is found, and a record that cannot be read may have held one.
   * @example
   * const { entries, cursor } = await session.entryPage('state', { limit: 20 })
   */
  entryPage(channel: string, options?: EntryPageOptions): Promise<EntryPage>
}

/** Moving the head of a session, and reading its family. */
export interface BranchesApi {
  /**
   * Gives a name to the head, or to another message, so that `revert` finds it. A name that you use again moves there.
   *
   * @param options `at` is a message id and defaults to the head.
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session or message.
   * @throws HoldfastError CONFLICT when the name is the id of a message, the session was deleted, or its version is not `expect`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the session has too many snapshots.
   * @example
   * await session.snapshot('before-tools')
   */
  snapshot(name: string, options?: WriteOptions & { readonly at?: string }): Promise<Written>

  /**
   * Moves the head to a message or a snapshot, on this branch or another: the next message follows it. `{ message: null }` is the place before the
   * first message. Nothing is destroyed: `undo` takes it back.
   *
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session, message or snapshot.
   * @throws HoldfastError INVALID_ARGUMENT when the target names neither a message nor a snapshot, or both.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @throws HoldfastError DAMAGED when the message may be one that cannot be read.
   * @example
   * await session.snapshot('before-tools')
   * await session.revert({ snapshot: 'before-tools' })
   */
  revert(to: RevertTarget, options?: WriteOptions): Promise<Written>

  /**
   * Takes back the last `revert` or `replaceTail` that was not taken back.
   *
   * @returns The new version.
   * @throws HoldfastError FAILED_PRECONDITION when there is nothing to take back.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @example
   * await session.revert({ message: null })
   * await session.undo()
   */
  undo(options?: WriteOptions): Promise<Written>

  /**
   * Reads this session with its forks and children, and theirs, page by page. A page is a tree. On a later page, its root is the session whose
   * children continue; it was on an earlier page, so it is marked as `continued`.
   *
   * @param options `limit` defaults to 1000 sessions. `cursor` is that of the page before, and defaults to the first page.
   * @returns The page, with the cursor of the next one, which is null on the last page. A session that cannot be read is in it, with its status.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when nothing of this session can be read.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000, or the cursor belongs to another tree or no longer fits.
   * @example
   * const { children, cursor } = await session.tree()
   */
  tree(options?: TreeOptions): Promise<TreePage>
}

/** Making sessions from a session of type `S`. */
export interface ForksApi<S> {
  /**
   * Creates a session that begins with the messages of this one. The fork shares them, copies nothing, and continues on its own.
   *
   * @param options `at` defaults to the head. `id` defaults to a new one. The description defaults to that of this session.
   * @returns The fork.
   * @throws HoldfastError NOT_FOUND when there is no such session or message.
   * @throws HoldfastError ALREADY_EXISTS when there is a session with the id of the fork.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the session has too many forks.
   * @throws HoldfastError RESOURCE_EXHAUSTED when a quota is used up.
   * @example
   * const fork = await session.fork({ title: 'Another answer' })
   */
  fork(options?: ForkOptions): Promise<S>

  /**
   * Creates the session of a sub-agent: it names this session as its parent and begins without messages.
   *
   * @param options `id` defaults to a new one. Owner and workspace default to those of this session.
   * @returns The child.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError ALREADY_EXISTS when there is a session with the id of the child.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the session has too many forks and children.
   * @throws HoldfastError RESOURCE_EXHAUSTED when a quota is used up.
   * @example
   * const child = await session.child({ title: 'Look up the carrier' })
   */
  child(options?: Omit<ForkOptions, 'at'>): Promise<S>
}
