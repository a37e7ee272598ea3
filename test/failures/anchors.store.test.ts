import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import type { Session } from '../../src/store/session.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()
const SMALL = { limits: { segmentBytes: 300 } }

async function ids(session: Session<JsonObject>): Promise<string[]> {
  const { messages } = await session.messages({ limit: 1000 })
  return messages.map(({ id }) => id)
}

async function say(session: Session<JsonObject>, ...names: string[]): Promise<void> {
  for (const name of names) await session.append({ content: `${name} `.repeat(40) }, { ids: [name] })
}

test('F23 anchors by index point elsewhere: a snapshot names its message, whatever is written, moved or replaced since', async () => {
  const session = (await directory().open(SMALL)).session<JsonObject>('s')
  await say(session, 'a', 'b', 'c')
  await session.snapshot('anchor')
  await say(session, 'd', 'e')
  await session.replace('b', { content: 'other' })
  await session.revert({ message: 'a' })
  await say(session, 'f', 'g', 'h', 'i')
  await session.append({ content: 'anchor too' }, { ids: ['anchor'] })
  const reopened = (await directory().open(SMALL)).session<JsonObject>('s')
  await reopened.revert({ snapshot: 'anchor' })
  expect(await ids(reopened)).toEqual(['a', 'b', 'c'])
  expect((await reopened.info()).snapshots).toMatchObject([{ name: 'anchor', messageCount: 3, current: true }])
  const fork = await reopened.fork({ at: 'h' })
  expect(await ids(fork)).toEqual(['a', 'f', 'g', 'h'])
})

test('F23 anchors by index point elsewhere: a page goes on where the one before ended, though messages came and the head moved', async () => {
  const session = (await directory().open(SMALL)).session<JsonObject>('s')
  await say(session, 'a', 'b', 'c', 'd', 'e', 'f')
  const first = await session.messages({ limit: 2 })
  expect(first.messages.map(({ id }) => id)).toEqual(['e', 'f'])
  await say(session, 'g', 'h')
  const second = await session.messages({ limit: 2, before: first.messages[0]?.id as string })
  expect(second.messages.map(({ id }) => id)).toEqual(['c', 'd'])
  await session.revert({ message: 'd' })
  await say(session, 'i')
  const third = await session.messages({ limit: 2, before: second.messages[0]?.id as string })
  expect(third).toMatchObject({ more: false, messages: [{ id: 'a' }, { id: 'b' }] })
  // A message that is no longer on the branch is said not to be, and not mistaken for the one at its depth.
  await expect(session.messages({ after: 'e' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('F24 revert destroys the tail: every byte stays, every message can be read, and undo returns, as often as it was reverted', async () => {
  const session = (await directory().open(SMALL)).session<JsonObject>('s')
  await say(session, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
  const before = await bytes()
  await session.revert({ message: 'c' })
  await say(session, 'i', 'j')
  await session.revert({ message: 'a' })
  expect(await ids(session)).toEqual(['a'])
  const after = await bytes()
  for (const [name, content] of before) expect(after.get(name)?.subarray(0, content.length).equals(content), name).toBe(true)
  for (const id of ['d', 'h', 'i', 'j']) expect(await session.message(id)).toMatchObject({ id, message: { content: `${id} `.repeat(40) } })
  await session.undo()
  expect(await ids(session)).toEqual(['a', 'b', 'c', 'i', 'j'])
  await session.undo()
  expect(await ids(session)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
  await expect(session.undo()).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' })
  await session.revert({ message: 'j' })
  expect(await ids(session)).toEqual(['a', 'b', 'c', 'i', 'j'])
})

test('F24 revert destroys the tail: other content for a message leaves what it said before', async () => {
  const session = (await directory().open(SMALL)).session<JsonObject>('s')
  await say(session, 'a')
  for (const n of [1, 2, 3]) await session.replace('a', { content: n })
  await say(session, 'b', 'c', 'd', 'e', 'f', 'g')
  const reopened = (await directory().open(SMALL)).session<JsonObject>('s')
  expect((await reopened.revisions('a')).revisions.map(({ message }) => message.content)).toEqual(['a '.repeat(40), 1, 2, 3])
})

/** Everything in the segments. */
async function bytes(): Promise<Map<string, Buffer>> {
  const names = await readdir(directory().path, { recursive: true })
  const segments = names.filter((name) => name.startsWith('sessions') && name.endsWith('.jsonl'))
  return new Map(await Promise.all(segments.map(async (name) => [name, await readFile(join(directory().path, name))] as const)))
}
