import { Agent, type AgentInputItem, MemorySession, type Model, type ModelResponse, Runner, tool, Usage } from '@openai/agents-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { HoldfastSession } from '../../src/adapters/openai-agents/index.ts'
import { OPENERS, type Opened, opened } from './openers.ts'

const user = (text: string): AgentInputItem => ({ role: 'user', content: text })
const call = (callId: string, name = 'look'): AgentInputItem & { type: 'function_call' } => ({
  type: 'function_call',
  callId,
  name,
  arguments: '{"place":"Graz"}',
})

/** Answers with what it was told to, one response after the other. */
class ScriptedModel implements Model {
  readonly seen: unknown[] = []
  readonly #script: ModelResponse['output'][]

  constructor(script: ModelResponse['output'][]) {
    this.#script = script
  }

  async getResponse({ input }: Parameters<Model['getResponse']>[0]): Promise<ModelResponse> {
    this.seen.push(structuredClone(input))
    return { usage: new Usage(), output: this.#script.shift() ?? [] }
  }

  getStreamedResponse(): never {
    throw new Error('nobody streams here')
  }
}

const says = (text: string): ModelResponse['output'] => [
  { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] },
]

describe.each(OPENERS)('on $name', (opener) => {
  const sessionOf = ({ store }: Pick<Opened, 'store'>): HoldfastSession => new HoldfastSession({ store, sessionId: 'chat' })

  test('items come back as they were, the newest of them in their order', async () => {
    const there = await opened(opener)
    const session = sessionOf(there)
    expect(await session.getSessionId()).toBe('chat')
    expect(await session.getItems()).toEqual([])
    expect(await session.popItem()).toBeUndefined()
    await session.clearSession()
    const image = { type: 'image' as const, image: { data: new Uint8Array([1, 2, 255]), mediaType: 'image/png' } }
    const items: AgentInputItem[] = [
      user('hi'),
      call('c1'),
      { type: 'function_call_result', callId: 'c1', name: 'look', status: 'completed', output: image },
      // The same id for many items, as models that have none send it.
      { id: 'FAKE_ID', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'yes' }] },
      { id: 'FAKE_ID', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'no' }] },
    ]
    await session.addItems(items.slice(0, 2))
    await session.addItems(items.slice(2))
    await session.addItems([])
    expect(await sessionOf({ store: await there.reopen() }).getItems()).toEqual(items)
    expect(await session.getItems(2)).toEqual(items.slice(-2))
    expect(await session.getItems(0)).toEqual([])
    expect(await session.getItems(100)).toEqual(items)
  })

  test('more items than a page or a plain batch holds are kept together', async () => {
    const session = sessionOf(await opened(opener))
    const items = Array.from({ length: 1205 }, (_, i) => user(`item ${i}`))
    await session.addItems(items)
    expect(await session.getItems()).toEqual(items)
    expect(await session.getItems(1100)).toEqual(items.slice(-1100))
  })

  test('popping and clearing destroy nothing', async () => {
    const { store } = await opened(opener)
    const session = sessionOf({ store })
    await session.addItems([user('a'), user('b')])
    expect(await session.popItem()).toEqual(user('b'))
    await session.addItems([user('c')])
    await session.clearSession()
    expect(await session.getItems()).toEqual([])
    await session.addItems([user('d')])
    expect(await session.getItems()).toEqual([user('d')])
    const kept = store.session('chat')
    await kept.undo()
    expect(await session.getItems()).toEqual([user('a'), user('c')])
    await kept.undo()
    expect(await session.getItems()).toEqual([user('a'), user('b')])
  })

  test('an item is popped once, whoever pops', async () => {
    const there = await opened(opener)
    const session = sessionOf(there)
    const items = Array.from({ length: 12 }, (_, i) => user(`item ${i % 3}`))
    await session.addItems(items)
    const other = sessionOf({ store: await there.reopen() })
    const popped = await Promise.all(items.map((_, i) => (i % 2 === 0 ? session : other).popItem()))
    const sorted = (list: readonly unknown[]): string[] => list.map((item) => JSON.stringify(item)).sort()
    expect(sorted(popped)).toEqual(sorted(items))
    expect(await session.getItems()).toEqual([])
  })

  test('a transaction happens once under its operation id, and a suffix must fit', async () => {
    const there = await opened(opener)
    const session = sessionOf(there)
    const other = sessionOf({ store: await there.reopen() })
    const append = { operationId: 'op-1', transaction: { type: 'append_items' as const, items: [user('a'), user('b')] } }
    await session.applyHistoryTransaction(append)
    await other.applyHistoryTransaction(append)
    const replace = {
      operationId: 'op-2',
      transaction: { type: 'replace_suffix' as const, expectedSuffix: [user('b')], replacement: [user('c'), user('d')] },
    }
    await other.applyHistoryTransaction(replace)
    // Tried again, the suffix no longer fits; but it has happened.
    await session.applyHistoryTransaction(replace)
    expect(await session.getItems()).toEqual([user('a'), user('c'), user('d')])
    const wrong = { ...replace, operationId: 'op-3' }
    await expect(session.applyHistoryTransaction(wrong)).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(session.applyHistoryTransaction({ ...append, operationId: 'op-2' })).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(session.applyHistoryTransaction({ ...append, operationId: ' ' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    // Keys in another order are the same item.
    const cut = { type: 'replace_suffix' as const, expectedSuffix: [{ content: 'd', role: 'user' } as AgentInputItem], replacement: [] }
    await session.applyHistoryTransaction({ operationId: 'op-4', transaction: cut })
    expect(await other.getItems()).toEqual([user('a'), user('c')])
  })

  test('of transactions on one suffix at the same time, one happens', async () => {
    const there = await opened(opener)
    const sessions = [sessionOf(there), sessionOf({ store: await there.reopen() })]
    await sessions[0]?.addItems([user('start'), user('end')])
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) =>
        sessions[i % 2]?.applyHistoryTransaction({
          operationId: `op-${i}`,
          transaction: { type: 'replace_suffix', expectedSuffix: [user('end')], replacement: [user(`end ${i}`)] },
        }),
      ),
    )
    const winner = outcomes.findIndex(({ status }) => status === 'fulfilled')
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await sessions[1]?.getItems()).toEqual([user('start'), user(`end ${winner}`)])
  })

  test('a compaction takes the place of all that was there, in one record', async () => {
    const { store } = await opened(opener)
    const session = sessionOf({ store })
    await session.addItems([user('a'), user('b'), user('c')])
    const compacted: AgentInputItem[] = [{ type: 'compaction', encrypted_content: 'xyz' }, user('c')]
    await session.replaceHistoryWithCompaction(compacted)
    expect(await session.getItems()).toEqual(compacted)
    await store.session('chat').undo()
    expect(await session.getItems()).toEqual([user('a'), user('b'), user('c')])
    await session.replaceHistoryWithCompaction([])
    expect(await session.getItems()).toEqual([])
  })

  test('mutations do what the framework’s own session does', async () => {
    const items = [user('a'), call('c1'), user('b'), call('c1'), call('c2'), user('c')]
    const mutations = ['c1', 'c2', 'c9'].map((callId) => ({
      type: 'replace_function_call' as const,
      callId,
      replacement: call(callId, 'replaced'),
    }))
    const [session, model] = [sessionOf(await opened(opener)), new MemorySession({ initialItems: items })]
    await session.addItems(items)
    await session.applyHistoryMutations({ mutations })
    await model.applyHistoryMutations({ mutations })
    expect(await session.getItems()).toEqual(await model.getItems())
    await session.applyHistoryMutations({ mutations })
    expect(await session.getItems()).toEqual(await model.getItems())
  })

  test('a runner goes on where another one ended', async () => {
    const there = await opened(opener)
    const look = tool({ name: 'look', description: 'looks', parameters: z.object({ place: z.string() }), execute: async () => 'rain' })
    const first = new ScriptedModel([[call('c1')], says('It rains.')])
    const runner = new Runner({ tracingDisabled: true })
    const agent = (model: Model): Agent => new Agent({ name: 'weather', model, tools: [look] })
    const result = await runner.run(agent(first), 'How is the weather?', { session: sessionOf(there) })
    expect(result.finalOutput).toBe('It rains.')
    const second = new ScriptedModel([says('Take an umbrella.')])
    await runner.run(agent(second), 'What to wear?', { session: sessionOf({ store: await there.reopen() }) })
    const items = await sessionOf(there).getItems()
    expect(second.seen[0]).toEqual(items.slice(0, -1))
    expect(items.map((item) => ('role' in item ? item.role : item.type))).toEqual([
      'user',
      'function_call',
      'function_call_result',
      'assistant',
      'user',
      'assistant',
    ])
    const window = await there.store.session('chat').window({ budget: 1000 })
    expect(JSON.stringify(window.messages)).toContain('umbrella')
    expect(await there.store.session('chat').turn()).toMatchObject({ status: 'complete', openCalls: [] })
  })
})
