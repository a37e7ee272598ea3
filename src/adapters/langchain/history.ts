/**
 * The chat history of LangChain: its messages are those of a session, as LangChain serialises them. Clearing moves the head and destroys
 * nothing.
 */
import { BaseListChatMessageHistory } from '@langchain/core/chat_history'
import { load } from '@langchain/core/load'
import type { BaseMessage } from '@langchain/core/messages'
import { type AdapterSession, type AdapterStore, type DamageOptions, ifThere, newestMessages, type OnDamage } from '../sessions.ts'
import { plainMessage } from './message.ts'

export interface HoldfastChatMessageHistoryOptions extends DamageOptions {
  /** A store that was opened, or one at a server. */
  readonly store: Pick<AdapterStore, 'session'>
  /** The id of the session; the first message creates it. */
  readonly sessionId: string
}

export class HoldfastChatMessageHistory extends BaseListChatMessageHistory {
  override lc_namespace = ['holdfast', 'adapters', 'langchain']
  readonly #session: AdapterSession
  readonly #onDamage: OnDamage | undefined

  constructor({ store, sessionId, onDamage }: HoldfastChatMessageHistoryOptions) {
    super()
    this.#onDamage = onDamage
    this.#session = store.session(sessionId)
  }

  async getMessages(): Promise<BaseMessage[]> {
    const texts = (await newestMessages(this.#session, { onDamage: this.#onDamage })).map(({ message }) => JSON.stringify(message))
    return Promise.all(texts.map((text) => plainMessage(text) ?? load<BaseMessage>(text)))
  }

  async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message])
  }

  /** On the disk when it resolves, all of them or none. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    if (messages.length === 0) return
    await this.#session.append(messages, { ids: 'new' })
  }

  override async clear(): Promise<void> {
    const session = this.#session
    await ifThere(() => session.revert({ message: null }))
  }
}
