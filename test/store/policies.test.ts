/** Policies of a session, where a caller gives them and where a journal has them already. */
import { expect, test } from 'vitest'
import { describe as describeCommand } from '../../src/session/decide.ts'
import { Handle } from '../../src/store/handle.ts'
import { openStore } from '../../src/store/open-store.ts'

const WRONG = { auto_commit: { messages: 2, keep: 'one' } } as never

test('create, describe, fork and child refuse a known policy with a mistake, and write nothing', async () => {
  const store = await openStore('memory:')
  const session = await store.create({ id: 'talk' })
  const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('auto_commit.keep') }
  await expect(store.create({ id: 'other', policies: WRONG })).rejects.toMatchObject(refused)
  await expect(session.describe({ policies: WRONG })).rejects.toMatchObject(refused)
  await expect(session.fork({ policies: WRONG })).rejects.toMatchObject(refused)
  await expect(session.child({ policies: WRONG })).rejects.toMatchObject(refused)
  expect((await store.list()).sessions.map(({ id, policies }) => ({ id, policies }))).toEqual([{ id: 'talk', policies: {} }])
})

test('a policy that a journal has is read as before, and forks inherit it', async () => {
  const store = await openStore('memory:')
  const session = await store.create({ id: 'talk' })
  await new Handle(store.parts, 'talk').submit({}, (full) => describeCommand(full, { policies: WRONG }))
  expect((await session.info()).policies).toEqual(WRONG)
  expect((await (await session.fork()).info()).policies).toEqual(WRONG)
  await session.describe({ policies: { auto_commit: null } })
  expect((await session.info()).policies).toEqual({})
})
