/** A framework has no field for damage: an adapter that reads fewer messages than were written says so aside. */
import { expect, onTestFinished, test } from 'vitest'
import { HoldfastChat } from '../../src/adapters/ai-sdk/index.ts'
import { HoldfastSessionStore } from '../../src/adapters/claude-agent/index.ts'
import { HoldfastChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { HoldfastSaver, HoldfastStore } from '../../src/adapters/langgraph/index.ts'
import { HoldfastSession } from '../../src/adapters/openai-agents/index.ts'
import { type AdapterStore, newestMessages, type OnDamage } from '../../src/adapters/sessions.ts'
import { HoldfastError } from '../../src/errors.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'

const PLACE: DamagedPlace = { position: 1, count: 2, reason: 'rotten' }

/** A store whose sessions read as if they had lost something. */
async function damagedStore(): Promise<AdapterStore> {
  const store = await openStore('memory:')
  onTestFinished(() => store.close())
  const reading = <M extends object>(session: Session<M>): Session<M> => {
    const { messages } = session
    session.messages = async (options) => ({ ...(await messages.call(session, options)), damage: [PLACE] })
    return session
  }
  return {
    list: (options) => store.list(options),
    create: (options) => store.create(options),
    session: (id) => reading(store.session(id)),
  }
}

const KEY = { projectKey: 'p', sessionId: 's' }

test.each<[string, string, (store: AdapterStore, onDamage: OnDamage) => Promise<unknown>]>([
  ['HoldfastChat', 's', (store, onDamage) => new HoldfastChat({ store, chatId: 's', onDamage }).load()],
  ['HoldfastSession', 's', (store, onDamage) => new HoldfastSession({ store, sessionId: 's', onDamage }).getItems()],
  [
    'HoldfastChatMessageHistory',
    's',
    (store, onDamage) => new HoldfastChatMessageHistory({ store, sessionId: 's', onDamage }).getMessages(),
  ],
  ['HoldfastSessionStore', 'claude-agent/p/s', (store, onDamage) => new HoldfastSessionStore({ store, onDamage }).load(KEY)],
])('%s calls onDamage when a read lacks messages', async (_, id, read) => {
  const store = await damagedStore()
  await store.session(id).append({ role: 'user', content: 'x', type: 'message' })
  const told: unknown[] = []
  await read(store, (damage, session) => void told.push([session, damage]))
  expect(told).toEqual([[id, [PLACE]]])
})

/** A store whose entries may be older than what was put: those that are found say so, and the others may be lost. */
function withLostEntries(store: AdapterStore): AdapterStore {
  const lost = new HoldfastError('DAMAGED', 'The entry cannot be found.', { details: { places: 1 } })
  const reading = <M extends object>(session: Session<M>): Session<M> => {
    const { entry, entries } = session
    session.entry = async (channel, key) => {
      const found = await entry.call(session, channel, key)
      if (found === undefined) throw lost
      return { ...found, damage: [PLACE] }
    }
    session.entries = async function* (channel) {
      let count = 0
      for await (const found of entries.call(session, channel)) yield count++ === 0 ? { ...found, damage: [PLACE] } : found
      if (count === 0) throw lost
    }
    return session
  }
  return { ...store, session: <M extends object>(id: string) => reading(store.session<M>(id) as Session<M>) }
}

test.each<[string, string, (store: AdapterStore, onDamage: OnDamage) => Promise<unknown>]>([
  [
    'HoldfastStore',
    'other',
    async (store, onDamage) => {
      const items = new HoldfastStore({ store, onDamage })
      await items.put(['n'], 'k', { is: 'here' })
      expect(await items.get(['n'], 'none')).toBeNull()
    },
  ],
  ['HoldfastSaver', 't', (store, onDamage) => new HoldfastSaver({ store, onDamage }).getTuple({ configurable: { thread_id: 't' } })],
  ['HoldfastSessionStore', 'claude-agent/p/s', (store, onDamage) => new HoldfastSessionStore({ store, onDamage }).load(KEY)],
])('%s calls onDamage when a read may lack entries, and answers with what is left', async (_, id, read) => {
  const store = withLostEntries(await damagedStore())
  await store.session(id).append({ role: 'user', content: 'x', type: 'message' })
  const told: string[] = []
  await read(store, (damage, session) => void told.push(`${session} ${damage.length}`))
  expect(told.length).toBeGreaterThan(0)
})

test('without onDamage the process warns, once for each place', async () => {
  const store = await damagedStore()
  const session = store.session('warned')
  await session.append({ role: 'user', content: 'x' })
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  expect(await newestMessages(session)).toHaveLength(1)
  await newestMessages(session)
  // Warnings are emitted on the next tick.
  await new Promise(setImmediate)
  expect(warnings).toEqual([
    expect.objectContaining({ code: 'HOLDFAST_DAMAGE', message: expect.stringContaining('2 messages are missing at 1 place') }),
  ])
})
