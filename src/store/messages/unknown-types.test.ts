import { expect, test } from 'vitest'
import { openMemoryEngine } from '../../engines/memory/engine.ts'
import { encodeBody, Group } from '../../record/line.ts'
import type { RecordType } from '../../record/record.ts'
import { sessionReducer } from '../../session/reducer.ts'
import { openStore } from '../open-store.ts'

/** A session into which a newer version wrote a record of a type that this one does not know. */
async function fromTheFuture() {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const store = await openStore(engine, { limits: { segmentBytes: 2000 } })
  const session = store.session('s')
  await session.append({ role: 'user', content: 'before' })
  const journal = engine.journal(engine.name('default', 's'))
  const end = (await journal.read(0, 0))?.end ?? 0
  const group = new Group(end, '00000000')
  group.add(encodeBody({ id: 'new', at: '2030-01-01T00:00:00.000Z', type: 'mood.noted' as RecordType, payload: { mood: 'calm' } }))
  await journal.append(0, end, group.bytes)
  return { store, session, journal }
}

test('a record of an unknown type is kept, and sessions go on being read and written', async () => {
  const { session } = await fromTheFuture()
  await session.append({ role: 'user', content: 'behind' })
  expect((await session.messages()).messages.map(({ message }) => message.content)).toEqual(['before', 'behind'])
})

test('software that does not know a record makes no checkpoint, which would forget it', async () => {
  const { session, journal } = await fromTheFuture()
  for (let i = 0; i < 50; i++) await session.append({ role: 'user', content: `message ${i}` })
  expect(await journal.segments()).toEqual([0])
  expect((await session.messages({ limit: 100 })).messages).toHaveLength(51)
})

test('what needs a new segment is refused, and says what to do', async () => {
  const { store, session } = await fromTheFuture()
  await session.delete()
  await expect(store.create({ id: 's' })).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION', outcome: 'none' })
  await session.restore()
  expect((await session.messages()).messages).toHaveLength(1)
})
