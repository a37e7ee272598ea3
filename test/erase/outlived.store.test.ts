import { expect, test } from 'vitest'
import type { Model } from '../../src/commit/model.ts'
import { Worker } from '../../src/commit/worker.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import type { Engine, Journal } from '../../src/engine/port.ts'
import { HoldfastError } from '../../src/errors.ts'
import type { OpenOptions } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Application } from '../server/application.ts'
import { useDirectory } from '../store/directory.ts'
import { dyingAt } from '../store/dying.ts'
import { tracesOf } from './traces.ts'

const directory = useDirectory()

/** Says nothing of what it was told. */
const discreet: Model = {
  name: 'discreet',
  inputTokens: 1_000_000,
  summarise: async ({ messages }) => ({
    abstract: `Ypsilanti: ${messages.length} messages`,
    overview: 'They spoke of towns.',
    memories: [{ key: 'k', category: 'fact', text: 'likes Zanzibar', sources: [messages[0]?.id ?? ''] }],
  }),
} as Model

/** Two archives, of two messages and one, and a message that is live. */
async function filled(options: OpenOptions = {}): Promise<Store> {
  const store = await directory().open({ limits: { segmentBytes: 1500 }, ...options })
  const session = await store.create({ id: 's', owner: 'o' })
  await session.append([
    { id: 'a', role: 'user', content: 'Quagmire one' },
    { id: 'b', role: 'user', content: 'Quagmire two' },
  ])
  await session.replace('b', { role: 'user', content: 'Quagmire corrected' })
  await session.commit()
  await session.append({ id: 'c', role: 'user', content: 'Quagmire three' })
  await session.commit()
  await new Worker(store, { model: discreet }).drain()
  await session.append({ id: 'd', role: 'user', content: 'Wolpertinger is live' })
  return store
}

async function drop(store: Store, options = {}): Promise<string[]> {
  const told: string[] = []
  for await (const { session, action, archive } of store.expire({ dropArchivesAfterMs: 0, ...options }))
    told.push(`${session} ${archive} ${action}`)
  return told
}

async function findings(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const { kind, session } of doctor(store)) found.push(`${kind} ${session}`)
  return found
}

test('of an archive whose time is over the messages go, and what was made from them stays', async () => {
  const store = await filled()
  const session = store.session('s')
  await session.fork({ id: 'f' })
  expect((await store.search('Quagmire')).hits.length).toBeGreaterThan(0)
  const before = await session.info()
  expect(await drop(store, { dropArchivesAfterMs: 3_600_000 })).toEqual([])
  expect(await drop(store, { dryRun: true })).toEqual(['s 1 dropped', 's 2 dropped'])
  expect(await drop(store)).toEqual(['s 1 dropped', 's 2 dropped'])
  expect(await drop(store)).toEqual([])
  const after = await session.info()
  expect([after.version, after.updatedAt, after.messageCount]).toEqual([before.version, before.updatedAt, before.messageCount])
  for (const id of ['s', 'f']) {
    const one = store.session(id)
    expect((await one.archives()).map(({ abstract }) => abstract)).toEqual(['Ypsilanti: 2 messages', 'Ypsilanti: 1 messages'])
    const { messages } = await one.messages({ archived: true })
    expect(messages.map((message) => [message.id, message.erased === true])).toEqual([
      ['a', true],
      ['b', true],
      ['c', true],
      ['d', false],
    ])
  }
  expect((await store.memories({ owner: 'o' })).map(({ text }) => text)).toEqual(['likes Zanzibar'])
  expect((await store.search('Quagmire')).hits).toEqual([])
  expect((await store.search('Ypsilanti')).hits.length).toBeGreaterThan(0)
  expect(await findings(store)).toEqual([])
  await store.close()
  expect(tracesOf(directory().path, 'Quagmire')).toEqual([])
})

test('what a session says of itself comes first', async () => {
  const store = await filled()
  const session = store.session('s')
  await session.describe({ policies: { retention: { drop_archives_after: null } } })
  expect(await drop(store)).toEqual([])
  await session.describe({ policies: { retention: { drop_archives_after: 0 } } })
  expect(await drop(store, { dropArchivesAfterMs: undefined })).toHaveLength(2)
})

test('a message that is erased after its time was over takes with it what was made from it', async () => {
  const store = await filled()
  const session = store.session('s')
  await drop(store)
  expect((await session.erase('a')).duplicate).toBe(false)
  expect((await session.archives()).map(({ status, abstract }) => [status, abstract])).toEqual([
    ['pending', null],
    ['pending', null],
  ])
  expect((await session.erase('a')).duplicate).toBe(true)
  expect(await store.memories({ owner: 'o' })).toEqual([])
  await store.close()
  expect(tracesOf(directory().path, 'Quagmire', 'Ypsilanti', 'Zanzibar')).toEqual([])
})

test('one session that fails is told of, and holds up no other', async () => {
  const store = await filled()
  const other = store.session('t')
  await other.append({ role: 'user', content: 'Quagmire elsewhere' })
  await other.commit()
  await new Worker(store, { model: discreet }).drain()
  await store.close()
  const broken = store.parts.engine.name('default', 's')
  const wrap = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, field) => {
        const value = Reflect.get(target, field) as unknown
        if (field !== 'journal') return typeof value === 'function' ? value.bind(target) : value
        return (name: string): Journal =>
          name !== broken
            ? target.journal(name)
            : Object.assign(target.journal(name), { overwrite: () => Promise.reject(new HoldfastError('UNAVAILABLE', 'It fails.')) })
      },
    })
  const failing = await directory().open({ wrap })
  expect((await drop(failing)).sort()).toEqual(['s 1 failed', 's 2 failed', 't 1 dropped'])
})

test('whoever dies at any write of it is followed by one that brings it to its end', async () => {
  for (let write = 1; ; write++) {
    await directory().empty()
    await (await filled()).close()
    const { wrap, hasDied } = dyingAt(write)
    const dying = await directory().open({ wrap })
    await drop(dying).catch((error: Error) => expect(error.message).toBe('died'))
    await dying.close()
    const again = await directory().open()
    await drop(again)
    expect((await again.session('s').archives()).map(({ abstract }) => abstract)).toEqual([
      'Ypsilanti: 2 messages',
      'Ypsilanti: 1 messages',
    ])
    expect(await drop(again)).toEqual([])
    await again.close()
    expect(tracesOf(directory().path, 'Quagmire')).toEqual([])
    if (!hasDied()) return
  }
})

test('over HTTP as well', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { id: 'm', role: 'user', content: 'Quagmire' })
  await app.post('/sessions/a/commit')
  await new Worker(app.store, { model: discreet }).drain()
  const expired = await app.post('/expire', { drop_archives_after_seconds: 0 })
  expect(expired.result).toMatchObject([{ session_id: 'a', action: 'dropped', archive: 1 }])
  expect((await app.get('/sessions/a/messages?archived=include')).result).toMatchObject({ messages: [{ id: 'm', erased: true }] })
})
