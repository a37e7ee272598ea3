/**
 * A channel that holds messages is kept as messages of the session: a list is the branch that ends with its last message, so a list that
 * grows costs what was added to it, and one that was rewritten from some message on branches off there.
 */
import { type BaseMessage, isBaseMessage } from '@langchain/core/messages'
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import { isSame, type Plain, plainMessage, plainOf } from '../langchain/message.ts'
import { type AdapterSession, type DamageOptions, newestMessages, type OnDamage } from '../sessions.ts'

/** Lists that are remembered, of all threads. */
const REMEMBERED = 16

export interface MessageList {
  /** Of the session's messages. */
  readonly ids: readonly string[]
  /** As they were serialised. */
  readonly texts: readonly string[]
  /** What can be held against messages without serialising those. Never handed out: nobody may change it. */
  readonly plain: readonly (Plain | undefined)[]
}

export const NO_MESSAGES: MessageList = { ids: [], texts: [], plain: [] }

/** Lists by the session that holds them and their last message: a branch never changes, so what is remembered is never stale. */
export class MessageLists {
  readonly #lists = new Map<string, MessageList>()
  readonly #onDamage: OnDamage | undefined

  constructor({ onDamage }: DamageOptions = {}) {
    this.#onDamage = onDamage
  }

  async read(session: AdapterSession<object>, last: string): Promise<MessageList> {
    const known = this.#lists.get(nameOf(session, last))
    if (known !== undefined) {
      this.keep(session, known)
      return known
    }
    const messages = await newestMessages(session, { branch: last, onDamage: this.#onDamage })
    const texts = messages.map(({ message }) => JSON.stringify(message))
    const list = { ids: messages.map(({ id }) => id), texts, plain: texts.map(plainOf) }
    this.keep(session, list)
    return list
  }

  /** The list of a session that was used last: most likely what the next one begins with. */
  latest({ id }: AdapterSession<object>): MessageList {
    let latest = NO_MESSAGES
    for (const [name, list] of this.#lists) if (name.startsWith(nameOf({ id }, ''))) latest = list
    return latest
  }

  keep(session: AdapterSession<object>, list: MessageList): void {
    const last = list.ids.at(-1)
    if (last === undefined) return
    const name = nameOf(session, last)
    this.#lists.delete(name)
    this.#lists.set(name, list)
    for (const oldest of this.#lists.keys()) {
      if (this.#lists.size <= REMEMBERED) break
      this.#lists.delete(oldest)
    }
  }
}

function nameOf({ id }: Pick<AdapterSession<object>, 'id'>, last: string): string {
  return `${JSON.stringify(id)} ${last}`
}

/** Undefined if the value is no list of messages that can be kept as such. Messages that are those of the other list need not be serialised. */
export async function textsOf(serde: SerializerProtocol, value: unknown, other: MessageList): Promise<string[] | undefined> {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isBaseMessage)) return undefined
  const texts: string[] = []
  for (const [index, message] of (value as BaseMessage[]).entries()) {
    const plain = other.plain[index]
    if (plain !== undefined && isSame(message, plain)) {
      texts.push(other.texts[index] as string)
      continue
    }
    const [type, bytes] = await serde.dumpsTyped(message)
    if (type !== 'json') return undefined
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
    if (!text.startsWith('{')) return undefined
    texts.push(text)
  }
  return texts
}

/** How many messages two lists begin with in common. */
export function commonLength(a: readonly string[], b: readonly string[]): number {
  const most = Math.min(a.length, b.length)
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i
  return most
}

export async function messagesOf(serde: SerializerProtocol, texts: readonly string[]): Promise<unknown[]> {
  const messages: unknown[] = []
  for (const text of texts) messages.push(plainMessage(text) ?? (await serde.loadsTyped('json', text)))
  return messages
}
