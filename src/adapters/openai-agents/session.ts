/**
 * The session of `@openai/agents` on a Holdfast session: an item is a message, as it is. Nothing is ever destroyed: taking an item off,
 * clearing and rewriting move the head, in one record each, so another process sees all of a change or nothing, and `undo` returns.
 *
 * The framework is needed for its types only; methods of newer versions have more arguments behind these, which are not needed here.
 */

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type {
  AgentInputItem,
  SessionHistoryMutation,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'
import { HoldfastError } from '../../errors.ts'
import type { JsonObject } from '../../record/record.ts'
import { fromJson, toJson } from '../bytes.ts'
import {
  type AdapterSession,
  type AdapterStore,
  type DamageOptions,
  hasReason,
  ifThere,
  newestMessages,
  type OnDamage,
} from '../sessions.ts'

export interface HoldfastSessionOptions extends DamageOptions {
  /** A store that was opened, or one at a server. */
  readonly store: Pick<AdapterStore, 'session'>
  /** The id of the session; the first item creates it. */
  readonly sessionId: string
}

export class HoldfastSession implements SessionHistoryTransactionAwareSession, SessionHistoryRewriteAwareSession {
  readonly #sessionId: string
  readonly #session: AdapterSession<JsonObject>
  readonly #onDamage: OnDamage | undefined

  constructor({ store, sessionId, onDamage }: HoldfastSessionOptions) {
    this.#onDamage = onDamage
    this.#sessionId = sessionId
    this.#session = store.session(sessionId)
  }

  async getSessionId(): Promise<string> {
    return this.#sessionId
  }

  /** All items, those that a commit has archived too; the newest if a limit is told. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return []
    const messages = await newestMessages(this.#session, { onDamage: this.#onDamage, ...(limit === undefined ? {} : { limit }) })
    return messages.map(({ message }) => fromJson(message) as AgentInputItem)
  }

  /** On the disk when it resolves, all of them or none. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return
    await this.#session.append(kept(items), { ids: 'new' })
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const session = this.#session
    for (;;) {
      const [last] = await newestMessages(session, { limit: 1, onDamage: this.#onDamage })
      if (last === undefined) return undefined
      // If another process was first, the last item is another one by now.
      if (await exchanged(session, [last.message], [])) return fromJson(last.message) as AgentInputItem
    }
  }

  async clearSession(): Promise<void> {
    const session = this.#session
    await ifThere(() => session.revert({ message: null }))
  }

  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return this.clearSession()
    await this.#session.append(kept(items), { ids: 'new', parent: null })
  }

  /** Happens once under its operation id; the same id with another transaction, or another suffix, is refused with CONFLICT. */
  async applyHistoryTransaction({ operationId, transaction }: SessionHistoryTransactionArgs): Promise<void> {
    if (typeof operationId !== 'string' || operationId.trim() === '') throw invalid('The operation id must be a text that is not empty.')
    const [last, items] =
      transaction.type === 'append_items' ? [[], transaction.items] : [transaction.expectedSuffix, transaction.replacement]
    if (!Array.isArray(last) || !Array.isArray(items)) throw invalid('A transaction has arrays of items.')
    if (last.length === 0 && items.length === 0) return
    await this.#session.replaceTail(kept(last), kept(items), { ids: 'new', key: keyOf(operationId) })
  }

  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    const session = this.#session
    for (;;) {
      const items = (await newestMessages(session, { onDamage: this.#onDamage })).map(({ message }) => message)
      const mutated = mutations.reduce(mutate, items)
      const same = items.findIndex((item, index) => !isDeepStrictEqual(item, mutated[index]))
      if (same === -1) return
      if (await exchanged(session, items.slice(same), mutated.slice(same))) return
    }
  }
}

/** The first call with this id becomes the replacement; further ones go. */
function mutate(items: readonly JsonObject[], { callId, replacement }: SessionHistoryMutation): JsonObject[] {
  const isCall = ({ type, callId: id }: JsonObject): boolean => {
    return type === 'function_call' && id === callId
  }
  const first = items.findIndex(isCall)
  return items.flatMap((item, index) => (index === first ? [toJson(replacement) as JsonObject] : isCall(item) ? [] : [item]))
}

/** Whether the last messages were still these. */
async function exchanged(
  session: AdapterSession<JsonObject>,
  last: readonly JsonObject[],
  messages: readonly JsonObject[],
): Promise<boolean> {
  try {
    await session.replaceTail(last, messages, { ids: 'new' })
    return true
  } catch (error) {
    if (hasReason(error, 'other messages')) return false
    throw error
  }
}

function kept(items: readonly AgentInputItem[]): JsonObject[] {
  return items.map((item) => toJson(item) as JsonObject)
}

/** Ids of operations may be longer than keys. */
function keyOf(operationId: string): string {
  return `openai-agents:${createHash('sha256').update(operationId).digest('hex')}`
}

function invalid(message: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', message)
}
