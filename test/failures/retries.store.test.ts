import { expect, test } from 'vitest'
import type { AppendOptions } from '../../src/store/messages/append.ts'
import type { Session } from '../../src/store/session.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()
const SMALL = { limits: { segmentBytes: 300 } }

async function contents(session: Session<{ content?: unknown }>): Promise<unknown[]> {
  const { messages } = await session.messages({ limit: 1000 })
  return messages.map(({ message }) => message.content)
}

const ONE = { content: 'charge the card' }
const WAYS: [string, object, AppendOptions][] = [
  ['under an operation key', ONE, { key: 'k' }],
  ['with an id beside it', ONE, { ids: ['m'] }],
  ['with an id of its own', { ...ONE, id: 'm' }, {}],
  ['with half a character in it', { content: 'charge the card \ud800' }, { ids: ['m'] }],
  ['as a batch with ids', [ONE, { content: 'and more' }], { ids: ['m', 'n'] }],
  ['as a batch under a key', [ONE, { content: 'and more' }], { key: 'k' }],
]

test.each(WAYS)('F21 a client retry duplicates a message: not %s, at once, later, or in another process', async (_, message, options) => {
  const [here, there] = [await directory().open(SMALL), await directory().open(SMALL)]
  const session = here.session<{ content?: unknown }>('s')
  const first = await session.append(message, options)
  expect(await session.append(message, options)).toEqual({ ...first, duplicate: true })
  for (let i = 0; i < 30; i++) await session.append({ content: 'between'.padEnd(200, '.') })
  for (const store of [here, there, await directory().open(SMALL)]) {
    // What is live is told as it is by now.
    const live = { messageCount: expect.any(Number), pendingTokens: expect.any(Number) }
    expect(await store.session<{ content?: unknown }>('s').append(message, options)).toEqual({ ...first, ...live, duplicate: true })
  }
  expect((await contents(session)).filter((content) => content !== 'between'.padEnd(200, '.'))).toHaveLength(first.ids.length)
})

test.each(WAYS)(
  'F21 a client retry duplicates a message: not %s, although both are under way at once in two processes',
  async (_, message, options) => {
    const stores = [await directory().open(SMALL), await directory().open(SMALL)]
    const sessions = await Promise.all([0, 1, 0, 1].map((i) => (stores[i] as (typeof stores)[0]).session<{ content?: unknown }>('s')))
    const told = await Promise.all(sessions.map((session) => session.append(message, options)))
    expect(told.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
    expect(new Set(told.map(({ version, ids }) => JSON.stringify([version, ids]))).size).toBe(1)
    expect(await contents(sessions[0] as Session)).toHaveLength(told[0]?.ids.length as number)
  },
)

test('F21 a client retry duplicates a message: nor does a condition on the version make it fail', async () => {
  const session = (await directory().open()).session<{ content?: unknown }>('s')
  const { version } = await session.append({ content: 'begin' })
  const first = await session.append(ONE, { ids: ['m'], expect: version })
  expect(await session.append(ONE, { ids: ['m'], expect: version })).toEqual({ ...first, duplicate: true })
  await expect(session.append(ONE, { ids: ['n'], expect: version })).rejects.toMatchObject({ code: 'CONFLICT' })
})

test('F21 a client retry duplicates a message: one that creates the session creates it once', async () => {
  const session = (await directory().open()).session<{ content?: unknown }>('s')
  const absent = await session.version()
  const first = await session.append(ONE, { key: 'k', expect: absent })
  expect(await session.append(ONE, { key: 'k', expect: absent })).toEqual({ ...first, duplicate: true })
  await expect(session.append(ONE, { key: 'other', expect: absent })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await contents(session)).toEqual([ONE.content])
})

test('F21 a client retry duplicates a message: the same id or key with another body is refused, not taken for it', async () => {
  const session = (await directory().open()).session<{ content?: unknown }>('s')
  await session.append(ONE, { ids: ['m'], key: 'k' })
  const other = { content: 'something else' }
  for (const options of [{ ids: ['m'] }, { key: 'k' }]) {
    await expect(session.append(other, options)).rejects.toMatchObject({ code: 'CONFLICT', details: { reason: 'other body' } })
  }
  expect(await contents(session)).toEqual([ONE.content])
})

test('F22 dedup by content drops a repeated "yes": it is kept as often as it was said', async () => {
  const session = (await directory().open()).session<{ content?: unknown }>('s')
  const yes = { role: 'user', content: 'yes' }
  const made: string[] = []
  for (let i = 0; i < 5; i++) made.push((await session.append(yes)).id)
  made.push(...(await session.append([yes, yes, yes])).ids)
  for (let i = 0; i < 3; i++) made.push((await session.append(yes, { ids: [`yes ${i}`], key: `k${i}` })).id)
  await Promise.all([0, 1, 2].map(async () => made.push((await session.append(yes)).id)))
  const { messages } = await session.messages({ limit: 1000 })
  expect(messages.map(({ message }) => message)).toEqual(Array.from({ length: 14 }, () => yes))
  expect(new Set(messages.map(({ id }) => id)).size).toBe(14)
  expect(messages.map(({ id }) => id).sort()).toEqual(made.sort())
})

test('F21 a client retry duplicates a message: not although a list has met the end of a segment before its writer did', async () => {
  const limits = { segmentBytes: 1500 }
  const [here, there] = [await directory().open({ limits }), await directory().open({ limits })]
  const [session, other] = [here.session<{ content?: unknown }>('s'), there.session<{ content?: unknown }>('s')]
  await session.append(ONE, { ids: ['m'] })
  await here.list()
  // A session that goes on changing is followed, not read anew.
  for (let i = 0; i < 2; i++) {
    await other.append({ content: `${i}` })
    await here.list()
  }
  for (let i = 0; i < 5; i++) await other.append({ content: 'x'.repeat(300) })
  await here.list()
  expect(await session.append(ONE, { ids: ['m'] })).toMatchObject({ duplicate: true })
  expect((await contents(other)).filter((content) => content === ONE.content)).toHaveLength(1)
})
