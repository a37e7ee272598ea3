import { convertToModelMessages, streamText, type UIMessage, type UIMessageChunk, validateUIMessages } from 'ai'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { HoldfastChat } from '../../src/adapters/ai-sdk/index.ts'
import { OPENERS, opened } from './openers.ts'

const user = (id: string, text: string): UIMessage => ({ id, role: 'user', parts: [{ type: 'text', text }] })

/** Says some words, one after the other. */
function modelSaying(...words: string[]): MockLanguageModelV3 {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  return new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: 'stream-start', warnings: [] },
          { type: 'text-start', id: 't' },
          ...words.map((delta) => ({ type: 'text-delta' as const, id: 't', delta })),
          { type: 'text-end', id: 't' },
          { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
        ],
      }),
    }),
  })
}

async function all(stream: ReadableStream<UIMessageChunk> | null): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = []
  for await (const chunk of stream ?? new ReadableStream<UIMessageChunk>()) chunks.push(chunk)
  return chunks
}

const textOf = (chunks: readonly UIMessageChunk[]): string =>
  chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')

/** A stream that says what it is told to, when it is told to. */
function spoken(): { stream: ReadableStream<UIMessageChunk>; say(chunk: UIMessageChunk): void; end(): void } {
  let controller!: ReadableStreamDefaultController<UIMessageChunk>
  const stream = new ReadableStream<UIMessageChunk>({
    start: (given) => {
      controller = given
    },
  })
  return { stream, say: (chunk) => controller.enqueue(chunk), end: () => controller.close() }
}

async function until<T>(look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe.each(OPENERS)('on $name', (opener) => {
  test('an answer is streamed and kept, as messages that the SDK finds valid', async () => {
    const there = await opened(opener)
    const chat = new HoldfastChat({ store: there.store, chatId: 'chat' })
    const stream = await chat.respond({
      message: user('u1', 'hi'),
      execute: async ({ messages, abortSignal }) =>
        streamText({
          model: modelSaying('Hello', ' there'),
          messages: await convertToModelMessages(messages),
          abortSignal,
        }).toUIMessageStream(),
    })
    const chunks = await all(stream)
    expect(textOf(chunks)).toBe('Hello there')
    const other = new HoldfastChat({ store: await there.reopen(), chatId: 'chat' })
    const messages = await until(async () => {
      const loaded = await other.load()
      return loaded.length === 2 && loaded
    })
    expect(await validateUIMessages({ messages })).toEqual(messages)
    const [start] = chunks
    expect(messages[1]?.id).toBe(start?.type === 'start' ? start.messageId : '')
    await until(async () => (await other.resume()) === null)
    expect((await there.store.list({ tag: 'ai-sdk-stream' })).sessions).toEqual([])
  })

  test('an answer that breaks off is told to the caller with its cause, to the browser without it, and what there is of it is kept', async () => {
    const there = await opened(opener)
    const chat = new HoldfastChat({ store: there.store, chatId: 'chat' })
    const broken = new Error('the provider hung up')
    const stream = new ReadableStream<UIMessageChunk>({
      pull: (controller) => {
        if (said.length === 0) return controller.error(broken)
        controller.enqueue(said.shift() as UIMessageChunk)
      },
    })
    const said: UIMessageChunk[] = [{ type: 'start' }, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Half' }]
    const told: unknown[] = []
    const shown = await all(await chat.respond({ message: user('u1', 'hi'), execute: () => stream, onError: (error) => told.push(error) }))
    expect(shown.at(-1)).toEqual({ type: 'error', errorText: 'The answer broke off.' })
    expect(told).toEqual([broken])
    const [, kept] = await until(async () => {
      const loaded = await chat.load()
      return loaded.length === 2 && loaded
    })
    expect(kept?.parts).toMatchObject([{ type: 'text', text: 'Half' }])
  })

  test('whoever reconnects gets the answer from its beginning, and what is still to come', async () => {
    const there = await opened(opener)
    const chat = new HoldfastChat({ store: there.store, chatId: 'chat' })
    const source = spoken()
    const shown = await chat.respond({ message: user('u1', 'hi'), execute: () => source.stream })
    source.say({ type: 'start' })
    source.say({ type: 'text-start', id: 't' })
    source.say({ type: 'text-delta', id: 't', delta: 'one ' })
    // The tab is closed; the answer goes on.
    await shown.cancel()
    const resumed = await until(() => new HoldfastChat({ store: there.store, chatId: 'chat' }).resume())
    const reading = all(resumed)
    source.say({ type: 'text-delta', id: 't', delta: 'two' })
    source.say({ type: 'text-end', id: 't' })
    source.say({ type: 'finish' })
    source.end()
    const chunks = await reading
    expect(textOf(chunks)).toBe('one two')
    expect(chunks.at(-1)).toEqual({ type: 'finish' })
    expect((await chat.load())[1]?.parts).toMatchObject([{ type: 'text', text: 'one two' }])
  })

  test('stop stops, from another process, and what was said is kept', async () => {
    const there = await opened(opener)
    const chat = new HoldfastChat({ store: there.store, chatId: 'chat' })
    const other = new HoldfastChat({ store: await there.reopen(), chatId: 'chat' })
    expect(await other.stop()).toBe(false)
    const source = spoken()
    let aborted = false
    const shown = await chat.respond({
      message: user('u1', 'hi'),
      execute: ({ abortSignal }) => {
        abortSignal.addEventListener('abort', () => {
          aborted = true
        })
        return source.stream
      },
    })
    source.say({ type: 'start', messageId: 'a1' })
    source.say({ type: 'text-start', id: 't' })
    source.say({ type: 'text-delta', id: 't', delta: 'I was sa' })
    await until(() => other.resume())
    expect(await other.stop()).toBe(true)
    const chunks = await all(shown)
    expect(chunks.at(-1)).toEqual({ type: 'abort' })
    expect(aborted).toBe(true)
    const kept = await until(async () => (await other.load())[1])
    expect(kept).toMatchObject({ id: 'a1', parts: [{ type: 'text', text: 'I was sa' }] })
  })

  test('a message that grows under one id is replaced, and what it was stays readable', async () => {
    const { store } = await opened(opener)
    const chat = new HoldfastChat({ store, chatId: 'chat' })
    const asked = { type: 'tool-look' as const, toolCallId: 'c1', state: 'input-available' as const, input: { place: 'Graz' } }
    const answered = { ...asked, state: 'output-available' as const, output: 'rain' }
    const assistant = (part: object): UIMessage => ({ id: 'a1', role: 'assistant', parts: [part as UIMessage['parts'][number]] })
    await chat.save([user('u1', 'hi'), assistant(asked)])
    const source = spoken()
    const shown = await chat.respond({
      message: assistant(answered),
      execute: ({ messages }) => {
        expect(messages.at(-1)).toEqual(assistant(answered))
        return source.stream
      },
    })
    source.say({ type: 'start' })
    source.say({ type: 'text-start', id: 't' })
    source.say({ type: 'text-delta', id: 't', delta: 'It rains.' })
    source.say({ type: 'text-end', id: 't' })
    source.end()
    expect((await all(shown))[0]).toEqual({ type: 'start', messageId: 'a1' })
    const [, grown] = await until(async () => {
      const loaded = await chat.load()
      return loaded[1]?.parts.length === 2 && loaded
    })
    expect(grown).toMatchObject({ id: 'a1', parts: [answered, { type: 'text', text: 'It rains.' }] })
    expect((await store.session('chat').revisions('a1')).revisions).toHaveLength(3)
  })

  test('a chat is saved as the client shows it, and what it no longer shows is on another branch', async () => {
    const { store } = await opened(opener)
    const chat = new HoldfastChat({ store, chatId: 'chat' })
    const messages = [user('u1', 'a'), user('u2', 'b'), user('u3', 'c')]
    await chat.save(messages)
    await chat.save(messages)
    expect(await chat.load()).toEqual(messages)
    const shorter = [user('u1', 'a'), user('u2', 'B')]
    await chat.save(shorter)
    expect(await chat.load()).toEqual(shorter)
    await chat.save([...shorter, user('u4', 'd')])
    expect(await chat.load()).toEqual([...shorter, user('u4', 'd')])
    expect(await store.session('chat').message('u3')).toBeDefined()
    await chat.save([])
    expect(await chat.load()).toEqual([])
  })
})
