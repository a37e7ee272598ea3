import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { Annotation, Command, END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { type Checkpoint, DeltaSnapshot, emptyCheckpoint, MemorySaver, uuid6 } from '@langchain/langgraph-checkpoint'
import { describe, expect, test } from 'vitest'
import { messagesOf, NO_MESSAGES, textsOf } from '../../src/adapters/langgraph/message-list.ts'
import { HoldfastSaver } from '../../src/adapters/langgraph/saver.ts'
import { HoldfastStore } from '../../src/adapters/langgraph/store.ts'
import { OPENERS, opened } from './openers.ts'

const META = { source: 'loop', step: 0, parents: {} } as const

/** Says something, asks a person, says what the person said. */
function graphOf(checkpointer: HoldfastSaver | MemorySaver) {
  const State = Annotation.Root({ ...MessagesAnnotation.spec, approved: Annotation<string>(), notes: Annotation<string[]>() })
  return new StateGraph(State)
    .addNode('plan', ({ messages }) => ({
      messages: [new AIMessage({ content: `plan ${messages.length}`, id: `plan-${messages.length}` })],
    }))
    .addNode('ask', () => ({ approved: interrupt('May I?') as string }))
    .addNode('act', ({ approved }) => ({
      messages: [new AIMessage({ content: `did: ${approved}`, id: `act-${approved}` })],
      notes: ['done'],
    }))
    .addEdge(START, 'plan')
    .addEdge('plan', 'ask')
    .addEdge('ask', 'act')
    .addEdge('act', END)
    .compile({ checkpointer })
}

const texts = (messages: readonly BaseMessage[]): unknown[] => messages.map(({ content }) => content)

function checkpointWith(values: Checkpoint['channel_values'], version: number): Checkpoint {
  const channel_versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, version]))
  return { ...emptyCheckpoint(), id: uuid6(version), channel_values: values, channel_versions }
}

describe.each(OPENERS)('on $name', (opener) => {
  test('a graph that waits for a person goes on in another process, and does what it does in memory', async () => {
    const there = await opened(opener)
    const config = { configurable: { thread_id: 't' } }
    const input = { messages: [new HumanMessage({ content: 'hi', id: 'h' })] }
    const model = new MemorySaver()
    for (const saver of [new HoldfastSaver({ store: there.store }), model]) await graphOf(saver).invoke(input, config)
    const after = graphOf(new HoldfastSaver({ store: await there.reopen() }))
    expect((await after.getState(config)).tasks[0]?.interrupts[0]?.value).toBe('May I?')
    const result = await after.invoke(new Command({ resume: 'yes' }), config)
    expect(result).toEqual(await graphOf(model).invoke(new Command({ resume: 'yes' }), config))
    expect(texts(result.messages)).toEqual(['hi', 'plan 1', 'did: yes'])
  })

  test('time travel: a fork from the past leaves the other way as it was', async () => {
    const there = await opened(opener)
    const graph = graphOf(new HoldfastSaver({ store: there.store }))
    const config = { configurable: { thread_id: 't' } }
    await graph.invoke({ messages: [new HumanMessage({ content: 'hi', id: 'h' })] }, config)
    await graph.invoke(new Command({ resume: 'yes' }), config)
    const history: Awaited<ReturnType<typeof graph.getState>>[] = []
    for await (const state of graph.getStateHistory(config)) history.push(state)
    const past = history.find(({ next }) => next[0] === 'ask')
    const other = await graph.updateState(past?.config ?? {}, { messages: [new HumanMessage({ content: 'wait', id: 'w' })] })
    expect(texts((await graph.getState(other)).values.messages)).toEqual(['hi', 'plan 1', 'wait'])
    expect(texts((await graph.getState(history[0]?.config ?? {})).values.messages)).toEqual(['hi', 'plan 1', 'did: yes'])
    const again: unknown[] = []
    for await (const { values } of graph.getStateHistory(config)) again.push(texts(values.messages ?? []))
    expect(again.slice(1)).toEqual(history.map(({ values }) => texts(values.messages ?? [])))
  })

  test('the thread reads, searches and windows like any session', async () => {
    const { store } = await opened(opener)
    await graphOf(new HoldfastSaver({ store })).invoke(
      { messages: [new HumanMessage({ content: 'Where is my marigold?', id: 'h' })] },
      { configurable: { thread_id: 't' } },
    )
    const session = store.session('t')
    const { messages } = await session.messages()
    expect(messages).toHaveLength(2)
    expect((await store.search('marigold')).hits.map((hit) => hit.session)).toEqual(['t'])
    const window = await session.window({ budget: 1000, format: 'openai' })
    expect(window.messages).toMatchObject([
      { role: 'user', content: 'Where is my marigold?' },
      { role: 'assistant', content: 'plan 1' },
    ])
  })

  test('a list that is rewritten in the middle, cut or emptied is what it was, at each checkpoint', async () => {
    const there = await opened(opener)
    const saver = new HoldfastSaver({ store: there.store })
    const message = (name: string): HumanMessage => new HumanMessage({ content: name, id: name })
    const lists = ['a', 'ab', 'abc', 'aXc', 'a', 'ab', '', 'z', 'abc'].map((letters) => [...letters].map(message))
    let config: { configurable?: Record<string, unknown> } = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const configs: (typeof config)[] = []
    for (const [index, messages] of lists.entries()) {
      const checkpoint = checkpointWith({ messages, other: index }, index + 1)
      config = await saver.put(config, checkpoint, META, checkpoint.channel_versions)
      configs.push(config)
    }
    for (const fresh of [saver, new HoldfastSaver({ store: await there.reopen() })]) {
      for (const [index, at] of configs.entries()) {
        expect((await fresh.getTuple(at))?.checkpoint.channel_values).toEqual({ messages: lists[index], other: index })
      }
    }
  })

  test('two processes on one thread lose nothing, and the newest checkpoint is the newest for both', async () => {
    const there = await opened(opener)
    const savers = [new HoldfastSaver({ store: there.store }), new HoldfastSaver({ store: await there.reopen() })]
    const first = checkpointWith({ n: 0 }, 1)
    const config = await (savers[0] as HoldfastSaver).put({ configurable: { thread_id: 't' } }, first, META, { n: 1 })
    const ids = Array.from({ length: 10 }, (_, i) => uuid6(i + 2))
    await Promise.all([
      ...ids.map((id, i) => savers[i % 2]?.put(config, { ...first, id, channel_values: { n: i } }, META, { n: 1 })),
      ...ids.map((id, i) => savers[i % 2]?.putWrites(config, [['n', i]], `task ${id}`)),
    ])
    for (const saver of savers) {
      const listed: string[] = []
      for await (const { checkpoint } of saver.list({ configurable: { thread_id: 't' } })) listed.push(checkpoint.id)
      expect(listed).toEqual([first.id, ...ids].sort().reverse())
      expect((await saver.getTuple({ configurable: { thread_id: 't' } }))?.checkpoint.id).toBe(listed[0])
      expect((await saver.getTuple(config))?.pendingWrites).toHaveLength(10)
    }
  })

  test('a call that is repeated changes nothing', async () => {
    const { store } = await opened(opener)
    const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const checkpoint = checkpointWith({ messages: [new HumanMessage({ content: 'a', id: 'a' })] }, 1)
    for (const saver of [new HoldfastSaver({ store }), new HoldfastSaver({ store })]) {
      const at = await saver.put(config, checkpoint, META, checkpoint.channel_versions)
      await saver.putWrites(at, [['messages', 'w']], 'task')
    }
    expect((await store.session('t').messages()).messages).toHaveLength(1)
    expect((await new HoldfastSaver({ store }).getTuple(config))?.pendingWrites).toEqual([['task', 'messages', 'w']])
  })

  test('a thread that was deleted begins anew', async () => {
    const { store } = await opened(opener)
    const saver = new HoldfastSaver({ store })
    const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    await saver.deleteThread('t')
    await saver.put(config, checkpointWith({ a: 1 }, 1), META, { a: 1 })
    await saver.deleteThread('t')
    expect(await saver.getTuple(config)).toBeUndefined()
    const anew = checkpointWith({ a: 2 }, 1)
    await saver.put(config, anew, META, { a: 1 })
    expect((await saver.getTuple(config))?.checkpoint).toEqual(anew)
  })

  test('pruning keeps the newest checkpoint, and what its delta channels rest on', async () => {
    const { store } = await opened(opener)
    const saver = new HoldfastSaver({ store })
    let config: { configurable?: Record<string, unknown> } = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const values = [{ log: new DeltaSnapshot([0]) }, {}, { log: new DeltaSnapshot([0, 1]) }, {}, {}]
    for (const [index, more] of values.entries()) {
      const checkpoint = { ...checkpointWith({ ...more, plain: index }, index + 1), channel_versions: { log: index + 1, plain: index + 1 } }
      const metadata = { ...META, ...('log' in more ? {} : { counters_since_delta_snapshot: { log: [1, 1] as [number, number] } }) }
      config = await saver.put(config, checkpoint, metadata, checkpoint.channel_versions)
      await saver.putWrites(config, [['log', [index]]], `task ${index}`)
    }
    const before = await saver.getTuple(config)
    const history = await saver.getDeltaChannelHistory({ config, channels: ['log'] })
    await saver.prune(['t'])
    await saver.prune(['t'])
    expect(await saver.getTuple(config)).toEqual(before)
    expect(await saver.getDeltaChannelHistory({ config, channels: ['log'] })).toEqual(history)
    const left: unknown[] = []
    for await (const { checkpoint } of saver.list({ configurable: { thread_id: 't' } })) left.push(checkpoint.channel_values.plain)
    expect(left).toEqual([4, 3, 2])
    await saver.prune(['t'], { strategy: 'delete' })
    expect(await saver.getTuple(config)).toBeUndefined()
  })

  test('the long-term store keeps, finds and forgets items', async () => {
    const there = await opened(opener)
    const memory = new HoldfastStore({ store: there.store })
    await memory.put(['users', 'kim'], 'likes', { drink: 'tea', age: 41 })
    await memory.put(['users', 'kim'], 'has', { pet: 'a dog', age: 7 })
    await memory.put(['users', 'lee'], 'likes', { drink: 'coffee', age: 30 })
    await memory.put(['usersother'], 'likes', { drink: 'milk' })
    const created = (await memory.get(['users', 'kim'], 'likes'))?.createdAt
    await memory.put(['users', 'kim'], 'likes', { drink: 'green tea', age: 41 })
    const other = new HoldfastStore({ store: await there.reopen() })
    expect(await other.get(['users', 'kim'], 'likes')).toMatchObject({
      key: 'likes',
      namespace: ['users', 'kim'],
      value: { drink: 'green tea', age: 41 },
      createdAt: created,
    })
    expect(await other.get(['users', 'kim'], 'nothing')).toBeNull()
    expect(await other.get(['nobody'], 'likes')).toBeNull()
    const keys = async (...words: Parameters<HoldfastStore['search']>): Promise<unknown[]> =>
      (await other.search(...words)).map(({ namespace, key }) => `${namespace.at(-1)} ${key}`).sort()
    expect(await keys(['users'])).toEqual(['kim has', 'kim likes', 'lee likes'])
    expect(await keys(['users'], { filter: { age: { $gte: 30, $lt: 41 } } })).toEqual(['lee likes'])
    expect(await keys(['users'], { filter: { drink: 'coffee' } })).toEqual(['lee likes'])
    expect((await other.search(['users'], { query: 'a green drink', limit: 1 }))[0]?.value).toMatchObject({ drink: 'green tea' })
    expect(await other.listNamespaces({ prefix: ['users'] })).toEqual([
      ['users', 'kim'],
      ['users', 'lee'],
    ])
    expect(await other.listNamespaces({ maxDepth: 1 })).toEqual([['users'], ['usersother']])
    await other.delete(['users', 'kim'], 'likes')
    expect(await memory.get(['users', 'kim'], 'likes')).toBeNull()
  })
})

test('a thread grows with what is added, not with what there is', async () => {
  const { store } = await opened(OPENERS[0] as (typeof OPENERS)[number])
  const saver = new HoldfastSaver({ store })
  let config: { configurable?: Record<string, unknown> } = { configurable: { thread_id: 't', checkpoint_ns: '' } }
  const messages: BaseMessage[] = []
  const ends: number[] = []
  for (let step = 1; step <= 240; step++) {
    messages.push(new HumanMessage({ content: `message ${step} with some words in it`, id: `m${step}` }))
    const checkpoint = checkpointWith({ messages: [...messages] }, step)
    config = await saver.put(config, checkpoint, META, checkpoint.channel_versions)
    // The version begins with where the journal ends.
    if (step % 60 === 0) ends.push(Number.parseInt(await store.session('t').version(), 10))
  }
  const [a = 0, b = 0, c = 0, d = 0] = ends
  expect((d - c) / (b - a)).toBeLessThan(1.2)
  expect((await saver.getTuple(config))?.checkpoint.channel_values.messages).toEqual(messages)
})

test('messages that are loaded directly are those that the framework loads', async () => {
  const { serde } = new MemorySaver()
  const messages = [
    new HumanMessage({ content: [{ type: 'text', text: 'hi' }], id: 'h', name: 'kim' }),
    new SystemMessage('be brief'),
    new AIMessage({
      content: '',
      id: 'a',
      tool_calls: [{ id: 'c', name: 'f', args: { lc: 1, x: [null, { y: 'z' }] }, type: 'tool_call' }],
      response_metadata: { model: 'm', usage: { total_tokens: 3 } },
    }),
    new ToolMessage({ content: 'ok', tool_call_id: 'c', status: 'error', artifact: { deep: new Map([['a', 1]]) } }),
    new ToolMessage({ content: 'ok', tool_call_id: 'c', name: 'f' }),
    new AIMessageChunk({ content: 'part', id: 'k' }),
    new RemoveMessage({ id: 'h' }),
    new HumanMessage({ content: 'odd', additional_kwargs: { some_field: undefined, when: { lc: 2 } } }),
  ]
  const kept = (await textsOf(serde, messages, NO_MESSAGES)) ?? []
  const loaded = await messagesOf(serde, kept)
  const expected = await Promise.all(kept.map((text) => serde.loadsTyped('json', text)))
  expect(loaded).toEqual(expected)
  expect(loaded.map((one) => (one as object).constructor)).toEqual(expected.map((one) => (one as object).constructor))
})

test('a message that was changed in its place is stored as it is by then', async () => {
  const { store } = await opened(OPENERS[0] as (typeof OPENERS)[number])
  const saver = new HoldfastSaver({ store })
  const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
  const first = new HumanMessage({ content: 'a', id: 'a', additional_kwargs: { deep: { n: 1 } } })
  let at = await saver.put(config, checkpointWith({ messages: [first] }, 1), META, { messages: 1 })
  const read = async (from: HoldfastSaver): Promise<HumanMessage> => {
    const { messages = [] } = ((await from.getTuple(config))?.checkpoint.channel_values ?? {}) as { messages?: HumanMessage[] }
    return messages[0] as HumanMessage
  }
  const loaded = await read(saver)
  for (const [version, message] of [first, loaded].entries()) {
    ;(message.additional_kwargs.deep as { n: number }).n = version + 2
    at = await saver.put(at, checkpointWith({ messages: [message] }, version + 2), META, { messages: version + 2 })
    expect((await read(new HoldfastSaver({ store }))).additional_kwargs).toEqual({ deep: { n: version + 2 } })
  }
})
