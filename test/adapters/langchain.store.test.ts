import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { describe, expect, test } from 'vitest'
import { HoldfastChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { OPENERS, opened } from './openers.ts'

describe.each(OPENERS)('on $name', (opener) => {
  test('a history is what was added, also for another process, and clearing destroys nothing', async () => {
    const there = await opened(opener)
    const history = new HoldfastChatMessageHistory({ store: there.store, sessionId: 'chat' })
    expect(await history.getMessages()).toEqual([])
    await history.clear()
    await history.addUserMessage('Where is the marigold?')
    await history.addAIMessage('Let me look.')
    const call = new AIMessage({
      content: '',
      id: 'same',
      tool_calls: [{ id: 'c', name: 'look', args: { place: 'garden' }, type: 'tool_call' }],
    })
    await history.addMessages([call, call, new ToolMessage({ content: 'there', tool_call_id: 'c' })])
    await history.addMessages([])
    const expected = [
      new HumanMessage('Where is the marigold?'),
      new AIMessage('Let me look.'),
      call,
      call,
      new ToolMessage({ content: 'there', tool_call_id: 'c' }),
    ]
    const other = new HoldfastChatMessageHistory({ store: await there.reopen(), sessionId: 'chat' })
    expect(await other.getMessages()).toEqual(expected)
    const session = there.store.session('chat')
    expect((await session.window({ format: 'openai' })).messages[0]).toMatchObject({ role: 'user', content: 'Where is the marigold?' })
    await history.clear()
    expect(await other.getMessages()).toEqual([])
    await session.undo()
    expect(await history.getMessages()).toEqual(expected)
  })

  test('what two processes add at once is all there', async () => {
    const there = await opened(opener)
    const histories = [there.store, await there.reopen()].map((store) => new HoldfastChatMessageHistory({ store, sessionId: 'chat' }))
    await Promise.all(Array.from({ length: 20 }, (_, i) => histories[i % 2]?.addUserMessage(`message ${i}`)))
    const contents = (await histories[0]?.getMessages())?.map(({ content }) => content)
    expect(new Set(contents)).toEqual(new Set(Array.from({ length: 20 }, (_, i) => `message ${i}`)))
    expect(contents).toHaveLength(20)
  })
})
