/** A framework has no field for damage: an adapter that reads fewer messages than were written says so aside. */
import { expect, onTestFinished, test } from 'vitest'
import { HoldfastChat } from '../../src/adapters/ai-sdk/index.ts'
import { HoldfastSessionStore } from '../../src/adapters/claude-agent/index.ts'
import { HoldfastChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { HoldfastSession } from '../../src/adapters/openai-agents/index.ts'
import { type AdapterStore, newestMessages, type OnDamage } from '../../src/adapters/sessions.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'

const PLACE: DamagedPlace = { position: 1, count: 2, reason: 'rotten' }

/** A store whose sessions read as if they had lost something. */
async function damagedStore(): Promise<AdapterStore> {
  const store = await openStore('memory:')
  onTestFinished(() => store.close())
  const reading = (session: Session): Session => {
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
