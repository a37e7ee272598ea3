import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../open-store.ts'
import type { Session } from '../session.ts'

const say = (content: string) => ({ role: 'user', content })

async function open(): Promise<Session> {
  const store = await openStore('memory:')
  onTestFinished(() => store.close())
  return store.session('s')
}

async function contents(session: Session): Promise<unknown[]> {
  return (await session.messages({ archived: true })).messages.map(({ message }) => message.content)
}

test('messages take the place of the last ones, and undo returns', async () => {
  const session = await open()
  await session.append([say('a'), say('b'), say('c')])
  await session.replaceTail([say('b'), say('c')], [say('x')])
  expect(await contents(session)).toEqual(['a', 'x'])
  await session.replaceTail([say('x')], [])
  expect(await contents(session)).toEqual(['a'])
  await session.replaceTail([say('a')], [say('y')])
  expect(await contents(session)).toEqual(['y'])
  for (let i = 0; i < 3; i++) await session.undo()
  expect(await contents(session)).toEqual(['a', 'b', 'c'])
})

test.each([
  [1, []],
  ['b', []],
  [[], {}],
  [undefined, undefined],
])('replaceTail refuses what is no array of messages: %j, %j', async (last, messages) => {
  const session = await (await openStore('memory:')).create({ id: 'a' })
  const call = session.replaceTail(last as never, messages as never)
  await expect(call).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('what is not at the end is not replaced', async () => {
  const session = await open()
  await expect(session.replaceTail([say('a')], [])).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await session.append([say('a'), say('b')])
  for (const last of [[say('a')], [say('z'), say('a'), say('b')], [say('b'), say('a')]]) {
    await expect(session.replaceTail(last, [say('c')])).rejects.toMatchObject({ code: 'CONFLICT', details: { reason: 'other messages' } })
  }
  await expect(session.replaceTail([], [])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(await contents(session)).toEqual(['a', 'b'])
})

test('under its key it happens once, whatever stands at the end by then', async () => {
  const session = await open()
  await session.replaceTail([], [say('a'), say('b')], { key: 'k1' })
  expect(await session.replaceTail([say('b')], [say('c')], { key: 'k2' })).toMatchObject({ duplicate: false })
  await session.append(say('d'))
  expect(await session.replaceTail([say('b')], [say('c')], { key: 'k2' })).toMatchObject({ duplicate: true })
  await expect(session.replaceTail([say('d')], [say('c')], { key: 'k2' })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await contents(session)).toEqual(['a', 'c', 'd'])
})

test('a message with another content by now is not the one that was seen', async () => {
  const session = await open()
  const { id } = await session.append(say('a'))
  await session.replace(id, say('b'))
  await expect(session.replaceTail([say('a')], [])).rejects.toMatchObject({ code: 'CONFLICT' })
  await session.replaceTail([say('b')], [say('c')])
  expect(await contents(session)).toEqual(['c'])
})

test('messages that an archive holds and those of a fork’s past can be exchanged', async () => {
  const session = await open()
  await session.append([say('a'), say('b')])
  await session.commit()
  const fork = await session.fork()
  for (const one of [session, fork]) {
    await one.replaceTail([say('b')], [say('c')])
    expect(await contents(one)).toEqual(['a', 'c'])
  }
})

test('messages and the data beside them are kept together', async () => {
  const session = await open()
  const entries = [
    { channel: 'marks', key: 'x', value: 1 },
    { channel: 'marks', key: 'y', value: { deep: true } },
  ]
  await session.append([say('a'), say('b')], { entries, key: 'k' })
  await session.putEntries([{ channel: 'marks', key: 'z', value: 3 }])
  expect(await session.append([say('a'), say('b')], { entries, key: 'k' })).toMatchObject({ duplicate: true })
  await expect(session.append([say('a'), say('b')], { entries: entries.slice(1), key: 'k' })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await session.entry('marks', 'y')).toMatchObject({ value: { deep: true } })
  const seen: unknown[] = []
  for await (const { key } of session.entries('marks')) seen.push(key)
  expect(seen).toEqual(['z', 'y', 'x'])
  expect(await contents(session)).toEqual(['a', 'b'])
})

test('a branch can be read that is not the current one, from in front of the first message on', async () => {
  const session = await open()
  const { id: first } = await session.append([say('a'), say('b')])
  const { id: second } = await session.append([say('c')], { parent: null })
  expect(await contents(session)).toEqual(['c'])
  expect((await session.messages({ branch: first })).messages.map(({ message }) => message.content)).toEqual(['a', 'b'])
  await session.revert({ message: null })
  expect(await contents(session)).toEqual([])
  expect((await session.messages({ branch: second })).messages).toHaveLength(1)
  await expect(session.messages({ branch: 'nobody' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('with new ids, an id that a message has is its own affair', async () => {
  const session = await open()
  const message = { ...say('a'), id: 'same' }
  const { ids } = await session.append([message, message], { ids: 'new' })
  expect(new Set([...ids, 'same']).size).toBe(3)
  expect(await session.message('same')).toBeUndefined()
})
