/** Appending messages: one record for all messages of a call, which creates the session if there is none. */
import { HoldfastError } from '../../errors.ts'
import { Records } from '../../journal/records.ts'
import { estimateTokens } from '../../message/tokens.ts'
import type { KeyEntry } from '../../record/key-hash.ts'
import { LIMITS } from '../../record/limits.ts'
import { withHead } from '../../session/apply.ts'
import { invalid, objectText } from '../../session/check.ts'
import type { InheritedKey, Terms } from '../../session/command.ts'
import * as decide from '../../session/decide.ts'
import { liveAmount } from '../../session/info.ts'
import type { JsonText } from '../../session/json-text.ts'
import { type Entry, type MessagesAppended, messageId } from '../../session/records.ts'
import { START } from '../../session/state.ts'
import { Handle, type WriteOptions, type Written } from '../handle.ts'
import type { WriterParts } from '../parts.ts'
import { admitAmount, admitText } from './admission.ts'
import type { Chain } from './chain.ts'
import { entriesToPut } from './entries.ts'
import { messageIds } from './message-ids.ts'

export interface AppendOptions extends WriteOptions {
  /** Ids of the messages, in order. Defaults to each message's own `id` if it is a text, and to a new id otherwise. `new` makes new ids for all. */
  readonly ids?: readonly (string | undefined)[] | 'new'
  /** The message that these follow, or null to follow none. Defaults to the head. Another message moves the head, as `revert` does. */
  readonly parent?: string | null
  /** Data to write beside the messages: both are kept, or none. */
  readonly entries?: readonly Entry[]
  /** Of appends in progress together: none is appended after one that was refused. @internal */
  readonly chain?: Chain
}

export interface Appended extends Written {
  /** The ids of the messages, in order. */
  readonly ids: readonly string[]
  /** The id of the last message. */
  readonly id: string
  /** The number of live messages after this call. */
  readonly messageCount: number
  /** The tokens of the live messages, by estimate. */
  readonly pendingTokens: number
}

export async function append(handle: Handle<WriterParts>, message: object | readonly object[], options: AppendOptions): Promise<Appended> {
  const messages = (Array.isArray(message) ? (message as readonly unknown[]) : [message]).map((one) => admitted(handle, one))
  if (messages.length === 0 || messages.length > LIMITS.messagesPerRecord) {
    throw invalid(`One call appends 1 to ${LIMITS.messagesPerRecord} messages; got ${messages.length}.`)
  }
  const ids = messageIds(messages, options.ids)
  if (handle.parts.quotas !== undefined) {
    const bytes = messages.reduce((sum, { text }) => sum + text.length, 0)
    await admitAmount(handle, { messages: messages.length, bytes })
  }
  const tokens = messages.reduce((sum, { text }) => sum + estimateTokens(text), 0)
  const entries = options.entries === undefined || options.entries.length === 0 ? undefined : entriesToPut(handle, options.entries)
  const located = options.parent == null ? undefined : await handle.locate(options.parent)
  const point = options.parent === null ? START : located?.point
  const body = { messages, ids: ids ?? null, parent: options.parent === null ? START : (options.parent ?? null), entries }
  const terms = handle.terms('append', body, options, located)
  const link = options.chain?.link()
  const make = (full: Terms) => {
    const operation = decide.append(full, { messages, ids, tokens, parent: point, entries })
    return link === undefined ? operation : link(operation)
  }
  const { version, duplicate, placed, first, before } = await handle.submitCreating(terms, make)
  const record =
    placed === undefined
      ? await appendedIds(handle, first as KeyEntry | InheritedKey, ids)
      : messages.map((_, i) => messageId(placed.id, ids, i))
  // They are added to what was there, on the branch that they follow. Nothing is read for it: by now, no failure may be reported as one.
  const state = placed === undefined || point === undefined ? before : withHead(before, point)
  const { messageCount, pendingTokens } = liveAmount(state, placed === undefined ? undefined : { n: messages.length, t: tokens })
  return { ids: record, id: record.at(-1) as string, version, duplicate, messageCount, pendingTokens }
}

/** A message as it is written: checked, and as the opener of the store admits it. */
export function admitted({ parts, id }: Handle<WriterParts>, message: unknown): JsonText {
  return admitText(parts, id, objectText('A message', message))
}

/** The ids that the first outcome of an append had. */
async function appendedIds(handle: Handle, first: KeyEntry | InheritedKey, ids: readonly (string | null)[] | undefined): Promise<string[]> {
  if (ids?.every((id) => id !== null)) return [...ids] as string[]
  // A fork inherits the calls that appended its messages; their records are in the journal of its parent.
  const { held } = 'session' in first ? new Handle(handle.parts, first.session) : handle
  const found = await new Records(held.journal).at(first.at)
  if (found === undefined) {
    throw new HoldfastError('DAMAGED', 'The messages were appended before, but their record cannot be read. Run `holdfast doctor`.')
  }
  const { messages, ids: given } = found.record as unknown as MessagesAppended
  return messages.map((_, index) => messageId(found.record.id, given, index))
}
