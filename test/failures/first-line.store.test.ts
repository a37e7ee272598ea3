import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { splitLines } from '../../src/record/line.ts'
import type { JsonObject } from '../../src/record/record.ts'
import type { Finding } from '../../src/verify/findings.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()

/** Flips a bit in every line that a test chooses, in every segment of every session. */
async function rot(chosen: (line: string) => boolean): Promise<number> {
  let count = 0
  for (const name of await readdir(directory().path, { recursive: true })) {
    if (!name.startsWith('sessions') || !name.endsWith('.jsonl')) continue
    const file = join(directory().path, name)
    const bytes = await readFile(file)
    for (const line of splitLines(bytes, 0).lines) {
      if (!chosen(Buffer.from(line.bytes).toString())) continue
      const middle = line.at + Math.floor(line.bytes.length / 2)
      bytes[middle] = (bytes[middle] as number) ^ 4
      count++
    }
    await writeFile(file, bytes)
  }
  return count
}

async function write(): Promise<void> {
  const store = await directory().open()
  const session = await store.create<JsonObject>({ id: 'one', title: 'title', owner: 'somebody' })
  await session.append([{ content: 'a' }, { content: 'b' }], { ids: ['a', 'b'] })
  await session.putEntries([{ channel: 'c', key: 'k', value: 1 }])
  await store.create<JsonObject>({ id: 'whole' })
  await store.close()
}

const isCreated = (line: string): boolean => line.includes('"type":"session.created"') && line.includes('"session":"one"')

test('F6 one bad first line: the other copy of it stands in for it, and the doctor notes it', async () => {
  await write()
  let seen = 0
  expect(await rot((line) => isCreated(line) && seen++ === 0)).toBe(1)
  const store = await directory().open()
  expect(await store.session<JsonObject>('one').info()).toMatchObject({ title: 'title', owner: 'somebody', messageCount: 2, status: 'ok' })
  const findings: Finding[] = []
  for await (const finding of doctor(store)) findings.push(finding)
  expect(findings).toMatchObject([{ kind: 'lost-copy' }])
})

test('F6 one bad first line hides everything: with both copies rotten the session is listed, readable, flagged, and goes on', async () => {
  await write()
  expect(await rot(isCreated)).toBe(2)
  const store = await directory().open()
  const { sessions } = await store.list()
  expect(sessions.map(({ id, status }) => [id, status]).sort()).toEqual([
    ['one', 'damaged'],
    ['whole', 'ok'],
  ])
  const session = store.session<JsonObject>('one')
  const contents = async (): Promise<unknown[]> => (await session.messages()).messages.map(({ id, message }) => [id, message.content])
  expect(await contents()).toEqual([
    ['a', 'a'],
    ['b', 'b'],
  ])
  expect(await session.message('b')).toMatchObject({ depth: 2 })
  expect(await session.entry('c', 'k')).toMatchObject({ value: 1 })
  expect(await session.damage()).toHaveLength(2)
  const changes = session.follow({ fromStart: true })
  for (const type of ['damage', 'damage', 'messages.appended']) expect((await changes.next()).value).toMatchObject({ type })
  await changes.return(undefined)
  await session.append({ content: 'c' }, { ids: ['c'] })
  await session.describe({ title: 'another' })
  expect(await contents()).toHaveLength(3)
  await expect(store.create<JsonObject>({ id: 'one' })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  await session.delete()
  await session.restore()
  expect(await store.session<JsonObject>('one').info()).toMatchObject({ title: 'another', messageCount: 3, status: 'damaged' })
})

test('F6 one bad first line hides everything: a session of which nothing can be read is damaged, not absent', async () => {
  await write()
  expect(await rot((line) => line.startsWith('{') && !line.includes('"session":"whole"'))).toBeGreaterThan(3)
  const store = await directory().open()
  expect((await store.list()).sessions.map(({ id, status }) => [id, status]).sort()).toEqual([
    ['one', 'damaged'],
    ['whole', 'ok'],
  ])
  const session = store.session<JsonObject>('one')
  for (const look of [session.messages(), session.info(), session.message('a'), session.tree()]) {
    await expect(look).rejects.toMatchObject({ code: 'DAMAGED' })
  }
  await expect(store.session<JsonObject>('never').messages()).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('F6 one bad first line hides everything: a list shows what has lost its beginning, and purging leaves it alone', async () => {
  const store = await directory().open({ limits: { segmentBytes: 300 } })
  for (const id of ['one', 'two']) {
    const session = store.session<JsonObject>(id)
    for (let i = 0; i < 10; i++) await session.append({ content: 'x'.repeat(300) })
  }
  await store.session<JsonObject>('two').delete()
  await store.close()
  // The beginning is gone, and so is every checkpoint.
  const names = (await readdir(directory().path, { recursive: true })).filter((name) => /\/one-[0-9a-f]+\/\d+\.jsonl$/.test(name)).sort()
  expect(names.length).toBeGreaterThan(2)
  for (const name of names) {
    const file = join(directory().path, name)
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replaceAll('"type":"checkpoint"', '"type":"checkpoinT"'))
  }
  await rm(join(directory().path, names[0] as string))
  const reopened = await directory().open()
  expect((await reopened.list()).sessions).toMatchObject([{ id: 'one', status: 'damaged' }])
  const told: [string, string | undefined][] = []
  for await (const { action, error } of reopened.purge({ olderThanMs: -1000 })) told.push([action, error?.code])
  expect(told).toEqual([['purged', undefined]])
  expect((await reopened.list()).sessions).toMatchObject([{ id: 'one', status: 'damaged' }])
})
