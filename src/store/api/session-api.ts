/** What a session offers, in this process and at a server. Both classes implement it, and its comments describe both. */
import type { Message } from '../../message/shapes.ts'
import type { SessionInfo } from '../../session/info.ts'
import type { Usage } from '../../session/state.ts'
import type { DamageAccepted } from '../damage/accept-damage.ts'
import type { DamageReport } from '../damage/damage.ts'
import type { WriteOptions, Written } from '../handle.ts'
import type { RecordPage, RecordPageOptions } from '../messages/record-page.ts'
import type { Shared, ShareOptions } from '../sharing/shares.ts'
import type { ArchiveInfo, ArchivePageOptions, CommitOptions, WholeArchive } from '../task-info.ts'
import type { BranchesApi, DescriptionApi, ForksApi } from './branches-api.ts'
import type { MessagesApi } from './messages-api.ts'
import type { CommittedApi } from './task-api.ts'

/** Archiving messages, and counting what models took. */
export interface ArchivesApi<M extends object> {
  /**
   * Moves live messages into a new archive and returns at once. A worker makes the summary later. No other commit can take the same messages.
   *
   * @param options `keep` messages or `keepTurns` turns stay live. Both default to none. `tokenBudget` bounds `keepTurns`.
   * @returns The task of the new archive, or why there was nothing to archive.
   * @throws HoldfastError INVALID_ARGUMENT when both `keep` and `keepTurns` are given, or one is no count.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the session has too many archives.
   * @example
   * const committed = await session.commit({ keep: 10 })
   * console.log(committed.status)
   */
  commit(options?: CommitOptions): Promise<CommittedApi>

  /**
   * Lists the archives of the session.
   *
   * @returns Every archive without its messages, the first one first.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @example
   * for (const { number, abstract } of await session.archives()) console.log(number, abstract)
   */
  archives(): Promise<ArchiveInfo[]>

  /**
   * Reads one archive with its messages, page by page.
   *
   * @param options `limit` defaults to 1000 messages. `cursor` is that of the page before, and defaults to the first page.
   * @returns The archive with a page of its messages, or undefined if there is none with this number. Its `cursor` is null on the last page.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000, or the cursor belongs to another archive.
   * @example
   * const messages = (await session.archive(1))?.messages ?? []
   */
  archive(number: number, options?: ArchivePageOptions): Promise<WholeArchive<M> | undefined>

  /**
   * Takes back what an archive added to the memories.
   *
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session or archive.
   * @throws HoldfastError CONFLICT when the archive has no summary yet, or the session another version than `expect`.
   * @example
   * await session.retractMemories(1)
   */
  retractMemories(archive: number, options?: WriteOptions): Promise<Written>

  /**
   * Adds the tokens that a call to a model took.
   *
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError INVALID_ARGUMENT when a count is no whole number.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the session has too many models.
   * @example
   * await session.recordUsage({ model: 'gpt-5', inputTokens: 1200, outputTokens: 80 }, { key: 'response-7' })
   */
  recordUsage(
    usage: { readonly model: string; readonly inputTokens: number; readonly outputTokens: number },
    options?: WriteOptions,
  ): Promise<Written>

  /**
   * Reports the tokens that calls to models took so far.
   *
   * @returns One row for each model.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @example
   * const tokens = (await session.usage()).reduce((sum, { inputTokens }) => sum + inputTokens, 0)
   */
  usage(): Promise<readonly Usage[]>
}

/** Sharing a session, its state, its damage, and its end. */
export interface LifecycleApi {
  /**
   * Creates a share token: its holder can read this session as it is now. Only a digest of the token is kept, so it is returned once.
   *
   * @param options `expiresAt` defaults to no end. `redact` defaults to false.
   * @returns The token, and the id of the share for `unshare`.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError CONFLICT when the session has another version than `expect`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when the session has too many shares.
   * @example
   * const { token } = await session.share({ expiresAt: new Date(Date.now() + 86_400_000), redact: true })
   */
  share(options?: ShareOptions): Promise<Shared>

  /**
   * Revokes a share. Its token opens nothing from then.
   *
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session or share.
   * @throws HoldfastError CONFLICT when the session was deleted, or its version is not `expect`.
   * @example
   * const { share } = await session.share()
   * await session.unshare(share)
   */
  unshare(share: string, options?: WriteOptions): Promise<Written>

  /**
   * Reads the records of the journal, the last one first.
   *
   * @param options `before` is a position and defaults to the end. `limit` defaults to 100. `messages` defaults to true.
   * @returns The records, the position to continue before, and what cannot be read between them.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000.
   * @example
   * const { records } = await session.recordPage({ limit: 20, messages: false })
   */
  recordPage(options?: RecordPageOptions): Promise<RecordPage>

  /**
   * Reads the whole journal of the session and reports what cannot be read.
   *
   * @returns The damaged places. Empty if there is no damage.
   * @throws HoldfastError UNREADABLE when the key of the session is missing.
   * @example
   * for (const place of await session.damage()) console.log(place)
   */
  damage(): Promise<DamageReport[]>

  /**
   * Lets a session continue after bytes vanished. Reads keep reporting the loss, as accepted, and appends work again. Restore the session from a
   * backup first if you have one, because a later restore is refused. Does nothing if there is no damage.
   *
   * @returns The version, and every loss that was accepted so far.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when its files belong to another session.
   * @throws HoldfastError CONFLICT when the session has another version than `expect`.
   * @example
   * const { accepted } = await session.acceptDamage()
   */
  acceptDamage(options?: WriteOptions): Promise<DamageAccepted>

  /**
   * Reads everything about the session except its messages.
   *
   * @returns Title, tags, owner, counts, status, version and more.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when nothing of the session can be read.
   * @example
   * const { title, messageCount } = await session.info()
   */
  info(): Promise<SessionInfo>

  /**
   * Reads the version. It changes with every change that a caller makes, and with nothing that Holdfast does in the background.
   *
   * @returns The version for `expect`. A session that does not exist has a version, too.
   * @throws HoldfastError NOT_FOUND when the session was deleted.
   * @example
   * const version = await session.version()
   * await session.append({ role: 'user', content: 'Hello' }, { expect: version })
   */
  version(): Promise<string>

  /**
   * Deletes the session. You can restore it until it is purged. Appends to it are refused.
   *
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session, or it was deleted before.
   * @throws HoldfastError CONFLICT when the session has another version than `expect`.
   * @example
   * await session.delete()
   */
  delete(options?: WriteOptions): Promise<Written>

  /**
   * Restores a deleted session.
   *
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session, or it was purged.
   * @throws HoldfastError CONFLICT when the session is not deleted, or has another version than `expect`.
   * @example
   * await session.delete()
   * await session.restore()
   */
  restore(options?: WriteOptions): Promise<Written>
}

/**
 * One session, in this process or at a server.
 *
 * A call that writes resolves once the change is durable. Each takes an idempotency key, `key`: a repeated call with the same key changes nothing
 * and returns the first result. Each takes `expect`, the version that the session must still have.
 *
 * Beside the errors that a method lists, every call can throw CLOSED when the store is closed, UNAVAILABLE when the disk, the database or the server
 * does not answer, and UNREADABLE when the key of the session is missing. A call that writes can throw NO_SPACE.
 */
export interface SessionApi<M extends object = Message>
  extends MessagesApi<M>,
    DescriptionApi,
    BranchesApi,
    ForksApi<SessionApi<M>>,
    ArchivesApi<M>,
    LifecycleApi {
  readonly id: string
}
