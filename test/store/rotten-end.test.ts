/** A message at the end of a journal rots, and the session goes on: what follows must not hide the loss. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-rotten-end-'))
})
afterEach(() => rm(directory, { recursive: true }))

async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(directory)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Six messages; then the bytes of the last line change. */
async function sample(change: (line: Buffer) => void): Promise<void> {
  await withStore(async (store) => {
    const session = store.session('talk')
    for (let i = 0; i < 6; i++) await session.append({ role: 'user', content: `message ${i}` }, { ids: [`m${i}`] })
  })
  const folder = join(directory, 'sessions', journalName('default', 'talk'))
  const [file] = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'))
  const path = join(folder, file as string)
  const bytes = await readFile(path)
  change(bytes.subarray(bytes.lastIndexOf('\n', bytes.length - 2) + 1))
  await writeFile(path, bytes)
}

test('a flipped bit in the last message stays in every answer, also when others follow', async () => {
  await sample((line) => {
    line[150] = (line[150] as number) ^ 1
  })
  await withStore(async (store) => {
    const session = store.session('talk')
    expect((await session.messages()).damage).toMatchObject([{ reason: 'rotten' }])
    await session.append([{ role: 'user', content: 'after' }], { ids: ['after'] })
    expect((await session.messages()).damage).toMatchObject([{ reason: 'rotten' }])
  })
  await withStore(async (store) => {
    const session = store.session('talk')
    await session.append([{ role: 'user', content: 'later' }])
    const { messages, damage } = await session.messages()
    expect(messages.map(({ message }) => message.content)).toEqual([...[0, 1, 2, 3, 4].map((i) => `message ${i}`), ...['after', 'later']])
    expect(damage).toMatchObject([{ reason: 'rotten' }])
    expect((await session.window()).damage).toMatchObject([{ reason: 'rotten' }])
    await expect(session.message('m5')).rejects.toMatchObject({ code: 'DAMAGED' })
  })
})

test.each([
  ['with spaces', 0, 0x20],
  ['from its middle on with spaces', 100, 0x20],
  ['with zeros', 0, 0],
])('a last message that was written over %s has vanished: it was acknowledged', async (_, from, byte) => {
  await sample((line) => {
    line.fill(byte, from, line.length - 1)
  })
  await withStore(async (store) => {
    const session = store.session('talk')
    expect(await session.info()).toMatchObject({ status: 'damaged' })
    expect((await session.messages()).damage).toMatchObject([{ reason: 'vanished' }])
    await expect(session.message('m5')).rejects.toMatchObject({ code: 'DAMAGED' })
    await expect(session.append({ role: 'user', content: 'more' })).rejects.toMatchObject({ code: 'DAMAGED', outcome: 'none' })
  })
})
