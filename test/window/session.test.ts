import { beforeEach, expect, test } from 'vitest'
import { extractive } from '../../src/commit/models/extractive.ts'
import { Worker } from '../../src/commit/worker.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'

let store: Store
let session: Session
beforeEach(async () => {
  store = await openStore('memory:')
  session = store.session('s')
})

/** Every message takes ten tokens. */
const countTokens = (text: string): number => (text.startsWith('{') ? 10 : 0)
const user = (id: string) => ({ id, role: 'user', content: 'Please look at src/a.ts.' })
const assistant = (id: string) => ({ id, role: 'assistant', content: 'It is done.' })

async function ids(budget: number): Promise<unknown[]> {
  return (await session.window({ budget, countTokens })).messages.map(({ id }) => id)
}

test('instructions at the beginning stay in the window, also when they lie far back or in an archive', async () => {
  await session.append({ id: 'system', role: 'system', content: 'Be brief.' })
  for (let i = 0; i < 20; i++) await session.append([user(`u${i}`), assistant(`a${i}`)])
  expect(await ids(40)).toEqual(['system', 'a18', 'u19', 'a19'])
  const { leftOut } = await session.window({ budget: 40, countTokens })
  const told = leftOut.reduce((sum, one) => sum + (one.kind === 'messages' ? (one.count ?? 0) : 1), 0)
  expect(told).toBe(41 - 4)

  await session.commit({ keep: 2 })
  await new Worker(store, { model: extractive }).drain()
  const window = await session.window({ countTokens })
  expect(window.messages.map(({ id }) => id)).toEqual(['system', 'u19', 'a19'])
  expect(window.overview).toContain('Please look at src/a.ts.')
  expect(window.leftOut).toEqual([])
  expect(await ids(10)).toEqual(['u19'])
})

test('a result whose call was left out for want of room is no orphan', async () => {
  const call = { id: 'c', role: 'assistant', content: null, tool_calls: [{ id: 't1', function: { name: 'f', arguments: '{}' } }] }
  await session.append([user('u0'), assistant('a0'), call, { id: 'r', role: 'tool', tool_call_id: 't1', content: 'ok' }, user('u1')])
  const { messages, leftOut } = await session.window({ budget: 15, countTokens })
  expect(messages.map(({ id }) => id)).toEqual(['u1'])
  expect(leftOut).toEqual([
    { kind: 'message', id: 'c', reason: 'budget' },
    { kind: 'message', id: 'r', reason: 'budget' },
    { kind: 'messages', count: 2, reason: 'budget' },
  ])
})

test('a message that only brings results does not begin a turn', async () => {
  const call = { id: 'c', role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] }
  await session.append([user('u0'), call, { id: 'r', role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }] }])
  expect(await session.turn()).toEqual({ damage: [], status: 'interrupted', messages: ['u0', 'c', 'r'], openCalls: [] })
})
