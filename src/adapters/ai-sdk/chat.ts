/**
 * A chat of the AI SDK: its UI messages are the messages of a session, under their own ids. A message that grows (tools that the client
 * runs, approvals) is replaced, and what it was stays readable.
 *
 * `respond` makes an answer that no closed tab and no restarted browser can lose: its chunks are logged as they are sent, `resume` sends them
 * again, and whether or not anybody listens it goes on to its end, or to `stop`, and is kept.
 */

import { isDeepStrictEqual } from 'node:util'
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import type { StoredMessage } from '../../store/messages/stored-message.ts'
import { type AdapterSession, type AdapterStore, type DamageOptions, newestMessages, type OnDamage } from '../sessions.ts'
import { StreamLog } from './stream-log.ts'

export interface HoldfastChatOptions extends DamageOptions {
  /** A store that was opened, or one at a server. */
  readonly store: AdapterStore
  /** The id of the chat, and of the session that keeps it. */
  readonly chatId: string
}

export interface RespondOptions<M extends UIMessage> {
  /** What the client sent: a new message, or its last one with outputs of tools or approvals in it. */
  readonly message: M
  /** Makes the answer to all messages so far, such as `streamText({ …, abortSignal }).toUIMessageStream()`. */
  readonly execute: (given: {
    messages: M[]
    abortSignal: AbortSignal
  }) => ReadableStream<UIMessageChunk> | Promise<ReadableStream<UIMessageChunk>>
  /** Makes the id of an answer that brings none. */
  readonly generateId?: () => string
  /** Told why an answer broke off, or could not be kept. What was sent by then is in the log. */
  readonly onError?: (error: unknown) => void
}

export class HoldfastChat<M extends UIMessage = UIMessage> {
  readonly #session: AdapterSession<M>
  readonly #log: StreamLog
  readonly #onDamage: OnDamage | undefined

  constructor({ store, chatId, onDamage }: HoldfastChatOptions) {
    this.#onDamage = onDamage
    this.#session = store.session(chatId)
    this.#log = new StreamLog(store, chatId)
  }

  async #messages(): Promise<StoredMessage<M>[]> {
    return newestMessages(this.#session, { onDamage: this.#onDamage })
  }

  /** Every message of the chat, oldest first. */
  async load(): Promise<M[]> {
    return (await this.#messages()).map(({ message }) => message)
  }

  /** Adds a message, or gives the one with its id other content. */
  async add(message: M): Promise<void> {
    const session = this.#session
    const known = (await this.#messages()).find(({ id }) => id === message.id)
    if (known === undefined) await session.append(message, { ids: [message.id] })
    else if (!isDeepStrictEqual(known.message, asJson(message))) await session.replace(message.id, message)
  }

  /** Makes the chat what the client shows: adds and replaces messages, and leaves those that it no longer has on a branch of their own. */
  async save(messages: readonly M[]): Promise<void> {
    const session = this.#session
    const kept = await this.#messages()
    const other = messages.findIndex(({ id }, index) => kept[index]?.id !== id)
    const shared = other === -1 ? messages.length : other
    for (const [index, message] of messages.slice(0, shared).entries()) {
      if (!isDeepStrictEqual(kept[index]?.message, asJson(message))) await session.replace(message.id, message)
    }
    const added = messages.slice(shared)
    const parent = messages[shared - 1]?.id ?? null
    if (added.length > 0) await session.append(added, { ids: added.map(({ id }) => id), parent })
    else if (kept.length > shared) await session.revert({ message: parent })
  }

  /** The answer as a stream for the client. It is made to its end and kept, also if the client has left. */
  async respond({
    message,
    execute,
    generateId = () => crypto.randomUUID(),
    onError,
  }: RespondOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    await this.add(message)
    const messages = await this.load()
    await this.#log.begin()
    const stopping = new AbortController()
    const listening = new AbortController()
    // If nobody can be heard, nobody can stop it; the answer is made all the same.
    this.#log.onStop(() => stopping.abort(), listening.signal).catch(() => undefined)
    let chunks: ReadableStream<UIMessageChunk>
    try {
      chunks = await execute({ messages, abortSignal: stopping.signal })
    } catch (error) {
      listening.abort()
      await this.#log.end()
      throw error
    }
    const last = messages.at(-1)
    const [shown, folded] = [new TransformStream<UIMessageChunk>(), new TransformStream<UIMessageChunk>()]
    const answer = lastOf<M>(folded.readable, last?.role === 'assistant' ? structuredClone(last) : undefined)
    const done = this.#pass(chunks, {
      generateId,
      last,
      writers: [shown.writable.getWriter(), folded.writable.getWriter()],
      stopping: stopping.signal,
      onError,
    })
      .then(async () => {
        const final = await answer
        if (final !== undefined && final.parts.length > 0) await this.add(final)
      })
      .finally(async () => {
        listening.abort()
        await this.#log.end()
      })
    done.catch((error: unknown) => onError?.(error))
    return shown.readable
  }

  /** The answer that is being made, from its beginning on; null if none is. What a request to reconnect is answered with. */
  resume(): Promise<ReadableStream<UIMessageChunk> | null> {
    return this.#log.read()
  }

  /** Stops the answer that is being made, wherever that is. Whether there was one. What was made of it is kept. */
  stop(): Promise<boolean> {
    return this.#log.stop()
  }

  /** Hands every chunk to the log and to those who listen here. One who has left holds nobody up. */
  async #pass(chunks: ReadableStream<UIMessageChunk>, { generateId, last, writers, stopping, onError }: Passing<M>): Promise<void> {
    const write = (chunk: UIMessageChunk): void => {
      this.#log.write(chunk)
      for (const writer of writers) writer.write(chunk).catch(() => undefined)
    }
    const reader = chunks.getReader()
    const stopped = new Promise<'stopped'>((resolve) => stopping.addEventListener('abort', () => resolve('stopped'), { once: true }))
    try {
      for (;;) {
        // A model that does not listen is left alone: what it still says is not kept.
        const next = await Promise.race([reader.read(), stopped])
        if (next === 'stopped') {
          write({ type: 'abort' })
          reader.cancel().catch(() => undefined)
          break
        }
        if (next.done) break
        const { value } = next
        if (value.type !== 'start' || value.messageId !== undefined) write(value)
        // Everybody has to know it by the same id.
        else write({ ...value, messageId: last?.role === 'assistant' ? last.id : generateId() })
      }
    } catch (error) {
      onError?.(error)
      write({ type: 'error', errorText: 'The answer broke off.' })
    } finally {
      for (const writer of writers) writer.close().catch(() => undefined)
    }
  }
}

interface Passing<M> {
  readonly generateId: () => string
  readonly last: M | undefined
  readonly writers: readonly WritableStreamDefaultWriter<UIMessageChunk>[]
  readonly stopping: AbortSignal
  readonly onError: ((error: unknown) => void) | undefined
}

/** What a stream of chunks comes to. */
async function lastOf<M extends UIMessage>(stream: ReadableStream<UIMessageChunk>, message: M | undefined): Promise<M | undefined> {
  let last: M | undefined
  const states = readUIMessageStream<M>({
    stream: stream as never,
    ...(message === undefined ? {} : { message }),
    onError: () => undefined,
  })
  for await (const state of states) last = state
  return last
}

function asJson(message: UIMessage): unknown {
  return JSON.parse(JSON.stringify(message))
}
