/** Where a revert over HTTP goes: to a message, to a snapshot, or to the one that has a name. */
import { expect, test } from 'vitest'
import { Application } from './application.ts'

async function opened(): Promise<{ app: Application; count: () => Promise<number>; revert: (body: object) => Promise<number> }> {
  const app = await Application.open()
  const session = app.store.session('talk')
  for (const id of ['m1', 'm2', 'm3']) await session.append({ role: 'user', content: id }, { ids: [id] })
  await session.snapshot('two', { at: 'm2' })
  const revert = async (body: object): Promise<number> => (await app.raw('POST', '/api/v1/sessions/talk/revert', { body })).status
  return { app, count: async () => (await session.info()).messageCount, revert }
}

test.each([
  [{ message: 'm1' }, 1],
  [{ message: null }, 0],
  [{ snapshot: 'two' }, 2],
  [{ to: 'two' }, 2],
  [{ to: 'm1' }, 1],
  [{ to: null }, 0],
])('a revert with %o leaves %i messages', async (body, left) => {
  const { count, revert } = await opened()
  expect(await revert(body)).toBe(200)
  expect(await count()).toBe(left)
})

test.each([
  [{ message: 'two' }, 404],
  [{ snapshot: 'm1' }, 404],
  [{ to: 'none' }, 404],
  [{}, 400],
  [{ message: 'm1', snapshot: 'two' }, 400],
  [{ message: 'm1', to: 'm1' }, 400],
  [{ snapshot: null }, 400],
])('a revert with %o is refused with %i, and moves nothing', async (body, status) => {
  const { count, revert } = await opened()
  expect(await revert(body)).toBe(status)
  expect(await count()).toBe(3)
})

test('the refusal of a body is one sentence, and names the two fields', async () => {
  const { app } = await opened()
  const { error } = await app.post('/sessions/talk/revert', {})
  expect(error.message).toBe('The body: give either `message` or `snapshot`.')
})

test('the library refuses what is neither a message nor a snapshot, and says what to give', async () => {
  const session = (await opened()).app.store.session('talk')
  for (const to of ['m1', null, undefined, {}, { message: 'm1', snapshot: 'two' }]) {
    await expect(session.revert(to as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('{ message: id }, { message: null } or { snapshot: name }'),
    })
  }
})
