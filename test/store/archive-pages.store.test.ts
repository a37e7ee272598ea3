/** The messages of an archive, page by page. */
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'

const texts = (from: number, to: number): { role: string; content: string }[] =>
  Array.from({ length: to - from }, (_, i) => ({ role: 'user', content: `m${from + i}` }))

async function pagesOf(session: Session<object>, number: number, limit: number): Promise<string[][]> {
  const pages: string[][] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const archive = await session.archive(number, { limit, cursor })
    pages.push(archive?.messages.map(({ message }) => (message as { content: string }).content) ?? [])
    cursor = archive?.cursor ?? null
  }
  return pages
}

test('an archive comes in pages, each message once, in order', async () => {
  await using store = await openStore('memory:')
  const session = store.session<object>('a')
  for (let i = 0; i < 25; i += 5) await session.append(texts(i, i + 5))
  await session.commit({ keep: 2 })
  const all = texts(0, 23).map(({ content }) => content)
  for (const limit of [1, 4, 5, 23, 1000]) {
    const pages = await pagesOf(session, 1, limit)
    expect(pages.flat()).toEqual(all)
    expect(pages.length).toBe(Math.ceil(all.length / limit))
  }
})

test('an archive of messages that a revert had left, and of those after it, comes in the order of the branch', async () => {
  await using store = await openStore('memory:')
  const session = store.session<object>('a')
  const { ids } = await session.append(texts(0, 6))
  await session.commit()
  await session.revert({ message: ids[3] as string })
  await session.append(texts(10, 14))
  await session.commit()
  expect((await pagesOf(session, 2, 3)).flat()).toEqual(['m0', 'm1', 'm2', 'm3', 'm10', 'm11', 'm12', 'm13'])
})

test('the messages that a fork inherits come in pages, too', async () => {
  await using store = await openStore('memory:')
  await store.session<object>('a').append(texts(0, 7))
  const fork = await store.session<object>('a').fork({ id: 'b' })
  await fork.append(texts(7, 10))
  await fork.commit()
  expect(await pagesOf(fork, 1, 4)).toEqual([
    ['m0', 'm1', 'm2', 'm3'],
    ['m4', 'm5', 'm6', 'm7'],
    ['m8', 'm9'],
  ])
})

test('a cursor of an archive holds while the session changes, and is refused for another archive', async () => {
  await using store = await openStore('memory:')
  const session = store.session<object>('a')
  await session.append(texts(0, 6))
  await session.commit()
  const { cursor } = (await session.archive(1, { limit: 2 })) ?? {}
  await session.append(texts(6, 9))
  await session.commit()
  expect((await session.archive(1, { limit: 2, cursor }))?.messages.map(({ depth }) => depth)).toEqual([3, 4])
  const refused = { code: 'INVALID_ARGUMENT', details: { reason: 'cursor' } }
  await expect(session.archive(2, { cursor })).rejects.toMatchObject(refused)
  await expect(session.archive(1, { cursor: 'nonsense' })).rejects.toMatchObject(refused)
})
