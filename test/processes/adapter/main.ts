/**
 * A process that uses an adapter until it is killed. It tells what was acknowledged, a line each: `begin n` before a call, `done n` after it.
 * Several of them work on one store.
 */
import type { SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk'
import { HumanMessage } from '@langchain/core/messages'
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import type { UIMessageChunk } from 'ai'
import { HoldfastChat } from '../../../src/adapters/ai-sdk/index.ts'
import { HoldfastSessionStore } from '../../../src/adapters/claude-agent/index.ts'
import { HoldfastSaver } from '../../../src/adapters/langgraph/index.ts'
import { HoldfastSession } from '../../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { childOptions, testIsDone } from '../child.ts'

export type AdapterName = 'openai-agents' | 'langgraph' | 'claude-agent' | 'ai-sdk'

interface Options {
  readonly adapter: AdapterName
  readonly directory: string
  readonly name: string
}

const { adapter, directory, name } = childOptions<Options>()
const store = await openStore(directory)
let over = false
testIsDone().then(() => {
  over = true
})

/** One call of the adapter; `id` is what can be looked for afterwards. */
const CALLS: Record<Exclude<AdapterName, 'ai-sdk'>, () => (id: string) => Promise<unknown>> = {
  'openai-agents': () => {
    const session = new HoldfastSession({ store, sessionId: 'shared' })
    return (id) => session.addItems([{ role: 'user', content: id }])
  },
  langgraph: () => {
    const saver = new HoldfastSaver({ store })
    const messages: HumanMessage[] = []
    let config = { configurable: { thread_id: 'shared', checkpoint_ns: '' } } as Awaited<ReturnType<HoldfastSaver['put']>>
    return async (id) => {
      messages.push(new HumanMessage({ id, content: id }))
      const version = messages.length
      const channel_versions = { messages: version, last: version }
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(version),
        channel_versions,
        channel_values: { messages: [...messages], last: id },
      }
      config = await saver.put(config, checkpoint, { source: 'loop', step: version, parents: {} }, channel_versions)
      await saver.putWrites(config, [['last', id]], `task ${id}`)
    }
  },
  'claude-agent': () => {
    const sessions = new HoldfastSessionStore({ store })
    const key = { projectKey: 'project', sessionId: 'shared' }
    const line = (id: string): SessionStoreEntry => ({ type: 'user', uuid: id, message: { role: 'user', content: id } })
    return (id) => sessions.append(key, [line(id), { type: 'mark', of: id }])
  },
}

if (adapter === 'ai-sdk') await streamForEver()
else {
  const call = CALLS[adapter]()
  for (let n = 0; !over; n++) {
    const id = `${name}-${n}`
    console.log(`begin ${id}`)
    await call(id)
    console.log(`done ${id}`)
  }
}
await store.close()

/** Says a word every few milliseconds, and tells of each. */
async function streamForEver(): Promise<void> {
  const chat = new HoldfastChat({ store, chatId: 'shared' })
  await chat.respond({
    message: { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
    execute: () =>
      new ReadableStream<UIMessageChunk>({
        start: async (controller) => {
          controller.enqueue({ type: 'start', messageId: 'a1' })
          controller.enqueue({ type: 'text-start', id: 't' })
          for (let n = 0; !over; n++) {
            controller.enqueue({ type: 'text-delta', id: 't', delta: `${n} ` })
            console.log(`done ${n}`)
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        },
      }),
  })
  await testIsDone()
}
