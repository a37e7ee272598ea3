import { expect, test } from 'vitest'
import { HoldfastError } from '../../src/errors.ts'
import type { JsonObject } from '../../src/record/record.ts'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesSource } from '../../src/transfer/bytes.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import { Application } from '../server/application.ts'
import { useDirectory } from '../store/directory.ts'
import { filesOf } from '../store/files-of.ts'
import { randomFrom, SECRETS } from './corpus.ts'

const directory = useDirectory()
const SECRET = (SECRETS['openai key'] as (random: () => number) => string)(randomFrom(99))
const MARKER = /\[redacted openai key [0-9a-f]{12}\]/

async function collected(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Says the secret in every way there is. */
async function sayEverywhere(store: Store): Promise<void> {
  const session = await store.create<JsonObject>({ id: 's', title: `about ${SECRET}` })
  await session.append({ role: 'user', content: `my key: ${SECRET}` }, { key: 'one' })
  await session.append([
    { id: 'a', role: 'user', content: 'x' },
    { role: 'tool', content: [{ output: JSON.stringify({ SECRET }) }] },
  ])
  await session.replace('a', { role: 'user', content: `now ${SECRET}` })
  await session.putEntries([{ channel: 'c', key: 'k', value: ['deep', { SECRET }] }])
  await session.describe({ metadata: { note: SECRET } })
  await session.fork({ id: 'f', title: SECRET })
  const chat = `${JSON.stringify({ role: 'user', content: `imported ${SECRET}` })}\n${JSON.stringify({ role: 'assistant', content: 'ok' })}\n`
  const reports = await collected(importInto(store, [bytesSource('/a/chat.jsonl', Buffer.from(chat))]))
  expect(reports).toMatchObject([{ messages: 2 }])
  await session.commit()
  await store.search('key')
}

test('no way of saying a secret brings it to the disk, nor into what is told of the store', async () => {
  const store = await openStore(directory().path, { redact: true })
  await sayEverywhere(store)
  const { messages } = await store.session<JsonObject>('s').messages({ archived: true })
  expect(messages[0]?.message.content).toMatch(MARKER)
  const markers = new Set((await collected(exportFrom(store))).join('').match(new RegExp(MARKER, 'g')))
  expect(markers.size).toBe(1)
  await store.close()
  for (const { path, bytes } of filesOf(directory().path)) expect(bytes.includes(SECRET), path).toBe(false)
})

test('without the option, all of it is kept as it was said', async () => {
  const store = await openStore('memory:')
  await sayEverywhere(store)
  expect((await collected(exportFrom(store))).join('').split(SECRET).length).toBeGreaterThan(6)
})

test('a call that is repeated is known, also after the store was opened anew', async () => {
  const said = { id: 'm', role: 'user', content: `with ${SECRET}` }
  for (const duplicate of [false, true, true]) {
    const store = await openStore(directory().path, { redact: true })
    expect(await store.session<JsonObject>('s').append(said, { key: 'k' })).toMatchObject({ duplicate, ids: ['m'] })
    await store.close()
  }
})

test('two processes that make the fingerprints’ key at once have the same one', async () => {
  const stores = await Promise.all([1, 2, 3].map(() => openStore(directory().path, { redact: true })))
  const told = await Promise.all(
    stores.map(async (store, i) => {
      const session = store.session<JsonObject>(`s${i}`)
      await session.append({ role: 'user', content: SECRET })
      return (await session.messages()).messages[0]?.message.content
    }),
  )
  expect(new Set(told).size).toBe(1)
  await Promise.all(stores.map((store) => store.close()))
})

test('a function of the caller sees every kind before it is written, changes it, and refuses it', async () => {
  const seen: string[] = []
  const beforeAppend: OpenOptions['beforeAppend'] = (value, { space, session, kind }) => {
    seen.push(`${space} ${session} ${kind}`)
    if (JSON.stringify(value).includes('forbidden')) throw new Error('no such words here')
    return kind === 'message' ? { ...value, checked: true } : value
  }
  const store = await openStore('memory:', { beforeAppend })
  const session = await store.create<JsonObject>({ id: 's', title: 't' })
  await session.append([{ role: 'user', content: 'a' }])
  await session.putEntries([{ channel: 'c', key: 'k', value: 1 }])
  expect(seen).toEqual(['default s description', 'default s message', 'default s entry'])
  expect((await session.messages()).messages[0]?.message).toEqual({ role: 'user', content: 'a', checked: true })
  const before = await session.version()
  const refused = await session
    .append([
      { role: 'user', content: 'fine' },
      { role: 'user', content: 'forbidden' },
    ])
    .catch((error) => error)
  expect(refused).toBeInstanceOf(HoldfastError)
  expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('no such words here') })
  await expect(session.replace((await session.messages()).messages[0]?.id ?? '', { content: 'forbidden' })).rejects.toThrow('no such words')
  expect(await session.version()).toBe(before)
})

test('an answer of the function that is no object is refused, and nothing is written', async () => {
  const store = await openStore('memory:', { beforeAppend: () => 'text' as never })
  const session = store.session<JsonObject>('s')
  await expect(session.append({ role: 'user' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(await session.version()).toBe('0-00000000')
})

test('a share shows no secrets if it was made so, and its owner still sees them', async () => {
  const store = await openStore('memory:')
  const session = await store.create<JsonObject>({ id: 's', title: SECRET })
  await session.append({ role: 'user', content: SECRET })
  const [open, clean] = [await session.share(), await session.share({ redact: true })]
  expect(JSON.stringify(await store.shared(open.token))).toContain(SECRET)
  const told = JSON.stringify(await store.shared(clean.token))
  expect(told).not.toContain(SECRET)
  expect(told).toMatch(MARKER)
  expect((await session.messages()).messages[0]?.message.content).toBe(SECRET)
})

test('a share that was made so stays so in another store', async () => {
  const store = await openStore('memory:')
  const session = store.session<JsonObject>('s')
  await session.append({ role: 'user', content: SECRET })
  await session.share({ redact: true })
  const text = (await collected(exportFrom(store))).join('')
  const other = await openStore('memory:')
  await collected(importInto(other, [bytesSource('/a/s.jsonl', Buffer.from(text))]))
  expect((await collected(exportFrom(other))).join('')).toContain('"redact":true')
})

test('over HTTP, neither what is stored nor what is shared has the secret', async () => {
  const app = await Application.open({ redact: true })
  await app.post('/sessions/s/messages', { role: 'user', content: `it is ${SECRET}` })
  expect((await app.get('/sessions/s/messages')).result.messages[0].message.content).toMatch(MARKER)
  const plain = await Application.open()
  await plain.post('/sessions/s/messages', { role: 'user', content: SECRET })
  const { token } = (await plain.post('/sessions/s/shares', { redact: true })).result
  expect(JSON.stringify((await plain.get(`/shared/${token}`)).result)).not.toContain(SECRET)
})
