import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/engine/clock.ts'
import type { JsonObject } from '../../src/record/record.ts'
import type { Page } from '../../src/store/messages/transcript.ts'
import type { Session } from '../../src/store/session.ts'
import { useDirectory } from '../store/directory.ts'
import { useSessionClients } from './session-client.ts'

const directory = useDirectory()
const startClient = useSessionClients()

function contentsOf({ messages }: Page<JsonObject>): unknown[] {
  return messages.map(({ message }) => message.content)
}

function rows(name: string, count: number): { content: string }[] {
  return Array.from({ length: count }, (_, i) => ({ content: `${name} ${i}` }))
}

function said(name: string, count: number): string[] {
  return rows(name, count).map(({ content }) => content)
}

test('PraisonAI 1781: two processes with warm caches; a title, a share and a revert of one cost nothing of what the other appended', async () => {
  const [a, b] = [await startClient(directory().path, 's'), await startClient(directory().path, 's')]
  await a.call('append', rows('begin', 3))
  await a.call('snapshot', 'begun')
  expect(contentsOf(await b.call<Page<JsonObject>>('messages'))).toEqual(said('begin', 3))
  expect(contentsOf(await a.call<Page<JsonObject>>('messages'))).toEqual(said('begin', 3))

  await b.call('append', rows('b', 10))
  await a.call('describe', { title: 'a title' })
  expect(contentsOf(await a.call<Page<JsonObject>>('messages'))).toEqual([...said('begin', 3), ...said('b', 10)])

  await b.call('append', rows('more', 10))
  await a.call('share')
  expect(contentsOf(await a.call<Page<JsonObject>>('messages'))).toEqual([...said('begin', 3), ...said('b', 10), ...said('more', 10)])

  await b.call('append', rows('last', 10))
  await a.call('revert', { snapshot: 'begun' })
  expect(contentsOf(await b.call<Page<JsonObject>>('messages'))).toEqual(said('begin', 3))
  await b.call('append', rows('other', 10))
  expect(contentsOf(await a.call<Page<JsonObject>>('messages'))).toEqual([...said('begin', 3), ...said('other', 10)])

  // The branch that was left is whole.
  await a.call('undo')
  const whole = [...said('begin', 3), ...said('b', 10), ...said('more', 10), ...said('last', 10)]
  for (const client of [a, b]) expect(contentsOf(await client.call<Page<JsonObject>>('messages'))).toEqual(whole)
  const store = await directory().open()
  expect(contentsOf(await store.session<JsonObject>('s').messages())).toEqual(whole)
  expect(await store.session<JsonObject>('s').info()).toMatchObject({ title: 'a title', messageCount: 33, status: 'ok' })
})

const EDITS: [string, (session: Session<JsonObject>) => Promise<unknown>][] = [
  ['a title', (session) => session.describe({ title: 'title' })],
  ['tags', (session) => session.describe({ addTags: ['x'] })],
  ['metadata', (session) => session.describe({ metadata: { a: 1 } })],
  ['policies', (session) => session.describe({ policies: { a: 1 } })],
  ['a snapshot', (session) => session.snapshot('here')],
  ['a share', (session) => session.share()],
  ['an entry', (session) => session.putEntries([{ channel: 'c', key: 'k', value: 1 }])],
  ['usage', (session) => session.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 1 })],
  ['other content for a message', (session) => session.replace('first', { content: 'other' })],
  ['a fork', (session) => session.fork()],
]

test.each(EDITS)('F8 a title edit drops messages: %s from a stale cache drops none', async (_, edit) => {
  const [here, there] = [await directory().open(), await directory().open()]
  const [stale, writer] = [here.session<JsonObject>('s'), there.session<JsonObject>('s')]
  await stale.append({ content: 'first' }, { ids: ['first'] })
  await stale.messages()
  await writer.append(rows('theirs', 100))
  await edit(stale)
  for (const session of [stale, writer]) {
    const { messages } = await session.messages()
    expect(messages.map(({ message }) => message.content)).toEqual(said('theirs', 100))
    expect((await session.info()).messageCount).toBe(101)
  }
})

test('F9 freshness by mtime: neither the times of files nor clocks that go backwards hide what another process wrote', async () => {
  const past = { ...systemClock, now: () => 1000 }
  const [here, there] = [await directory().open(), await directory().open({ clock: past })]
  const [reader, writer] = [here.session<JsonObject>('s'), there.session<JsonObject>('s')]
  await reader.append({ content: 'first' })
  for (let i = 0; i < 5; i++) {
    await writer.append({ content: `theirs ${i}` })
    for (const name of await readdir(directory().path, { recursive: true })) {
      if (name.endsWith('.jsonl')) await utimes(join(directory().path, name), 1, 1)
    }
    expect(contentsOf(await reader.messages()).slice(1)).toEqual(said('theirs', i + 1))
    await reader.describe({ title: `title ${i}` })
  }
  expect((await writer.info()).title).toBe('title 4')
})
