import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { newMasterKey } from '../../src/encryption/master-key.ts'
import { segmentFile } from '../../src/engines/files/names.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { tracesOf } from '../erase/traces.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()
const masterKey = newMasterKey()
const encryption = { masterKey }

const WORDS = ['Quagmire', 'Xanadu', 'Zanzibar', 'Ypsilanti', 'Wolpertinger']

async function fill(store: Store): Promise<void> {
  const session = await store.create({ id: 's', title: 'Quagmire', tags: ['Xanadu'], metadata: { city: 'Zanzibar' } })
  await session.append({ id: 'm1', role: 'user', content: 'I live in Ypsilanti' }, { key: 'first' })
  await session.append([
    { id: 'm2', role: 'user', content: 'Wolpertinger one' },
    { id: 'm3', role: 'assistant', content: 'Wolpertinger two' },
  ])
  await session.putEntries([{ channel: 'Xanadu', key: 'Zanzibar', value: 'Quagmire' }])
  for (let i = 0; i < 20; i++) await session.append({ role: 'user', content: `Ypsilanti ${i}` })
}

async function contents(store: Store, id = 's'): Promise<unknown[]> {
  const { messages } = await store.session(id).messages({ from: 'start' })
  return messages.map(({ message }) => (message as { content: unknown }).content)
}

async function segmentsOf(options: OpenOptions): Promise<number> {
  const store = await openStore('memory:', { ...options, limits: { segmentBytes: 32 * 1024 } })
  const session = store.session('s')
  for (let i = 0; i < 300; i++) await session.append({ role: 'user', content: 'x'.repeat(1000) })
  const segments = await store.parts.engine.journal(store.parts.engine.name('default', 's')).segments()
  await store.close()
  return segments.length
}

test('a segment holds about as many records, sealed or not', async () => {
  const plain = await segmentsOf({})
  expect(plain).toBeGreaterThan(8)
  expect(Math.abs((await segmentsOf({ encryption })) - plain)).toBeLessThanOrEqual(1)
})

async function kinds(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const { kind } of doctor(store)) found.push(kind)
  return found
}

test('nothing that was said, nor a title, a tag or a digest of it, can be read without the key; with it, everything is as it was said', async () => {
  const store = await directory().open({ encryption, limits: { segmentBytes: 1500 } })
  await fill(store)
  const before = await contents(store)
  expect(before.slice(0, 3)).toEqual(['I live in Ypsilanti', 'Wolpertinger one', 'Wolpertinger two'])
  expect((await store.list()).sessions).toMatchObject([{ id: 's', title: 'Quagmire', tags: ['Xanadu'] }])
  expect((await store.search('Wolpertinger')).hits).toHaveLength(2)
  await store.close()
  expect(tracesOf(directory().path, ...WORDS)).toEqual([])

  const again = await directory().open({ encryption })
  expect(await contents(again)).toEqual(before)
  const session = again.session('s')
  expect((await session.append({ id: 'm1', role: 'user', content: 'I live in Ypsilanti' })).duplicate).toBe(true)
  await expect(session.append({ id: 'm1', role: 'user', content: 'elsewhere' })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await kinds(again)).toEqual([])
})

test('a fork reads what it inherited with its parent’s key, and goes on with its own', async () => {
  const store = await directory().open({ encryption, limits: { segmentBytes: 1500 } })
  await fill(store)
  const fork = await store.session('s').fork({ id: 'f', at: 'm3' })
  await fork.append({ role: 'user', content: 'on my own' })
  const again = await directory().open({ encryption })
  expect(await contents(again, 'f')).toEqual(['I live in Ypsilanti', 'Wolpertinger one', 'Wolpertinger two', 'on my own'])
})

test('a wrong master key opens nothing, and is told as such', async () => {
  await fill(await directory().open({ encryption }))
  await expect(directory().open({ encryption: { masterKey: newMasterKey() } })).rejects.toMatchObject({
    code: 'UNREADABLE',
    details: { reason: 'wrong master key' },
  })
})

test('without the master key nothing is read, overwritten or begun; it is never called damage, and checksums can be verified', async () => {
  await fill(await directory().open({ encryption, limits: { segmentBytes: 1500 } }))
  const locked = await directory().open()
  const no = { code: 'UNREADABLE', details: { reason: 'no master key' } }
  const session = locked.session('s')
  await expect(session.messages()).rejects.toMatchObject(no)
  await expect(session.append({ role: 'user', content: 'x' })).rejects.toMatchObject(no)
  await expect(session.delete()).rejects.toMatchObject(no)
  await expect(locked.create({ id: 'new' })).rejects.toMatchObject(no)
  expect((await locked.list()).sessions).toMatchObject([{ id: 's', status: 'unreadable' }])
  expect(await kinds(locked)).toEqual(['sealed'])
  expect(await contents(await directory().open({ encryption }))).toHaveLength(23)
})

test('a segment gone from the middle is damage also without the master key', async () => {
  const store = await directory().open({ encryption, limits: { segmentBytes: 1500 } })
  await fill(store)
  const journal = store.parts.engine.journal(store.parts.engine.name('default', 's'))
  const segments = await journal.segments()
  await store.close()
  expect(segments.length).toBeGreaterThan(2)
  await rm(join(directory().path, 'sessions', journal.name, segmentFile(segments[1] as number)))
  expect(await kinds(await directory().open())).toEqual(['sealed', 'missing-segment'])
})

test('what was written before a store was encrypted stays as it is, and everything behind it is sealed', async () => {
  const plain = await directory().open({ limits: { segmentBytes: 1500 } })
  const before = plain.session('s')
  for (let i = 0; i < 10; i++) await before.append({ id: `p${i}`, role: 'user', content: `plain ${i}` })
  await plain.close()
  const store = await directory().open({ encryption, limits: { segmentBytes: 1500 } })
  const session = store.session('s')
  for (let i = 0; i < 10; i++) await session.append({ id: `s${i}`, role: 'user', content: `Quagmire ${i}` })
  const again = (await directory().open({ encryption })).session('s')
  expect((await again.append({ id: 'p3', role: 'user', content: 'plain 3' })).duplicate).toBe(true)
  expect((await again.append({ id: 's3', role: 'user', content: 'Quagmire 3' })).duplicate).toBe(true)
  expect((await again.messages()).messages).toHaveLength(20)
  expect(await kinds(store)).toEqual([])
  expect(tracesOf(directory().path, 'Quagmire')).toEqual([])
})

test('keys are wrapped anew by another master key, and the former one opens nothing any more', async () => {
  const store = await directory().open({ encryption })
  await fill(store)
  await store.session('other').append({ role: 'user', content: 'x' })
  await store.close()
  const next = newMasterKey()
  const both = await directory().open({ encryption: { masterKey: next, formerKeys: [masterKey] } })
  expect(await both.rotateKeys()).toBe(2)
  await both.close()
  await expect(directory().open({ encryption })).rejects.toMatchObject({ details: { reason: 'wrong master key' } })
  expect(await contents(await directory().open({ encryption: { masterKey: next } }))).toHaveLength(23)
})

test('a session whose key was destroyed can be read by nobody, and the others as before', async () => {
  const store = await directory().open({ encryption })
  await fill(store)
  await store.session('other').append({ role: 'user', content: 'stays' })
  expect(await store.destroyKey('s')).toBe(true)
  await expect(contents(store)).rejects.toMatchObject({ code: 'UNREADABLE', details: { reason: 'no session key' } })
  await store.close()
  const again = await directory().open({ encryption })
  await expect(contents(again)).rejects.toMatchObject({ code: 'UNREADABLE', details: { reason: 'no session key' } })
  expect(await contents(again, 'other')).toEqual(['stays'])
  expect(await kinds(again)).toEqual(['sealed'])
})

test('where the key of a session was destroyed, lists and searches tell nothing of it any more, and owners can be erased', async () => {
  const store = await directory().open({ encryption })
  for (const [id, owner] of [
    ['gone', 'ann'],
    ['there', 'bob'],
  ] as const) {
    const session = await store.create({ id, owner, title: `Title of ${id}`, tags: ['Xanadu'] })
    await session.append({ role: 'user', content: `Quagmire is ${id}` })
  }
  expect((await store.search('quagmire')).hits).toHaveLength(2)
  await store.destroyKey('gone')
  expect((await store.search('quagmire')).hits.map(({ session }) => session)).toEqual(['there'])
  expect(JSON.stringify(await store.list())).not.toContain('Title of gone')
  expect((await store.stats()).sessions).toMatchObject({ ok: 1, unreadable: 1 })
  const erased: string[] = []
  for (const owner of ['ann', 'bob']) for await (const { session } of store.erase({ owner })) erased.push(session)
  expect(erased).toEqual(['there'])
  await store.close()
})

test('where another process has destroyed the key of a session, lists and searches tell nothing of it any more either', async () => {
  const store = await directory().open({ encryption })
  const other = await directory().open({ encryption })
  const fillOne = async (id: string): Promise<void> => {
    const session = await store.create({ id, title: `Title of ${id}`, tags: ['Xanadu'] })
    await session.append({ role: 'user', content: `Quagmire is ${id}` })
  }
  for (const id of ['gone', 'there', 'later']) await fillOne(id)
  const told = async (): Promise<unknown> => {
    const titles = (await other.list()).sessions.map(({ title }) => title).filter((title) => title !== null)
    const found = (await other.search('quagmire')).hits.map(({ session }) => session)
    expect((await other.search('xanadu', { kinds: ['session'] })).hits.map(({ session }) => session).sort()).toEqual(found.sort())
    return [titles.sort(), found.sort()]
  }
  expect(await told()).toEqual([
    ['Title of gone', 'Title of later', 'Title of there'],
    ['gone', 'later', 'there'],
  ])
  await store.destroyKey('gone')
  expect(await told()).toEqual([
    ['Title of later', 'Title of there'],
    ['later', 'there'],
  ])
  // Also behind a wrapping of all keys, which lie elsewhere from then on.
  await store.rotateKeys()
  await fillOne('new')
  await store.destroyKey('later')
  expect(await told()).toEqual([
    ['Title of new', 'Title of there'],
    ['new', 'there'],
  ])
})

test('a line that was put elsewhere, or changed with its checksum, is damage: it was not sealed for that place', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const store = await openStore(engine, { encryption })
  await store.session('a').append({ role: 'user', content: 'one' })
  const from = engine.journal(engine.name('default', 'a'))
  const chunk = await from.read(0, 0)
  const bytes = Buffer.concat((chunk?.lines ?? []).flatMap((line) => [Buffer.from(line.bytes), Buffer.from('\n')]))
  const to = engine.journal(engine.name('default', 'b'))
  await to.append(0, 0, bytes)
  const b = (await openStore(engine, { encryption })).session('b')
  await expect(b.messages()).rejects.toMatchObject({ code: 'DAMAGED' })
})

test('a master key may be a function’s, and its failures are told', async () => {
  let fails = false
  const calls: string[] = []
  const kms = {
    id: 'kms',
    wrap: async (key: Uint8Array, about: string) => {
      calls.push(`wrap ${about.length}`)
      return Buffer.from(key).reverse()
    },
    unwrap: async (key: Uint8Array) => {
      if (fails) throw new Error('offline')
      return Buffer.from(key).reverse()
    },
  }
  const store = await directory().open({ encryption: { masterKey: kms } })
  await fill(store)
  expect(calls).toEqual(['wrap 32'])
  await store.close()
  fails = true
  await expect(directory().open({ encryption: { masterKey: kms } })).rejects.toMatchObject({ code: 'UNREADABLE' })
})

test('a master key that is none is refused at once', async () => {
  await expect(openStore('memory:', { encryption: { masterKey: 'short' } })).rejects.toThrow(/32 bytes/)
})

test('of several messages, one that somebody without the key has put in the open is damage', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const store = await openStore(engine, { encryption })
  const said = ['one', 'two'].map((content) => ({ role: 'user', content }))
  await store.session('a').append(said)
  const journal = engine.journal(engine.name('default', 'a'))
  const [line] = ((await journal.read(0, 0))?.lines ?? []).filter(({ bytes }) => Buffer.from(bytes).includes('messages.appended'))
  const text = Buffer.from(line?.bytes ?? []).toString()
  const sealed = /"messages":\["([^"]+)"/.exec(text)?.[1] as string
  const forged = '{"role":"user","content":"forged"}'.padEnd(sealed.length + 2)
  const body = Buffer.from(text.replace(`"${sealed}"`, forged).replace(/,"crc":"[0-9a-f]{8}"\}$/, ''))
  const bytes = Buffer.from(`${body},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}`)
  expect(await journal.overwrite(0, line?.at as number, line?.bytes as Uint8Array, bytes)).toBe(true)
  const { messages } = await (await openStore(engine, { encryption })).session('a').messages()
  expect(JSON.stringify(messages)).not.toContain('forged')
})
