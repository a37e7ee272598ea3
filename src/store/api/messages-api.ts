/** What a session offers for its messages, in this process and at a server. */
import type { Format, WindowMessage } from '../../message/shapes.ts'
import type { WriteOptions, Written } from '../handle.ts'
import type { EraseMessageOptions } from '../lifecycle/erase.ts'
import type { Appended, AppendOptions } from '../messages/append.ts'
import type { Change, FollowOptions } from '../messages/follow.ts'
import type { ReplaceOptions } from '../messages/replace.ts'
import type { RevisionOptions, RevisionPage } from '../messages/revisions.ts'
import type { StoredMessage } from '../messages/stored-message.ts'
import type { MessageRecord, Page, PageOptions } from '../messages/transcript.ts'
import type { LastTurn, Window, WindowOptions } from '../messages/window.ts'

/** Writing, reading and following the messages of a session. */
export interface MessagesApi<M extends object> {
  /**
   * Appends one message, or several that are kept or refused together. Creates the session if there is none.
   *
   * @param message The message, or an array of 1 to 10,000 messages.
   * @param options `ids` defaults to each message's own `id`, or to a new one. `parent` defaults to the head. `key` and `expect` default to none.
   * @returns The message ids and the new version, once the messages are durable. A repeated call returns the ids of the first one.
   * @throws HoldfastError INVALID_ARGUMENT when a message is no JSON object, or two messages have the same id.
   * @throws HoldfastError INVALID_ARGUMENT when a message holds what JSON cannot: a number that is not finite, a BigInt, a function, a symbol, a Map,
   * a Set or a typed array. Fields that are `undefined` are left out, and an object with `toJSON`, such as a Date, is kept as what that returns.
   * @throws HoldfastError CONFLICT when the session was deleted, when its version is not `expect`, or when an id or the key was used with another body.
   * @throws HoldfastError NOT_FOUND when there is no message `parent`.
   * @throws HoldfastError PAYLOAD_TOO_LARGE when a message is too long, or the session has too many branches.
   * @throws HoldfastError RESOURCE_EXHAUSTED when a quota is used up.
   * @throws HoldfastError DAMAGED when messages of the session vanished. Restore it, or call `acceptDamage`.
   * @example
   * const { id } = await session.append({ role: 'user', content: 'Hello' }, { key: 'request-7' })
   */
  append(message: M | readonly M[], options?: AppendOptions): Promise<Appended>

  /**
   * Replaces the last messages in one step, if they are still the ones that you name. Nothing is destroyed: `undo` takes it back.
   *
   * @param last The last messages, as you read them. An empty array appends only.
   * @param messages The new messages. An empty array removes the last ones.
   * @param options `ids` defaults to each message's own `id`, or to a new one. `key` and `expect` default to none.
   * @returns The new version.
   * @throws HoldfastError CONFLICT when the last messages are others, or the session changed as for `append`.
   * @throws HoldfastError INVALID_ARGUMENT when both arrays are empty, or one is no array of messages.
   * @throws HoldfastError DAMAGED when a lost record may have changed the last messages.
   * @throws HoldfastError NOT_FOUND when there is no session and `last` is not empty.
   * @example
   * const draft = { role: 'assistant', content: 'Let me loook.' }
   * await session.append(draft)
   * await session.replaceTail([draft], [{ role: 'assistant', content: 'Let me look.' }])
   */
  replaceTail(last: readonly M[], messages: readonly M[], options?: WriteOptions & Pick<AppendOptions, 'ids'>): Promise<Written>

  /**
   * Gives a message other content. Its earlier content stays readable with `revisions`.
   *
   * @param options With `old`, the message must still have this content. Defaults to no condition: the last call wins.
   * @returns The new version.
   * @throws HoldfastError NOT_FOUND when there is no such session or message.
   * @throws HoldfastError CONFLICT when the message was erased, or has other content than `old`, or the session another version than `expect`.
   * @throws HoldfastError DAMAGED when the message may be one that cannot be read, or `old` is given and a lost record may have changed the message.
   * @example
   * await session.replace('m12', { role: 'user', content: 'My parcel is lost.' })
   */
  replace(id: string, message: M, options?: ReplaceOptions<M>): Promise<Written>

  /**
   * Erases a message for good: its bytes, its earlier contents, and every summary and memory made from it, here and in all forks. A marker stays in
   * its place. Copies outside the store, such as backups, are not reached.
   *
   * @returns The new version, once nothing of the message is left in the store. `duplicate` is true if it was erased before.
   * @throws HoldfastError NOT_FOUND when there is no such session or message.
   * @throws HoldfastError FAILED_PRECONDITION when the message belongs to another session, which was deleted.
   * @throws HoldfastError PERMISSION_DENIED when the message belongs to a session of another owner.
   * @throws HoldfastError CONFLICT when the session has another version than `expect`.
   * @throws HoldfastError DAMAGED when the message may be one that cannot be read.
   * @example
   * await session.erase('m12')
   */
  erase(id: string, options?: EraseMessageOptions): Promise<Written>

  /**
   * Reads a page of messages.
   *
   * @param options `limit` defaults to 100. `from` defaults to the end: the newest messages. `archived` defaults to false: live messages only.
   * @returns The messages, oldest first, whether there are more, and what cannot be read between them.
   * @throws HoldfastError NOT_FOUND when there is no such session, or no message `before`, `after` or `branch`.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000.
   * @throws HoldfastError DAMAGED when nothing of the session can be read.
   * @example
   * const { messages, more } = await session.messages({ limit: 20 })
   * for (const { id, message } of messages) console.log(id, message.role)
   */
  messages(options?: PageOptions): Promise<Page<M>>

  /**
   * Reads one message, on any branch.
   *
   * @returns The message, or undefined if there is none with this id. It has `damage` if a record that cannot be read may have changed it.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when the message cannot be read, or may be one that cannot be read.
   * @example
   * const stored = await session.message('m12')
   */
  message(id: string): Promise<StoredMessage<M> | undefined>

  /**
   * Reads the record that holds a message, as the journal has it.
   *
   * @returns The record with its session and position, or undefined if there is no message with this id.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when the message cannot be read, or may be one that cannot be read.
   * @example
   * const found = await session.record('m12')
   */
  record(id: string): Promise<MessageRecord | undefined>

  /**
   * Reads the contents that a message has had, page by page: the newest ones first.
   *
   * @param options `limit` defaults to 1000 contents. `cursor` is that of the page before, and defaults to the first page.
   * @returns A page of contents, oldest first. Empty if there is no message with this id. The last one has `damage` if a record that cannot be
   * read may have held another.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError INVALID_ARGUMENT when the limit is more than 1000, or the cursor belongs to another message.
   * @throws HoldfastError DAMAGED when the message may be one that cannot be read.
   * @example
   * const { revisions } = await session.revisions('m12')
   */
  revisions(id: string, options?: RevisionOptions): Promise<RevisionPage<M>>

  /**
   * Chooses what to send to a model: the last overview, older abstracts and the newest messages, within a budget of tokens.
   *
   * @param options `budget` defaults to 128,000 tokens. `format` defaults to the messages as you appended them. `countTokens` defaults to an
   * estimate; a server always counts itself.
   * @returns The messages in the type of the format, with summaries, what was left out and what cannot be read.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError INVALID_ARGUMENT when the budget is no whole number, or there is no such format.
   * @throws HoldfastError DAMAGED when nothing of the session can be read.
   * @throws TypeError when a store at a server is given `countTokens`.
   * @example
   * const { overview, messages } = await session.window({ budget: 8000, format: 'openai' })
   */
  window<F extends Format | undefined = undefined>(options?: WindowOptions<F>): Promise<Window<WindowMessage<M, F>>>

  /**
   * Reports how far the last turn came: complete, unanswered or interrupted, with its open tool calls.
   *
   * @returns The status of the turn, and what cannot be read of it.
   * @throws HoldfastError NOT_FOUND when there is no such session.
   * @throws HoldfastError DAMAGED when nothing of the session can be read.
   * @example
   * if ((await session.turn()).status === 'unanswered') console.log('Answer the last message.')
   */
  turn(): Promise<LastTurn>

  /**
   * Follows a session: yields each change once and in order, as it becomes durable, whichever process made it.
   *
   * @param options `after` is the cursor of a change and defaults to now. `fromStart` defaults to false. `signal` ends the iteration.
   * @returns The changes. A change of type `reset` says that some were missed: read the session again.
   * @throws HoldfastError INVALID_ARGUMENT when the cursor is none.
   * @throws HoldfastError DAMAGED when the journal of the session vanished, or belongs to another session.
   * @throws HoldfastError CLOSED when the store is closed.
   * @example
   * for await (const { type, messages } of session.follow()) {
   *   console.log(type, messages.length)
   *   break
   * }
   */
  follow(options?: FollowOptions): AsyncGenerator<Change<M>>
}
