/** Losses that a tortured store met: a second one after an acceptance, and files that another session's take the place of while they are followed. */
import { mkdtemp, open as openFile, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'
import { acceptLoss } from '../../src/store/damage/accept-damage.ts'
import { Handle } from '../../src/store/handle.ts'
import type { Store } from '../../src/store/store.ts'

let directory: string
let stores: Store[]

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-in-use-'))
  stores = []
})

afterEach(async () => {
  for (const store of stores) await store.close()
  await rm(directory, { recursive: true, force: true })
})

async function open(): Promise<Store> {
  const store = await openStore(directory)
  stores.push(store)
  return store
}

async function write(id: string, contents: readonly string[]): Promise<void> {
  const store = await openStore(directory)
  for (const content of contents) await store.session(id).append({ role: 'user', content })
  await store.close()
}

function folder(id: string): string {
  return join(directory, 'sessions', journalName('default', id))
}

async function last(id: string): Promise<string> {
  const files = (await readdir(folder(id))).filter((file) => file.endsWith('.jsonl')).toSorted()
  return join(folder(id), files.at(-1) as string)
}

async function swap(one: string, other: string): Promise<void> {
  const aside = `${folder(one)}-aside`
  await rename(folder(one), aside)
  await rename(folder(other), folder(one))
  await rename(aside, folder(other))
}

test('a read reports a segment that vanished after an earlier loss was accepted', async () => {
  await write('talk', ['one', 'two', 'three'])
  await truncate(await last('talk'), 900)
  await (await open()).session('talk').acceptDamage()
  await write('talk', ['four', 'five'])
  await rm(await last('talk'))
  const session = (await open()).session('talk')
  expect((await session.info()).status).toBe('damaged')
  expect((await session.messages()).damage).toContainEqual(expect.objectContaining({ reason: 'vanished', position: expect.any(Number) }))
  expect((await session.messages()).damage.some(({ accepted }) => accepted !== true)).toBe(true)
  await expect(session.append({ role: 'user', content: 'six' })).rejects.toMatchObject({ code: 'DAMAGED' })
  await session.acceptDamage()
  await session.append({ role: 'user', content: 'six' })
  expect((await session.info()).status).toBe('ok')
})

test.each([
  ['from the start', { fromStart: true }],
  ['from now', {}],
])('a follower %s of a session whose files were swapped is not shown the messages of another session', async (_, options) => {
  await write('talk', ['of talk'])
  await write('other', ['of other', 'of other', 'of other', 'of other'])
  const session = (await open()).session('talk')
  const shown: unknown[] = []
  const over = new AbortController()
  const following = (async () => {
    for await (const { messages } of session.follow({ ...options, signal: over.signal })) {
      shown.push(...messages.map(({ message }) => message.content))
    }
  })().catch((error: unknown) => error)
  await session.append({ role: 'user', content: 'of talk' })
  while (shown.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await swap('talk', 'other')
  // A write to the session that is in its place wakes the follower up.
  await write('third', ['anything'])
  expect(await following).toMatchObject({ code: 'DAMAGED' })
  over.abort()
  expect(new Set(shown)).toEqual(new Set(['of talk']))
})

test('a follower of a session gets an error when a reader notices that its files were deleted', async () => {
  await write('talk', ['one'])
  const store = await open()
  const changes = store.session('talk').follow()
  const told = expect(changes.next()).rejects.toMatchObject({ code: 'DAMAGED', details: { reason: 'vanished' } })
  await rm(folder('talk'), { recursive: true })
  await expect((await open()).session('talk').messages()).rejects.toMatchObject({ code: 'DAMAGED' })
  await told
  // A new follower gets the error at once.
  await expect(store.session('talk').follow().next()).rejects.toMatchObject({ code: 'DAMAGED' })
})

test('a process that had read what was lost continues an accepted session from what is left, like all others', async () => {
  const small = { limits: { segmentBytes: 1500 } }
  const early = await openStore(directory, small)
  stores.push(early)
  const session = early.session('talk')
  await session.append({ role: 'user', content: 'first' })
  await session.describe({ title: 'Lost with its segment', metadata: { lost: true } })
  for (let i = 0; i < 6; i++) await session.append({ role: 'user', content: `${i} ${'x'.repeat(700)}` })
  // All segments but the last are deleted, and the checkpoint of the last one rots.
  const files = (await readdir(folder('talk'))).filter((file) => file.endsWith('.jsonl')).toSorted()
  for (const name of files.slice(0, -1)) await rm(join(folder('talk'), name))
  const file = await openFile(await last('talk'), 'r+')
  await file.write('B', (await readFile(await last('talk'))).indexOf('"base"') + 1)
  await file.close()
  const other = await openStore(directory, small)
  await acceptLoss(new Handle(other.parts, 'talk'))
  const { metadata, title } = await other.session('talk').info()
  await other.close()
  // As if that process had died before it made the segment of the next epoch.
  await rm(await last('talk'))
  await session.append({ role: 'user', content: 'after' })
  expect(await session.info()).toMatchObject({ metadata, title })
  expect(await (await open()).session('talk').info()).toMatchObject({ metadata, title })
})

test.each(['in place', 'by another file'])(
  'a process that had read only what is left reports what others wrote since and lost: %s',
  async (how) => {
    await write('talk', ['one', 'two'])
    const reader = (await open()).session('talk')
    expect((await reader.messages()).messages).toHaveLength(2)
    const file = await last('talk')
    const before = await readFile(file)
    await write('talk', ['three', 'four'])
    if (how === 'in place') await truncate(file, before.length)
    else {
      await writeFile(`${file}.old`, before)
      await rename(`${file}.old`, file)
    }
    const { messages, damage } = await reader.messages()
    expect(messages).toHaveLength(2)
    expect(damage).toMatchObject([{ reason: 'vanished' }])
    await expect(reader.append({ role: 'user', content: 'five' })).rejects.toMatchObject({ code: 'DAMAGED' })
  },
)

test('a process that had read a segment up to where it is cut goes on where the journal does', async () => {
  await write('talk', ['one'])
  const reader = (await open()).session('talk')
  expect((await reader.messages()).messages).toHaveLength(1)
  // It may write without asking which segments there are.
  await reader.append({ role: 'user', content: 'two' })
  const first = await last('talk')
  const { length } = await readFile(first)
  const other = await openStore(directory, { limits: { segmentBytes: length + 500 } })
  const contents = ['three', 'four', 'five'].map((word) => `${word} ${'x'.repeat(400)}`)
  for (const content of contents) await other.session('talk').append({ role: 'user', content })
  await other.close()
  expect(await last('talk')).not.toBe(first)
  await truncate(first, length)
  await reader.append({ role: 'user', content: 'six' })
  const read = await (await open()).session('talk').messages()
  expect(read.messages.map(({ message }) => String((message as { content: string }).content).split(' ')[0])).toEqual([
    'one',
    'two',
    'four',
    'five',
    'six',
  ])
  expect(read.damage).toMatchObject([{ count: 1 }])
  expect((await reader.messages()).messages).toEqual(read.messages)
})

test('a worker that drains comes to its end though bytes of a session with a due task have vanished', async () => {
  await write('talk', ['one'])
  await (await open()).session('talk').commit()
  await write('sound', ['one'])
  await (await open()).session('sound').commit()
  const size = (await readFile(await last('talk'))).length
  // A later record, which makes the loss one of bytes that were counted.
  await write('talk', ['two'])
  await truncate(await last('talk'), size)
  const store = await open()
  const worker = new Worker(store)
  await worker.drain()
  expect(worker.status).toMatchObject({ completed: 1, running: 0, waiting: 0 })
  expect(await store.tasks()).toMatchObject([
    { session: 'sound', status: 'completed' },
    { session: 'talk', status: 'pending' },
  ])
  await store.session('talk').acceptDamage()
  await worker.drain()
  expect(worker.status).toMatchObject({ completed: 2 })
})
