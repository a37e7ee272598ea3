/** Adapters in several processes that are killed in the middle of what they do: what was acknowledged is there, once, and whole. */
import type { BaseMessage } from '@langchain/core/messages'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, test } from 'vitest'
import { HoldfastChat } from '../../../src/adapters/ai-sdk/index.ts'
import { HoldfastSessionStore } from '../../../src/adapters/claude-agent/index.ts'
import { HoldfastChatMessageHistory } from '../../../src/adapters/langchain/index.ts'
import { HoldfastSaver, HoldfastStore } from '../../../src/adapters/langgraph/index.ts'
import { HoldfastEventStore } from '../../../src/adapters/mcp/index.ts'
import { HoldfastSession } from '../../../src/adapters/openai-agents/index.ts'
import type { StoreApi } from '../../../src/client/index.ts'
import { runs } from '../../long.ts'
import type { AdapterName } from '../../processes/adapter/calls.ts'
import { Child } from '../../processes/children.ts'
import { PLACES, type Place } from './places.ts'

const LIVES = runs(2, 4)
const CALLS = 15

/** Processes that come and go, two at a time, each killed after some calls. What they were told was done. */
async function killed(adapter: AdapterName, place: Place, processes = 2): Promise<{ store: StoreApi; done: string[]; begun: Set<string> }> {
  const [done, begun] = [[] as string[], new Set<string>()]
  for (let life = 0; life < LIVES; life += processes) {
    await Promise.all(
      Array.from({ length: processes }, async (_, index) => {
        const child = new Child('adapter', { adapter, where: place.where, key: place.key, name: `p${life + index}` })
        let calls = 0
        child.onLine((line) => {
          const [word, id = ''] = line.split(' ')
          if (word === 'begin') begun.add(id)
          else {
            done.push(id)
            if (++calls >= CALLS + life) child.signal('SIGKILL')
          }
        })
        const { complaint, signal } = await child.ended
        expect(signal, complaint).toBe('SIGKILL')
      }),
    )
    await place.killed()
  }
  return { store: await place.open(), done, begun }
}

/** Everything that was acknowledged, nothing that nobody asked for, and nothing twice. */
function expectExact(found: readonly string[], { done, begun }: { done: readonly string[]; begun: ReadonlySet<string> }): void {
  expect(new Set(found).size).toBe(found.length)
  expect(done.filter((id) => !found.includes(id))).toEqual([])
  expect(found.filter((id) => !begun.has(id))).toEqual([])
}

describe.each(PLACES)('on $name', ({ make }) => {
  test('items of OpenAI’s sessions', async () => {
    const { store, ...told } = await killed('openai-agents', await make())
    const items = await new HoldfastSession({ store, sessionId: 'shared' }).getItems()
    expectExact(
      items.map((item) => (item as { content: string }).content),
      told,
    )
  })

  test('checkpoints of LangGraph: each is whole, with its messages and its writes', async () => {
    const { store, ...told } = await killed('langgraph', await make())
    const found: string[] = []
    const written: string[] = []
    for await (const { checkpoint, pendingWrites = [] } of new HoldfastSaver({ store }).list({ configurable: { thread_id: 'shared' } })) {
      const { messages, last } = checkpoint.channel_values as { messages: BaseMessage[]; last: string }
      const [process, n] = last.split('-')
      expect(messages.map(({ id }) => id)).toEqual(Array.from({ length: Number(n) + 1 }, (_, i) => `${process}-${i}`))
      found.push(last)
      for (const [task, , value] of pendingWrites) {
        expect(task).toBe(`task ${value}`)
        written.push(value as string)
      }
    }
    expectExact(written, told)
    expectExact(found, { ...told, done: written })
  })

  test('lines of Claude’s agent, with what stands behind each', async () => {
    const { store, ...told } = await killed('claude-agent', await make())
    const lines = (await new HoldfastSessionStore({ store }).load({ projectKey: 'project', sessionId: 'shared' })) ?? []
    const uuids = lines.flatMap(({ uuid }) => (uuid === undefined ? [] : [uuid]))
    expectExact(uuids, told)
    expect(lines).toEqual(
      uuids.flatMap((uuid) => [
        { type: 'user', uuid, message: { role: 'user', content: uuid } },
        { type: 'mark', of: uuid },
      ]),
    )
  })

  test('items of LangGraph’s long-term store', async () => {
    const { store, ...told } = await killed('langgraph-store', await make())
    const items = await new HoldfastStore({ store }).search(['shared'], { limit: 1000 })
    expectExact(
      items.map(({ key, value }) => {
        expect(value).toEqual({ said: key })
        return key
      }),
      told,
    )
  })

  test('messages of LangChain', async () => {
    const { store, ...told } = await killed('langchain', await make())
    const messages = await new HoldfastChatMessageHistory({ store, sessionId: 'shared' }).getMessages()
    expectExact(
      messages.map(({ content }) => content as string),
      told,
    )
  })

  test('events of MCP: whoever has one is sent all that came after it', async () => {
    const place = await make()
    const said = (text: string): JSONRPCMessage => ({ jsonrpc: '2.0', id: text, result: { said: text } })
    const first = await new HoldfastEventStore({ store: await place.open() }).storeEvent('shared', said('first'))
    const { store, ...told } = await killed('mcp', place)
    const seen: JSONRPCMessage[] = []
    const send = async (_: string, message: JSONRPCMessage): Promise<void> => void seen.push(message)
    await new HoldfastEventStore({ store }).replayEventsAfter(first, { send })
    const texts = seen.map((message) => (message as { id: string }).id)
    expect(seen).toEqual(texts.map(said))
    expectExact(texts, told)
  })

  test('a stream whose server was killed is resumed as far as it came, and ends', async () => {
    const place = await make()
    const child = new Child('adapter', { adapter: 'ai-sdk', where: place.where, key: place.key, name: 'p' })
    const said: string[] = []
    child.onLine((line) => {
      said.push(line)
      if (said.length === 50) child.signal('SIGKILL')
    })
    await child.ended
    await place.killed()
    const store = await place.open()
    const chat = new HoldfastChat({ store, chatId: 'shared' })
    const chunks: unknown[] = []
    for await (const chunk of (await chat.resume()) as ReadableStream) chunks.push(chunk)
    expect(chunks.at(-1)).toEqual({ type: 'abort' })
    const words = chunks.flatMap((chunk) => ((chunk as { type: string }).type === 'text-delta' ? [(chunk as { delta: string }).delta] : []))
    // A second of words; the last tenth of it was still in memory.
    expect(words.length).toBeGreaterThan(10)
    expect(words).toEqual(words.map((_, n) => `${n} `))
    expect(await chat.load()).toHaveLength(1)
    // The next answer is not disturbed by what is left.
    const stream = await chat.respond({
      message: { id: 'u2', role: 'user', parts: [] },
      execute: () => new ReadableStream({ start: (c) => c.close() }),
    })
    for await (const _ of stream) throw new Error('nothing was said')
  })
})
