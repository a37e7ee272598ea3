import { describe, expect, test } from 'vitest'
import { openMemoryEngine } from '../../engines/memory/engine.ts'
import { sessionReducer } from '../../session/reducer.ts'
import { openStore } from '../open-store.ts'
import type { Session } from '../session.ts'

/** A session of ten messages whose replica has found damage that no line shows. */
async function withDamage(as: 'vanished' | 'identity', id = 's'): Promise<{ session: Session; fork: Session; position: number }> {
  const store = await openStore(openMemoryEngine({ keysOf: sessionReducer.keysOf }))
  const session = store.session(id)
  for (let i = 0; i < 10; i++) await session.append({ role: 'user', content: `${i}` }, { ids: [`m${i}`] })
  const fork = await session.fork({ id: 'fork', at: 'm4' })
  await fork.append({ role: 'user', content: 'own' }, { ids: ['own'] })
  const { replica } = store.parts.replicas.of(store.parts.engine.name(store.parts.space, id))
  const position = await replica.end()
  const damage = replica.damage as unknown as object[]
  damage.push({ segment: 0, at: position, length: 100, as })
  return { session, fork, position }
}

describe.each(['vanished', 'identity'] as const)('where the engine reports bytes as %s', (reason) => {
  test('every page that reaches the end says so, and no other page does', async () => {
    const { session, position } = await withDamage(reason)
    const place = { position, count: null, reason }
    expect((await session.messages({ limit: 3 })).damage).toMatchObject([place])
    expect((await session.messages({ limit: 3, before: 'm7' })).damage).toEqual([])
    expect((await session.messages({ limit: 3, from: 'start' })).damage).toEqual([])
    expect((await session.messages({ after: 'm7' })).damage).toMatchObject([place])
  })

  test('the window, the last turn and the tree say so', async () => {
    const { session, position } = await withDamage(reason)
    const place = { position, count: null, reason }
    const window = await session.window()
    expect(window.damage).toMatchObject([place])
    expect(window.leftOut).toEqual([{ kind: 'messages', count: null, reason: 'damaged' }])
    expect((await session.turn()).damage).toMatchObject([place])
    expect(await session.tree()).toMatchObject({ status: 'damaged', damage: [place] })
  })

  test('a message that is not found is DAMAGED', async () => {
    const { session } = await withDamage(reason)
    await expect(session.message('m10')).rejects.toMatchObject({ code: 'DAMAGED', details: { places: 1 } })
    expect(await session.message('m9')).toMatchObject({ id: 'm9' })
  })
})

test('what was shared before bytes vanished is whole, and says nothing of them', async () => {
  const store = await openStore(openMemoryEngine({ keysOf: sessionReducer.keysOf }))
  const session = store.session('s')
  await session.append({ role: 'user', content: '1' })
  const { token } = await session.share()
  const { replica } = store.parts.replicas.of(store.parts.engine.name(store.parts.space, 's'))
  const damage = replica.damage as unknown as object[]
  damage.push({ segment: 0, at: await replica.end(), length: 100, as: 'vanished' })
  expect((await store.shared(token)).page).toMatchObject({ damage: [], messages: [{ depth: 1 }] })
})

test('a fork inherits nothing from a file that belongs to another session, and says how much it lacks', async () => {
  const { fork } = await withDamage('identity')
  const page = await fork.messages()
  expect(page.messages.map(({ id }) => id)).toEqual(['own'])
  expect(page.damage).toMatchObject([{ count: 5, reason: 'identity', session: 's' }])
})

test('a fork keeps what it inherits from a parent that lost its newest bytes, and reports nothing', async () => {
  const { fork } = await withDamage('vanished')
  expect(await fork.messages()).toMatchObject({ damage: [], messages: { length: 6 } })
  expect(await fork.message('none')).toBeUndefined()
})

test('an answer that is made while a damaged journal is loaded again reports the damage', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const [writer, store] = [await openStore(engine), await openStore(engine)]
  await writer.session('s').append({ role: 'user', content: '1' })
  const name = engine.name(store.parts.space, 's')
  const journal = engine.journal(name)
  engine.journal = () => journal
  const { replica } = store.parts.replicas.of(name)
  journal.vanished = async () => ({ from: 4000, to: 5000 })
  await replica.read()
  const read = journal.read.bind(journal)
  const seen: string[] = []
  journal.read = (...args) => {
    seen.push(...replica.damage.map(({ as }) => as), 'read')
    return read(...args)
  }
  await replica.read()
  expect(seen.slice(0, 2)).toEqual(['vanished', 'read'])
  expect(seen.filter((one) => one === 'vanished')).toHaveLength(seen.length / 2)
})
