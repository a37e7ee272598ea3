/** Adapters in several processes that are killed in the middle of what they do: what was acknowledged is there, once, and whole. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BaseMessage } from '@langchain/core/messages'
import { expect, onTestFinished, test } from 'vitest'
import { HoldfastChat } from '../../../src/adapters/ai-sdk/index.ts'
import { HoldfastSessionStore } from '../../../src/adapters/claude-agent/index.ts'
import { HoldfastSaver } from '../../../src/adapters/langgraph/index.ts'
import { HoldfastSession } from '../../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { Child } from '../../processes/children.ts'

const LIVES = 6
const CALLS = 15

/** Processes that come and go, two at a time, each killed after some calls. What they were told was done. */
async function killed(adapter: string, processes = 2): Promise<{ store: Store; done: string[]; begun: Set<string> }> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-killed-'))
  const [done, begun] = [[] as string[], new Set<string>()]
  for (let life = 0; life < LIVES; life += processes) {
    await Promise.all(
      Array.from({ length: processes }, async (_, index) => {
        const child = new Child('adapter', { adapter, directory, name: `p${life + index}` })
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
  }
  const store = await openStore(directory)
  onTestFinished(async () => {
    await store.close()
    await rm(directory, { recursive: true })
  })
  return { store, done, begun }
}

/** Everything that was acknowledged, nothing that nobody asked for, and nothing twice. */
function expectExact(found: readonly string[], { done, begun }: { done: readonly string[]; begun: ReadonlySet<string> }): void {
  expect(new Set(found).size).toBe(found.length)
  expect(done.filter((id) => !found.includes(id))).toEqual([])
  expect(found.filter((id) => !begun.has(id))).toEqual([])
}

test('items of OpenAI’s sessions', async () => {
  const { store, ...told } = await killed('openai-agents')
  const items = await new HoldfastSession({ store, sessionId: 'shared' }).getItems()
  expectExact(
    items.map((item) => (item as { content: string }).content),
    told,
  )
})

test('checkpoints of LangGraph: each is whole, with its messages and its writes', async () => {
  const { store, ...told } = await killed('langgraph')
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
  const { store, ...told } = await killed('claude-agent')
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

test('a stream whose server was killed is resumed as far as it came, and ends', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-killed-'))
  const child = new Child('adapter', { adapter: 'ai-sdk', directory, name: 'p' })
  const said: string[] = []
  child.onLine((line) => {
    said.push(line)
    if (said.length === 50) child.signal('SIGKILL')
  })
  await child.ended
  const store = await openStore(directory)
  onTestFinished(async () => {
    await store.close()
    await rm(directory, { recursive: true })
  })
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
