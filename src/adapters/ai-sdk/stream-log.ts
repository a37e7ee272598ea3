/**
 * The chunks of an answer while it is made, in a session of their own beside the chat's: what was sent to a browser can be sent to it again,
 * by whichever server. Chunks are gathered for at most 100 ms, so a sync is not paid for each; a chunk is shown to those who resume once it
 * is on the disk. When the answer itself is kept, the log is deleted; the next answer begins it anew.
 *
 * Whoever makes the answer says at least every few seconds that it is alive. A reader who hears nothing for longer knows that it died.
 */
import type { UIMessageChunk } from 'ai'
import { type AdapterSession, type AdapterStore, begun, ifKept, newestMessages } from '../sessions.ts'

const GATHER_MS = 100
const ALIVE_MS = 3000
const DEAD_MS = 10_000

type LogMessage =
  | { readonly type: 'ai-sdk.chunks'; readonly chunks: readonly UIMessageChunk[] }
  | { readonly type: 'ai-sdk.stop' }
  | { readonly type: 'ai-sdk.end' }

export class StreamLog {
  readonly #store: AdapterStore
  readonly #id: string
  #waiting: UIMessageChunk[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #failure: unknown

  constructor(store: AdapterStore, chat: string) {
    this.#store = store
    this.#id = `ai-sdk-stream:${chat}`
  }

  /** Begins anew. What was left of an answer that nobody finished is put aside. */
  async begin(): Promise<void> {
    const session = this.#session()
    await ifKept(() => session.delete())
    await begun(this.#store, session, { tags: ['ai-sdk-stream'] })
    this.#alive()
  }

  /** Resolves at once: chunks are written together. What goes wrong is told by `end`. */
  write(chunk: UIMessageChunk): void {
    this.#waiting.push(chunk)
    if (this.#waiting.length === 1) this.#schedule(GATHER_MS)
  }

  /** Writes what waits, and that there is no more; the log is deleted, since the answer is kept by now. */
  async end(): Promise<void> {
    clearTimeout(this.#timer)
    this.#flush()
    await this.#writing
    const session = this.#session()
    await session.append({ type: 'ai-sdk.end' }, { ids: 'new' })
    await session.delete()
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Tells whoever makes the answer, in whichever process, to stop. Whether there was one. */
  async stop(): Promise<boolean> {
    const session = this.#session()
    if ((await ifKept(() => session.info())) === undefined) return false
    await session.append({ type: 'ai-sdk.stop' }, { ids: 'new' })
    return true
  }

  /** Calls back when somebody wants the answer to stop, until told not to listen any more. */
  async onStop(callback: () => void, signal: AbortSignal): Promise<void> {
    const session = this.#session()
    for await (const message of messagesOf(session, signal)) if (message.type === 'ai-sdk.stop') callback()
  }

  /** All chunks so far, and those to come; null if no answer is being made. */
  async read(): Promise<ReadableStream<UIMessageChunk> | null> {
    const session = this.#session()
    if ((await ifKept(() => session.info())) === undefined) return null
    const left = new AbortController()
    const messages = messagesOf(session, left.signal)
    return new ReadableStream<UIMessageChunk>({
      pull: async (controller) => {
        for (;;) {
          // Only while it waits: a stream that nobody reads to its end must not keep the program alive.
          const silent = setTimeout(() => left.abort(), DEAD_MS)
          const { value, done } = await messages.next().finally(() => clearTimeout(silent))
          if (done === true || value.type === 'ai-sdk.end') {
            // Nobody said that it is done: whoever made it is dead.
            if (done === true) controller.enqueue({ type: 'abort' })
            left.abort()
            return controller.close()
          }
          if (value.type !== 'ai-sdk.chunks' || value.chunks.length === 0) continue
          for (const chunk of value.chunks) controller.enqueue(chunk)
          return
        }
      },
      cancel: () => left.abort(),
    })
  }

  #alive(): void {
    this.#schedule(ALIVE_MS)
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#flush()
      this.#alive()
    }, ms)
    this.#timer.unref()
  }

  /** Without chunks it only says that it is alive. */
  #flush(): void {
    const chunks = this.#waiting
    this.#waiting = []
    this.#writing = this.#writing.then(async () => {
      try {
        const message: LogMessage = { type: 'ai-sdk.chunks', chunks }
        await this.#session().append(message, { ids: 'new' })
      } catch (error) {
        this.#failure ??= error
      }
    })
  }

  #session(): AdapterSession<LogMessage> {
    return this.#store.session(this.#id)
  }
}

/** What a log holds and what comes, each once. Ends when the log is deleted, or when told. */
async function* messagesOf(session: AdapterSession<LogMessage>, signal: AbortSignal): AsyncGenerator<LogMessage> {
  // Followed first, read then: nothing falls between the two.
  const changes = session.follow({ signal })
  const seen = new Set<string>()
  for (const { id, message } of (await ifKept(() => newestMessages(session))) ?? []) {
    seen.add(id)
    yield message
  }
  for await (const { type, messages } of changes) {
    for (const { id, message } of messages) if (!seen.has(id)) yield message
    if (type === 'session.deleted') return
  }
}
